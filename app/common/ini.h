/* ini.h - an INI file: sections in brackets, key=value lines, comments behind ; or # */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_INI_H
#define APP_COMMON_INI_H

#include <stdbool.h>

/*
 * Functions that are called for each section and key, in the order of the file. where: "FILE: [section]" or "FILE:
 * [section] key". If a function returns anything but 0, the reading ends. Section, key and value stay until the program
 * ends, so that settings may point to them.
 */
struct app_ini_reader {
	int (*section)(void *argument, const char *where, const char *section);
	int (*key)(void *argument, const char *where, const char *section, const char *key, const char *value);
	bool (*may_repeat)(const char *section, const char *key); /* NULL: no key may occur twice in a section */
	void *argument;
};

/* Returns APP_EXIT_OK, or the exit code after a complaint: the file is no INI file, or has a section or key twice. */
int app_ini_read(const char *path, const struct app_ini_reader *reader);

#endif
