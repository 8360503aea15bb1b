/* check.h - would a program run here, and what is missing? */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_RUN_CHECK_H
#define APP_RUN_CHECK_H

/* libibverbs is there and has the private ABI of our provider. An exit code; a complaint was printed. */
int check_library(void);

/* Tries each thing by itself, in processes of its own, and prints a line on each. The environment says what port. */
int check_all(const char *libraries);

#endif
