/* number.h - numbers among arguments and settings: decimal, or 0x in front; sizes may have a k, M, G or T behind */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_NUMBER_H
#define APP_COMMON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* false: the text is no number from low to high, and *value is as it was. */
bool app_number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* Bytes: a number, or a decimal one with k, K, M, G or T behind it, each 1024 times the one before. */
bool app_size_parse(const char *text, uint64_t low, uint64_t high, uint64_t *bytes);

/* The same two with a complaint that names the option and the range. APP_EXIT_OK or APP_EXIT_USAGE. */
int app_number_take(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int app_number_take32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *value);
int app_size_take(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *bytes);
int app_size_take32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *bytes);
int app_number_take_real(const char *option, const char *text, double low, double high, double *value);

/* "0.01" or "1%", from 0 to 1. false: it is neither, and *value is as it was. */
bool app_probability_parse(const char *text, double *value);

#endif
