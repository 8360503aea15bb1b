/* help.h - what uroce-perf --help says */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_HELP_H
#define APP_PERF_HELP_H

extern const char perf_help_text[];

#endif
