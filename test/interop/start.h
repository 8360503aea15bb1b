/* start.h - how our side of a case begins: EAL, one port, what the case does, and the end */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_INTEROP_START_H
#define TEST_INTEROP_START_H

/* What a program does on this device with its words; returns what to exit with. */
typedef int start_run(const char *device, char **words);

/* main() of a program that takes EAL-OPTIONS -- and at least so many words. */
int start(int argc, char **argv, int least_words, const char *usage, start_run *run);

#endif
