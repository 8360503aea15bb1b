/* ip.c - parses and builds the header of IP addressing, and finds it in a message */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/ip.h"

#include <string.h>

#include "cm/service.h"
#include "wire/bytes.h"
#include "wire/encap.h"

void cm_ip_parse(const uint8_t *private_data, struct cm_ip *ip)
{
	ip->version = private_data[0];
	ip->ip_version = private_data[1] >> 4;
	ip->source_port = load_be16(private_data + 2);
	memcpy(ip->source, private_data + 4, sizeof(ip->source));
	memcpy(ip->dest, private_data + 20, sizeof(ip->dest));
}

void cm_ip_build(const struct cm_ip *ip, uint8_t *private_data)
{
	private_data[0] = ip->version;
	private_data[1] = (uint8_t)(ip->ip_version << 4);
	store_be16(private_data + 2, ip->source_port);
	memcpy(private_data + 4, ip->source, sizeof(ip->source));
	memcpy(private_data + 20, ip->dest, sizeof(ip->dest));
}

bool cm_ip_find(const struct cm_message *message, struct cm_ip *ip)
{
	if (message->kind != CM_REQ && message->kind != CM_SIDR_REQ)
		return false;
	if (!cm_service_is_ip(message->service_id))
		return false;
	cm_ip_parse(message->private_data, ip);
	return ip->version == CM_IP_VERSION && (ip->ip_version == 4 || ip->ip_version == 6);
}

void cm_ip_addr(const struct cm_ip *ip, const uint8_t wire[16], uint8_t addr[16])
{
	if (ip->ip_version == 4)
		encap_map_ipv4(addr, wire + 12);
	else
		memcpy(addr, wire, 16);
}
