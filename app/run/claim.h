/* claim.h - claims the address of the program to run */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_RUN_CLAIM_H
#define APP_RUN_CLAIM_H

#include <uroce/device.h>

/*
 * text: "10.0.0.1/24", or "10.0.0.1-10.0.0.9/24" for the first free address of the range. The claim (claim.h of
 * drivers/port) names `program` as its holder, and stays until the last process that has inherited it ends. out gets
 * the address, as uroce_addr_parse() takes it. Returns APP_EXIT_OK, or the exit code after a complaint.
 */
int claim_address(const char *text, const char *program, char *out, size_t room, struct uroce_addr *address);

#endif
