/* types.c - version, ICRC implementation, addresses from text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/types.h>

#include "engine/log.h"
#include "wire/encap.h"
#include "wire/icrc_copy.h"

const char *uroce_version(void)
{
	return UROCE_VERSION;
}

const char *uroce_icrc(void)
{
	return wire_icrc_impl_name(wire_icrc_chosen());
}

int uroce_icrc_choose(const char *name)
{
	for (int impl = 0; impl < WIRE_ICRC_IMPLS; impl++) {
		if (strcmp(name, wire_icrc_impl_name((enum wire_icrc_impl)impl)) == 0)
			return wire_icrc_choose((enum wire_icrc_impl)impl) ?
				       0 :
				       engine_refuse(-ENOTSUP, "name %s: this CPU lacks the required instructions",
						     name);
	}
	return engine_refuse(-EINVAL, "name %.64s: unknown ICRC implementation; %s remains in use", name, uroce_icrc());
}

static int refuse_address(const char *text)
{
	return engine_refuse(
		-EINVAL, "'%.64s' is not an address: use a form such as 10.0.0.1, 10.0.0.1/24, fe80::1 or fe80::1/64",
		text);
}

/* false: it is no valid number of bits. */
static bool parse_prefix(const char *text, unsigned limit, unsigned *bits)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*bits = (unsigned)value;
	return end != text && *end == '\0' && value <= limit;
}

int uroce_addr_parse(const char *text, struct uroce_addr *addr, unsigned *prefix_bits)
{
	char host[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	struct uroce_addr parsed;
	uint8_t ipv4[4];
	unsigned bits = 0, limit = 128;

	if (length == 0 || length >= sizeof(host))
		return refuse_address(text);
	memcpy(host, text, length);
	host[length] = '\0';
	if (inet_pton(AF_INET6, host, parsed.bytes) != 1) {
		if (inet_pton(AF_INET, host, ipv4) != 1)
			return refuse_address(text);
		encap_map_ipv4(parsed.bytes, ipv4);
		limit = 32;
	}
	if (slash && !parse_prefix(slash + 1, limit, &bits))
		return refuse_address(text);
	*addr = parsed;
	if (prefix_bits)
		*prefix_bits = bits;
	return 0;
}
