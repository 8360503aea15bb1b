/* quit.c - a flag that "quit" and signals set */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "testpmd/quit.h"

static _Atomic bool wanted;

void quit_soon(void)
{
	atomic_store(&wanted, true);
}

bool quit_is_wanted(void)
{
	return atomic_load(&wanted);
}
