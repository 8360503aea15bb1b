/* words.h - what DPDK's testpmd has and uroce-testpmd has not: the sentence that is told instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_WORDS_H
#define APP_TESTPMD_WORDS_H

/* Why there is no command that a line at the prompt begins with, or what to type instead; NULL: none that we know. */
const char *words_of_command(const char *line);

#endif
