/* service.h - service ids, which tell a peer what is asked for; most stand for a port of TCP or UDP */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_SERVICE_H
#define CM_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a service id 0000 0000 01pp nnnn: pp is the port space, nnnn the port. */
enum cm_port_space { CM_SPACE_TCP = 0x06, CM_SPACE_UDP = 0x11 };

#define CM_SERVICE_MAX_BYTES 24u

/* Writes "tcp:7174", or the number if the id is not of IP; returns out. */
char *cm_service_print(uint64_t service_id, char *out, size_t out_bytes);

static inline uint64_t cm_service_id(enum cm_port_space space, uint16_t port)
{
	return 0x01000000ull | (uint64_t)space << 16 | port;
}

static inline bool cm_service_is_ip(uint64_t service_id)
{
	return service_id >> 24 == 1;
}

static inline uint16_t cm_service_port(uint64_t service_id)
{
	return (uint16_t)service_id;
}

#endif
