/* claim.h - an address that no other program has */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that run side by side need an address each. One that is claimed stays so until the last process that has
 * inherited it ends: an open socket has its name, which the kernel gives back whatever happens. Network namespaces have
 * addresses, and such names, of their own.
 */
#ifndef APP_RUN_CLAIM_H
#define APP_RUN_CLAIM_H

#include <uroce/device.h>

/*
 * text: "10.0.0.1/24", or the first one free of "10.0.0.1-10.0.0.9/24"; what was claimed is written to out, as
 * uroce_addr_parse() takes it. An exit code; a complaint was printed.
 */
int claim_address(const char *text, char *out, size_t room, struct uroce_addr *address);

#endif
