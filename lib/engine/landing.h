/* landing.h - where a thread goes on when a copy from or to the application's memory faults */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An application may unmap, protect or truncate memory after its registration. Then a copy of the stack gets SIGSEGV or
 * SIGBUS. A handler (drivers/guard/guard.h) calls engine_landing_jump(), which leaves the copy. Each lcore has two
 * landings. That of its polls is set once for many copies of QPs, and used while lcore->serving is not NULL. That of
 * datagrams is set for one copy. How to use:
 *	if (LANDING_SET(&landing) == 0)
 *		... copies ...
 *	else
 *		landing.address: where the copy faulted
 * Variables that change between LANDING_SET() and the copy have no defined value after a fault. Without a handler
 * nothing of this takes effect.
 */
#ifndef ENGINE_LANDING_H
#define ENGINE_LANDING_H

#include <stdbool.h>

#include "engine/lcore_state.h"

/* Returns 0, and 1 when a copy has faulted. A macro, because the function that calls it must not return before. */
#define LANDING_SET(landing) __builtin_setjmp((landing)->back)

/* The handler knows the lcore from add to remove. Returns false if it knows LIMIT_LANDINGS lcores already. */
bool engine_landing_add(struct uroce_lcore *lcore);
void engine_landing_remove(const struct uroce_lcore *lcore);

/*
 * Called in the handler of the thread that faulted at address. If the fault is one of a copy from or to the
 * application's memory this jumps to the landing and does not return. Returns otherwise. Async-signal-safe: it uses no
 * thread-local variable, whose first use in a thread may allocate memory.
 */
void engine_landing_jump(const void *address);

#endif
