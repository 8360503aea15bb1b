/* types.h - the plain types that every public header shares */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: any thread may call at any time. */
#ifndef UROCE_TYPES_H
#define UROCE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_API __attribute__((visibility("default")))

struct uroce_engine;
struct uroce_lcore;
struct uroce_device;
struct uroce_pd;
struct uroce_mr;
struct uroce_cq;
struct uroce_qp;
struct uroce_srq;
struct uroce_mw;
struct uroce_ud;

/* An IP address as RoCEv2 GIDs carry it: IPv6 as it is, IPv4 as ::ffff:a.b.c.d. Network byte order. */
struct uroce_addr {
	uint8_t bytes[16];
};

/* A 48-bit Ethernet address. */
struct uroce_mac {
	uint8_t bytes[6];
};

#define UROCE_VLAN_ID_MAX 4094u
#define UROCE_VLAN_PRIORITY_MAX 7u

/* An 802.1Q tag. Both 0: no tag; only id 0: a tag that carries a priority but names no VLAN. */
struct uroce_vlan {
	uint16_t id;      /* 1 ... UROCE_VLAN_ID_MAX */
	uint8_t priority; /* 0 ... UROCE_VLAN_PRIORITY_MAX */
};

/* What is wrong, with which value, and what helps: one sentence, without a newline. */
struct uroce_error {
	char text[512];
};

/* The version that a program is compiled for; uroce_version() returns the one that it is linked to. */
#define UROCE_VERSION_MAJOR 0
#define UROCE_VERSION_MINOR 1
#define UROCE_VERSION_PATCH 0
#define UROCE_VERSION_NUMBER (UROCE_VERSION_MAJOR * 10000 + UROCE_VERSION_MINOR * 100 + UROCE_VERSION_PATCH)

/* The version of the library, "MAJOR.MINOR.PATCH"; never NULL. */
UROCE_API const char *uroce_version(void);

/*
 * The name of the code that copies payloads and computes their ICRC in one pass: "vpclmul" (AVX-512), "vpclmul256"
 * (AVX2 and VPCLMULQDQ), "pclmul" or "isal". The best one for the CPU is chosen when the program starts; all of them
 * give the same result.
 */
UROCE_API const char *uroce_icrc(void);
/*
 * Chooses the code by name, before the first engine is created. Returns 0; -EINVAL: no such name; -ENOTSUP: not on this
 * CPU.
 */
UROCE_API int uroce_icrc_choose(const char *name);

/*
 * Reads "10.0.0.1", "fe80::1" or either with "/LEN" behind it. If prefix_bits is not NULL, *prefix_bits is set to LEN,
 * or to 0 without "/LEN". Returns 0; or -EINVAL, and then nothing is changed.
 */
UROCE_API int uroce_addr_parse(const char *text, struct uroce_addr *addr, unsigned *prefix_bits);

/*
 * Why a port cannot have this address with a prefix of prefix_bits (0: none is known), such as "a multicast address";
 * NULL: it can. Other addresses than those of one host are refused: unspecified, loopback, multicast, reserved, and the
 * first (network, subnet-router anycast) and last (broadcast, IPv4 only) of a network.
 */
UROCE_API const char *uroce_addr_unusable(const struct uroce_addr *addr, unsigned prefix_bits);

/* Writes addr as text into out (at least 46 bytes) and returns out. */
UROCE_API char *uroce_addr_format(const struct uroce_addr *addr, char *out, size_t out_bytes);

#ifdef __cplusplus
}
#endif
#endif
