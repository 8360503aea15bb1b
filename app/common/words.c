/* words.c - the table of all options (words.def), as data */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/words.h"

#include "common/names.h"

const struct option_word app_words[APP_WORDS] = {
#define WORD(id, ...) [APP_WORD_##id] = { __VA_ARGS__ },
#include "common/words.def"
};

const struct option_alias app_aliases[] = {
#define ALIAS(program, name, id, tool) { program, name, &app_words[APP_WORD_##id], tool },
#include "common/words.def"
	{ NULL, NULL, NULL, NULL },
};

const struct option_hint app_hints[] = {
#define HINT(program, letter, name, instead) { program, letter, name, instead, NULL },
#define RENAMED(program, letter, name, id) { program, letter, name, NULL, &app_words[APP_WORD_##id] },
#include "common/words.def"
	{ NULL, 0, NULL, NULL, NULL },
};
