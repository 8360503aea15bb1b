/* address.c - converts addresses of sockets to those of uroce, and resolves names */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "rdmacm/cma.h"

/* A port has no loopback address, and yet programs bind to one: an id of theirs is bound to any address instead. */
static bool is_any(const struct sockaddr *from)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)from)->sin6_addr;
	in_addr_t in = ntohl(((const struct sockaddr_in *)from)->sin_addr.s_addr);

	if (from->sa_family == AF_INET)
		return in == INADDR_ANY || in >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(in6);
}

int cma_read_address(const struct sockaddr *from, struct uroce_addr *addr, uint16_t *port)
{
	const struct sockaddr_in6 *in6 = (const void *)from;
	const struct sockaddr_in *in = (const void *)from;

	memset(addr, 0, sizeof(*addr));
	if (from->sa_family == AF_INET) {
		*port = ntohs(in->sin_port);
		if (is_any(from))
			return 0;
		addr->bytes[10] = addr->bytes[11] = 0xFF;
		memcpy(&addr->bytes[12], &in->sin_addr, 4);
		return 0;
	}
	if (from->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	*port = ntohs(in6->sin6_port);
	if (is_any(from))
		return 0;
	memcpy(addr->bytes, &in6->sin6_addr, 16);
	return 0;
}

bool cma_is_any(const struct uroce_addr *addr)
{
	static const struct uroce_addr any;

	return memcmp(addr, &any, sizeof(any)) == 0;
}

static bool is_ipv4(const struct uroce_addr *addr)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)addr->bytes);
}

void cma_write_address(const struct uroce_addr *addr, uint16_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (void *)to;
	struct sockaddr_in *in = (void *)to;

	memset(to, 0, sizeof(*to));
	if (is_ipv4(addr)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, &addr->bytes[12], 4);
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, addr->bytes, 16);
}

struct ibv_ah_attr cma_path(const struct uroce_addr *source, const struct uroce_addr *dest, uint8_t traffic_class)
{
	const struct uroce_device_info *info = cma_device_info();
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .hop_limit = 64, .traffic_class = traffic_class },
	};

	memcpy(attr.grh.dgid.raw, dest->bytes, 16);
	for (unsigned i = 0; i < info->addr_count; i++) {
		if (memcmp(&info->addrs[i], source, sizeof(*source)) == 0)
			attr.grh.sgid_index = (uint8_t)i;
	}
	return attr;
}

/* ---- names ---- */

static void *copy_of(const void *bytes, size_t count)
{
	void *copy = bytes ? malloc(count) : NULL;

	return copy ? memcpy(copy, bytes, count) : NULL;
}

CMA_API void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_connect);
		free(res->ai_route);
		free(res);
	}
}

static int resolve(const char *node, const char *service, const struct rdma_addrinfo *hints, struct addrinfo **found)
{
	int flags = hints ? hints->ai_flags : 0;
	struct addrinfo ours = {
		.ai_flags = (flags & RAI_PASSIVE ? AI_PASSIVE : 0) | (flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0),
		.ai_family = hints ? hints->ai_family : AF_UNSPEC,
		.ai_socktype = hints && hints->ai_port_space == RDMA_PS_UDP ? SOCK_DGRAM : SOCK_STREAM,
	};

	return getaddrinfo(node, service, &ours, found);
}

CMA_API int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *info = calloc(1, sizeof(*info));
	struct addrinfo *found = NULL;
	int error;

	if (info == NULL)
		return cma_result(-ENOMEM);
	if (hints) {
		info->ai_flags = hints->ai_flags;
		info->ai_qp_type = hints->ai_qp_type;
		info->ai_port_space = hints->ai_port_space;
		info->ai_src_addr = copy_of(hints->ai_src_addr, hints->ai_src_len);
		info->ai_src_len = hints->ai_src_addr ? hints->ai_src_len : 0;
	}
	if (hints && node == NULL && service == NULL) { /* nothing is to be resolved */
		info->ai_family = hints->ai_family;
		info->ai_dst_addr = copy_of(hints->ai_dst_addr, hints->ai_dst_len);
		info->ai_dst_len = hints->ai_dst_addr ? hints->ai_dst_len : 0;
	}
	if (info->ai_port_space == 0)
		info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (info->ai_qp_type == 0)
		info->ai_qp_type = info->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (node == NULL && service == NULL) {
		*res = info;
		return 0;
	}
	error = resolve(node, service, hints, &found);
	if (error) {
		rdma_freeaddrinfo(info);
		return error;
	}
	info->ai_family = found->ai_family;
	if (info->ai_flags & RAI_PASSIVE) {
		free(info->ai_src_addr);
		info->ai_src_addr = copy_of(found->ai_addr, found->ai_addrlen);
		info->ai_src_len = found->ai_addrlen;
	} else {
		info->ai_dst_addr = copy_of(found->ai_addr, found->ai_addrlen);
		info->ai_dst_len = found->ai_addrlen;
	}
	freeaddrinfo(found);
	*res = info;
	return 0;
}
