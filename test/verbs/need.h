/* need.h - what a program of test/verbs cannot do without */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_VERBS_NEED_H
#define TEST_VERBS_NEED_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program, with the name of what failed and errno, unless good. */
static inline void need(const char *what, bool good)
{
	if (good)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

#endif
