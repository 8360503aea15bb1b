/* number.h - parses numbers: decimal, or hexadecimal with 0x; sizes may end with k, M, G or T */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_NUMBER_H
#define APP_COMMON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns false, and leaves *value as it is, if the text is not a number from low to high. */
bool app_number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/*
 * Parses a size in bytes: a number, perhaps with a fraction, and perhaps k or K (1024), M (1024 k), G (1024 M) or T
 * (1024 G) behind it.
 */
bool app_size_parse(const char *text, uint64_t low, uint64_t high, uint64_t *bytes);

/*
 * app_number_parse() and app_size_parse() with a complaint that names the option and the range. Return APP_EXIT_OK or
 * APP_EXIT_USAGE.
 */
int app_number_expect(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value);
int app_size_expect(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *bytes);
int app_size_expect32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *bytes);
int app_number_expect_real(const char *option, const char *text, double low, double high, double *value);

/*
 * Parses a time into seconds: a number with us, ms, s, m or h behind it; a bare number is in `unit`, "us" or "s". low
 * and high: the range, in that unit. Returns APP_EXIT_OK, or APP_EXIT_USAGE after a complaint.
 */
int app_duration_expect(const char *option, const char *text, const char *unit, double low, double high,
			double *seconds);

/* Parses "0.01" or "1%", from 0 to 1. Returns false, and leaves *value as it is, if the text is neither. */
bool app_probability_parse(const char *text, double *value);

/*
 * Parses "100" or "100:3" into a struct uroce_vlan, with a complaint if it is wrong. Returns APP_EXIT_OK or
 * APP_EXIT_USAGE.
 */
int app_vlan_expect(const char *option, const char *text, void *vlan);

#endif
