/* claim.h - claims an address, so that no other program uses it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that run side by side need an address each. A claimed address stays claimed until the last process that has
 * inherited the claim ends: an open socket has the address as its name, which the kernel frees in any case. Each
 * network namespace has its own addresses, and its own such names.
 */
#ifndef APP_RUN_CLAIM_H
#define APP_RUN_CLAIM_H

#include <uroce/device.h>

/*
 * text: "10.0.0.1/24", or "10.0.0.1-10.0.0.9/24" for the first free address of the range. out gets the claimed address,
 * as uroce_addr_parse() takes it. Returns APP_EXIT_OK, or the exit code after a complaint.
 */
int claim_address(const char *text, char *out, size_t room, struct uroce_addr *address);

#endif
