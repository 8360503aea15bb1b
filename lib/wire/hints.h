/* hints.h - what the compiler cannot know: which functions are better apart, or worth copies, and which data is near */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_HINTS_H
#define WIRE_HINTS_H

#define NOINLINE static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define HIDDEN __attribute__((visibility("hidden")))

#endif
