/* text.h - builds a sentence piece by piece, cut to the room there is */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef API_TEXT_H
#define API_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text {
	char *at;
	size_t left;
	bool more; /* a sign (see why.c) has been written, and further ones are joined to it */
};

__attribute__((format(printf, 2, 3))) static inline void add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = vsnprintf(text->at, text->left, format, arguments);
	va_end(arguments);
	if (written < 0)
		return;
	written = (size_t)written < text->left ? written : (int)text->left - (text->left > 0);
	text->at += written;
	text->left -= (size_t)written;
}

#endif
