/* words.h - commands of DPDK's testpmd that uroce-testpmd does not have, with what to do instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_WORDS_H
#define APP_TESTPMD_WORDS_H

/* Returns why there is no command like the beginning of this line, or what to type instead; NULL: not known. */
const char *words_of_command(const char *line);

#endif
