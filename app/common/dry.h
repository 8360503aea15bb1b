/* dry.h - checks for --dry-run: the refusals of a start, without its effects */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each returns APP_EXIT_OK, or the exit code of the start after the same complaint as the start's. Nothing is created,
 * and nothing stays claimed.
 */
#ifndef APP_COMMON_DRY_H
#define APP_COMMON_DRY_H

#include <uroce/port.h>

/* The device is present, the addresses are valid and free on this machine, and records can be written. */
int app_dry_port(const char *device, const struct uroce_port_config *config);

/* The file of an option can be written or made. path: NULL or "" if there is none, "-" for standard output. */
int app_dry_write(const char *option, const char *path);

#endif
