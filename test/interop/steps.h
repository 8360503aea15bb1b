/* steps.h - what a running script knows, and its steps */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_INTEROP_STEPS_H
#define TEST_INTEROP_STEPS_H

#include "script.h"

#define LIMIT_MS 20000 /* that anything is waited for */
#define LINE_BYTES 4096
#define END_LINE "end\n"
#define PATTERN_BYTES ((1 << 20) + 4096) /* the longest message of a single post, and a guard behind it */

struct script {
	const struct script_side *side;
	int fd;
	struct script_settings settings;
	struct script_end own[SCRIPT_QPS_MAX], peer[SCRIPT_QPS_MAX];
	uint32_t qp;          /* the one that steps are for */
	uint32_t window_key;  /* the peer's, once it was taken */
	bool fence, bad_lkey; /* of the next request */
	bool other_ended;     /* the other side has said so */
	double posted_ms, done_ms;
};

double script_now_ms(void);
uint8_t *script_part(uint32_t part); /* SCRIPT_TARGET ... */

/* Each returns 0, or 1 after a complaint. */
int script_write_line(struct script *script, const char *line);
int script_read_line(struct script *script, char *line, double limit_ms); /* LINE_BYTES, with the newline */
int script_meet(struct script *script, double limit_ms);
int script_step(struct script *script, const char *word);

/* Memory as each script finds it. */
void script_reset_memory(void);
/* What completes or is raised within so many milliseconds. */
void script_linger(struct script *script, double ms);

#endif
