/* check.h - checks whether a program could run here, and says what is missing */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_RUN_CHECK_H
#define APP_RUN_CHECK_H

/*
 * Checks that libibverbs exists and has the private ABI of our provider. Returns APP_EXIT_OK, or the exit code after a
 * complaint.
 */
int check_library(void);

/* Checks each need in a process of its own, and prints a line for each. The environment names the port. */
int check_all(const char *libraries);

#endif
