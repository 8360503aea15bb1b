/* words.h - the table of all options (words.def) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_WORDS_H
#define APP_COMMON_WORDS_H

#include "common/option.h"

enum app_word {
#define WORD(id, ...) APP_WORD_##id,
#include "common/words.def"
	APP_WORDS
};

extern const struct option_word app_words[APP_WORDS];

/* Sets the word of a row. */
#define WORD_OF(id) .word = &app_words[APP_WORD_##id]

/* Those of all programs, ended by a row of zeros: for a set's aliases and hints. */
extern const struct option_alias app_aliases[];
extern const struct option_hint app_hints[];
#define OPTION_SPELLINGS .aliases = app_aliases, .hints = app_hints

#endif
