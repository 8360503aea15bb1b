/* refusals.h - a call that is refused, and the sentence that it leaves */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_EAL_REFUSALS_H
#define TEST_EAL_REFUSALS_H

#include <criterion/criterion.h>
#include <fnmatch.h>

#include "engine/log.h"

/* Nothing has been refused yet: what is said afterwards was said by the call. */
static inline void forget(void)
{
	static const struct engine_refusal none;

	engine_refusal_put(&none);
}

/* A call ends with this error and leaves this sentence; a * in it is what differs from run to run. */
#define EXPECT(error, sentence, call)                                                               \
	do {                                                                                        \
		forget();                                                                           \
		cr_expect_eq(call, error, "%s", #call);                                             \
		cr_expect_eq(fnmatch(sentence, uroce_last_error(), 0), 0, "%s\nsaid: %s", sentence, \
			     uroce_last_error());                                                   \
	} while (0)

#endif
