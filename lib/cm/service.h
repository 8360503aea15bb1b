/* service.h - what a peer asks for: the id of a service, and the port of IP that most of them stand for */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_SERVICE_H
#define CM_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a service id: 0000 0000 01pp nnnn, pp the port space, nnnn the destination port. */
enum cm_port_space { CM_SPACE_TCP = 0x06, CM_SPACE_UDP = 0x11 };

#define CM_SERVICE_MAX_BYTES 24u

/* "tcp:7174", or the number of one that is not of IP; returns out. */
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
