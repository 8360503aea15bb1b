/* exit.h - how uroce-decode can end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_DECODE_EXIT_H
#define APP_DECODE_EXIT_H

enum { DECODE_EXIT_OK = 0, DECODE_EXIT_BAD_FRAMES = 1, DECODE_EXIT_USAGE = 2, DECODE_EXIT_FILE = 3 };

#endif
