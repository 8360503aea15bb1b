/* ini.h - an INI file: sections in brackets, key=value lines, comments behind ; or # */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_INI_H
#define NVMET_INI_H

/* Called in the order of the file. where: "FILE: [section]", "FILE: [section] key". Not 0 ends the reading. */
struct ini_reader {
	int (*section)(void *argument, const char *where, const char *section);
	int (*key)(void *argument, const char *where, const char *section, const char *key, const char *value);
	void *argument;
};

/* APP_EXIT_OK, or what to exit with: what is no INI file, or says something twice, is complained about. */
int ini_read(const char *path, const struct ini_reader *reader);

#endif
