/* rate.c - the rates that a port may report, slowest first */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/rate.h"

#include <stddef.h>

enum { LANES_1 = 1, LANES_4 = 2, LANES_8 = 4 };
enum { SDR = 1, DDR = 2, QDR = 4, EDR = 32, HDR = 64 };

/*
 * Of two entries with the same rate only the one with fewer lanes is here. No lane is faster than the fastest that
 * programs of Debian 12 know.
 */
static const struct {
	uint32_t mbps;
	struct verb_rate rate;
} rates[] = {
	{ 2500, { LANES_1, SDR } },   { 5000, { LANES_1, DDR } },   { 10000, { LANES_1, QDR } },
	{ 20000, { LANES_4, DDR } },  { 25000, { LANES_1, EDR } },  { 40000, { LANES_4, QDR } },
	{ 50000, { LANES_1, HDR } },  { 100000, { LANES_4, EDR } }, { 200000, { LANES_4, HDR } },
	{ 400000, { LANES_8, HDR } },
};

struct verb_rate verb_rate_of(uint32_t link_mbps)
{
	size_t at = 0;

	while (at + 1 < sizeof(rates) / sizeof(rates[0]) && rates[at + 1].mbps <= link_mbps)
		at++;
	return rates[at].rate;
}
