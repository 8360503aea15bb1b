/* hints.h - what the compiler cannot know of a function: better apart, or always worth its copies */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_HINTS_H
#define WIRE_HINTS_H

#define NOINLINE static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

#endif
