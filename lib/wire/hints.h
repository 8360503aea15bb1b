/* hints.h - hints for the compiler: what to inline, what not, and which data is near */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_HINTS_H
#define WIRE_HINTS_H

#define NOINLINE static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define HIDDEN __attribute__((visibility("hidden")))

#endif
