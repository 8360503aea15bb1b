/* mix.h - which operation comes next */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_MIX_H
#define APP_TESTPMD_MIX_H

#include "testpmd/settings.h"

/* random: any number but 0, for the next call. */
enum uroce_wr_opcode mix_pick(const struct settings *settings, uint64_t *random);

#endif
