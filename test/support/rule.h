/* rule.h - names the requirement that a test covers */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_RULE_H
#define TEST_RULE_H

/*
 * RULE("W-3"); is the first statement of a test: the table of covered requirements is made from these lines,
 * so each names one id, literally. It does nothing when it runs; anything but a string literal does not
 * compile.
 */
#define RULE(id) ((void)("" id))

#endif
