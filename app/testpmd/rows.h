/* rows.h - the settings of uroce-testpmd, a row each, and what is printed of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_ROWS_H
#define APP_TESTPMD_ROWS_H

#include <stdbool.h>
#include <stdio.h>

#include "common/eal.h"
#include "common/option.h"
#include "testpmd/values.h"

extern const struct option_set rows_set;      /* rows for struct settings */
extern const struct option_set rows_port_set; /* rows for struct settings_port: keys of [port.N] */
extern const struct settings rows_defaults;

/* Prints one line per key that a file may have: "[traffic] size: 1 ... 1048576: 4096: bytes of a message". */
void rows_print_keys(void);
/* Prints the lines of "help" about what "set" can change. */
void rows_print_changes(FILE *out);

/* Can "set" change it? */
bool rows_can_change(const struct option_row *row);

#endif
