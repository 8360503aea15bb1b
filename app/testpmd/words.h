/* words.h - what DPDK's testpmd has and uroce-testpmd has not: the sentence that is told instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_WORDS_H
#define APP_TESTPMD_WORDS_H

/* Why there is no such option, or what to use instead; NULL: it is none of DPDK's testpmd that we know. */
const char *words_of_option(const char *argument);

/* The same of a line at the prompt, by how it begins. */
const char *words_of_command(const char *line);

#endif
