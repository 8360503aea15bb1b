/* linked.h - the private functions of libibverbs, for the provider that is linked into a program */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libibverbs.a has these functions under other names, which begin with its release: VERBS_RELEASE_PREFIX is the prefix
 * of the libibverbs that this code is built with. Only a program's linker knows which form of libibverbs the program is
 * linked with. So both names are weak, and the one that exists is called.
 */
#ifndef VERBS_LINKED_H
#define VERBS_LINKED_H

#include "verbs/abi34.h"

#define LINKED_JOIN_(prefix, name) prefix##name
#define LINKED_JOIN(prefix, name) LINKED_JOIN_(prefix, name)
#define LINKED(name) LINKED_JOIN(VERBS_RELEASE_PREFIX, name)
#define LINKED_EITHER(name) (LINKED(name) ? LINKED(name) : (name))

#define LINKED_WEAK(name)                                   \
	extern __typeof__(name) name __attribute__((weak)); \
	extern __typeof__(name) LINKED(name) __attribute__((weak))

LINKED_WEAK(verbs_register_driver_34);
LINKED_WEAK(_verbs_init_and_alloc_context);
LINKED_WEAK(verbs_uninit_context);
LINKED_WEAK(verbs_set_ops);

/* Is the linked libibverbs.a of the release that this code is built for? If not, neither name exists. */
static inline bool linked_fits(void)
{
	return (verbs_register_driver_34 || LINKED(verbs_register_driver_34)) &&
	       (verbs_set_ops || LINKED(verbs_set_ops));
}

#define verbs_register_driver_34 LINKED_EITHER(verbs_register_driver_34)
#define _verbs_init_and_alloc_context LINKED_EITHER(_verbs_init_and_alloc_context)
#define verbs_uninit_context LINKED_EITHER(verbs_uninit_context)
#define verbs_set_ops LINKED_EITHER(verbs_set_ops)

#endif
