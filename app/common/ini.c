/* ini.c - an INI file: sections in brackets, key=value lines, comments behind ; or # */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/ini.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/exit.h"

#define WHERE_BYTES 1024u
#define BLANKS " \t\r\n"

/* A key of a section with its value; an empty key: the section itself. Kept until the program ends. */
struct name {
	struct name *next;
	char *section, *key, *value;
};

struct ini {
	const char *path;
	const struct app_ini_reader *reader;
	unsigned line;
	const char *section; /* NULL: before the first section */
	struct name *before; /* names of files that were read earlier */
};

static struct name *names; /* newest first */

static const struct name *find(const struct ini *ini, const char *section, const char *key)
{
	const struct name *name = names;

	while (name != ini->before && (strcmp(name->section, section) != 0 || strcmp(name->key, key) != 0))
		name = name->next;
	return name == ini->before ? NULL : name;
}

static int remember(const char *section, const char *key, const char *value)
{
	struct name *name = calloc(1, sizeof(*name));

	if (name) {
		*name = (struct name){ names, strdup(section), strdup(key), strdup(value) };
		names = name;
	}
	return name && name->section && name->key && name->value ? APP_EXIT_OK :
								   app_complain(APP_EXIT_ENVIRONMENT, "no memory");
}

/* Removes blanks around it. */
static char *strip(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

/* Cuts off a comment, which begins the line or follows a blank. */
static void cut_comment(char *line)
{
	for (char *c = line; *c; c++) {
		if ((*c == ';' || *c == '#') && (c == line || strchr(BLANKS, c[-1]))) {
			*c = '\0';
			return;
		}
	}
}

static int begin_section(struct ini *ini, char *line)
{
	size_t length = strlen(line);
	char where[WHERE_BYTES];

	if (line[length - 1] != ']')
		return app_complain(APP_EXIT_USAGE, "%s, line %u: \"%s\": the closing ] is missing", ini->path,
				    ini->line, line);
	line[length - 1] = '\0';
	line = strip(line + 1);
	snprintf(where, sizeof(where), "%s: [%s]", ini->path, line);
	if (find(ini, line, ""))
		return app_complain(APP_EXIT_USAGE, "%s appears twice, line %u: merge the two sections", where,
				    ini->line);
	if (remember(line, "", "") != APP_EXIT_OK)
		return APP_EXIT_ENVIRONMENT;
	ini->section = names->section;
	return ini->reader->section(ini->reader->argument, where, ini->section);
}

static int parse_key(struct ini *ini, char *line)
{
	char *value = strchr(line, '='), *key;
	const struct app_ini_reader *reader = ini->reader;
	const struct name *twin;
	char where[WHERE_BYTES];

	if (value == NULL || value == line || ini->section == NULL)
		return app_complain(
			APP_EXIT_USAGE,
			"%s, line %u: \"%s\": invalid INI syntax: use [section], followed by key=value lines",
			ini->path, ini->line, line);
	*value++ = '\0';
	key = strip(line);
	value = strip(value);
	snprintf(where, sizeof(where), "%s: [%s] %s", ini->path, ini->section, key);
	twin = find(ini, ini->section, key);
	if (twin && !(reader->may_repeat && reader->may_repeat(ini->section, key)))
		return app_complain(APP_EXIT_USAGE,
				    "%s appears twice (values %s and %s), line %u: remove one of the two lines", where,
				    twin->value, value, ini->line);
	if (remember(ini->section, key, value) != APP_EXIT_OK)
		return APP_EXIT_ENVIRONMENT;
	return reader->key(reader->argument, where, ini->section, names->key, names->value);
}

int app_ini_read(const char *path, const struct app_ini_reader *reader)
{
	struct ini ini = { .path = path, .reader = reader, .before = names };
	int code = APP_EXIT_OK;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *file;

	if (!app_is_readable(path) || (file = fopen(path, "r")) == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "--config %s: %s", path, strerror(errno));
	while (code == APP_EXIT_OK && (length = getline(&line, &room, file)) >= 0) {
		char *text;

		ini.line++;
		if (strlen(line) != (size_t)length) {
			code = app_complain(APP_EXIT_USAGE, "%s, line %u: not an INI file: it contains a null byte",
					    path, ini.line);
			break;
		}
		cut_comment(line);
		text = strip(line);
		if (*text)
			code = *text == '[' ? begin_section(&ini, text) : parse_key(&ini, text);
	}
	free(line);
	fclose(file);
	return code;
}
