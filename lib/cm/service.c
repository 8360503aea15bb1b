/* service.c - a service id as text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/service.h"

#include <inttypes.h>
#include <stdio.h>

char *cm_service_print(uint64_t service_id, char *out, size_t out_bytes)
{
	uint32_t space = service_id >> 16 & 0xFF;

	if (!cm_service_is_ip(service_id))
		snprintf(out, out_bytes, "0x%016" PRIx64, service_id);
	else if (space == CM_SPACE_TCP || space == CM_SPACE_UDP)
		snprintf(out, out_bytes, "%s:%u", space == CM_SPACE_TCP ? "tcp" : "udp", cm_service_port(service_id));
	else
		snprintf(out, out_bytes, "space_%02x:%u", space, cm_service_port(service_id));
	return out;
}
