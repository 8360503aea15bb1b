/* wc.c - explains failed completions */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/wc.h"

#include <stdio.h>
#include <stdlib.h>

bool verb_explains;

static __attribute__((constructor)) void read_explain(void)
{
	const char *given = getenv("UROCE_EXPLAIN");

	verb_explains = given && *given == '1';
}

void verb_wc_explain(const struct uroce_wc *ours)
{
	char line[UROCE_EXPLAIN_BYTES];

	fprintf(stderr, "uroce: %s\n", uroce_wc_explain(ours, line, sizeof(line)));
}
