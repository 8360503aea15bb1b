/* device.c - attributes of the device and its port, and addresses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/uroce.h>

#include "verbs/rate.h"

#define VENDOR_ID 0x75726fu /* "uro", which IEEE has assigned to nobody */
#define UNBOUNDED INT_MAX   /* limited by memory only */

int verb_result(int error)
{
	if (error)
		errno = -error;
	return -error;
}

void *verb_refused(int error)
{
	verb_result(error);
	return NULL;
}

void *verb_unsupported(enum verb_unsupported what)
{
	static const char *const names[] = {
		[VERB_UC] = "queue pairs of type UC",
		[VERB_XRC] = "XRC",
		[VERB_RAW] = "queue pairs for raw packets",
		[VERB_ODP] = "on-demand paging",
		[VERB_MULTICAST] = "multicast",
	};
	static _Atomic bool told[VERB_UNSUPPORTED];

	if (!atomic_exchange(&told[what], true))
		fprintf(stderr, "uroce: %s: not supported (EOPNOTSUPP)\n", names[what]);
	return verb_refused(-EOPNOTSUPP);
}

static const struct uroce_device_info *info_of(struct ibv_context *context)
{
	return &verb_context_of(context)->stack->info;
}

int verb_query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		      struct ibv_device_attr_ex *attr, size_t attr_bytes)
{
	const struct uroce_device_info *info = info_of(context);
	struct ibv_device_attr *old = &attr->orig_attr;

	if (input && input->comp_mask)
		return verb_result(-EINVAL);
	memset(attr, 0, attr_bytes);
	snprintf(old->fw_ver, sizeof(old->fw_ver), "%s", uroce_version());
	old->node_guid = old->sys_image_guid = verb_guid(&info->addrs[0]);
	old->max_mr_size = UINT64_MAX;
	old->page_size_cap = UINT64_MAX - 4095; /* any page size of 4096 or more */
	old->vendor_id = VENDOR_ID;
	old->max_qp = (int)info->max_qps;
	old->max_qp_wr = (int)info->max_queue_depth;
	old->device_cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SYS_IMAGE_GUID |
				IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	old->max_sge = old->max_sge_rd = old->max_srq_sge = (int)info->max_sge;
	old->max_cq = old->max_pd = old->max_ah = old->max_srq = UNBOUNDED;
	old->max_cqe = (int)info->max_cq_depth;
	old->max_mr = old->max_mw = (int)info->max_mrs;
	old->max_qp_rd_atom = old->max_qp_init_rd_atom = (int)STACK_RD_ATOMIC;
	old->max_res_rd_atom = (int)(STACK_RD_ATOMIC * info->max_qps);
	old->atomic_cap = IBV_ATOMIC_HCA;
	old->max_srq_wr = (int)info->max_queue_depth;
	old->max_pkeys = 1;
	old->local_ca_ack_delay = 15;
	old->phys_port_cnt = 1;
	if (attr_bytes >= offsetof(struct ibv_device_attr_ex, phys_port_cnt_ex) + sizeof(attr->phys_port_cnt_ex))
		attr->phys_port_cnt_ex = 1;
	return 0;
}

int verb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	const struct uroce_device_info *info = info_of(context);
	struct verb_rate rate = verb_rate_of(uroce_port_link_mbps(info->port_id));
	/*
	 * A server's program begins before there is a client, and many programs refuse a port that is down (perftest).
	 */
	bool up = verb_context_of(context)->stack->serves || uroce_port_link_is_up(info->port_id);

	if (port != 1)
		return verb_result(-EINVAL);
	attr->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr->phys_state = up ? 5 : 3; /* LinkUp or Disabled, in the numbers of the specification */
	attr->max_mtu = info->port_mtu_bytes ? verb_mtu(info->port_mtu_bytes - UROCE_PACKET_BYTES) : IBV_MTU_4096;
	attr->active_mtu = verb_mtu(info->mtu_bytes);
	attr->gid_tbl_len = (int)info->addr_count;
	attr->port_cap_flags = IBV_PORT_CM_SUP;
	attr->max_msg_sz = 1u << 31;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->active_width = rate.width;
	attr->active_speed = rate.speed;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->flags = IBV_QPF_GRH_REQUIRED;
	return 0;
}

enum ibv_mtu verb_mtu(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && verb_mtu_bytes(mtu + 1) <= bytes)
		mtu++;
	return mtu;
}

uint64_t verb_guid(const struct uroce_addr *address)
{
	const uint8_t *b = address->bytes;
	uint8_t guid[8] = { 2, b[11], b[12], 0xff, 0xfe, b[13], b[14], b[15] };
	uint64_t value;

	memcpy(&value, guid, sizeof(value)); /* in network byte order, as in verbs */
	return value;
}

/* ---- addresses ---- */

int verb_path(struct ibv_context *context, const struct ibv_ah_attr *attr, struct uroce_path *path)
{
	const struct uroce_device_info *info = info_of(context);

	if (!attr->is_global || attr->port_num > 1 || attr->grh.sgid_index >= info->addr_count)
		return -EINVAL;
	*path = (struct uroce_path){
		.source = info->addrs[attr->grh.sgid_index],
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = attr->grh.hop_limit,
		.flow_label = attr->grh.flow_label & 0xFFFFF, /* some programs pass more bits than the field has */
	};
	memcpy(path->dest.bytes, attr->grh.dgid.raw, sizeof(path->dest.bytes));
	return 0;
}

struct ibv_ah *verb_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct verb_ah *ah = calloc(1, sizeof(*ah));
	int error = ah ? verb_path(pd->context, attr, &ah->path) : -ENOMEM;

	if (error) {
		free(ah);
		return verb_refused(error);
	}
	ah->pd = verb_pd_of(pd);
	atomic_fetch_add(&ah->pd->users, 1);
	return &ah->ibv;
}

int verb_destroy_ah(struct ibv_ah *ibv)
{
	struct verb_ah *ah = VERB_OF(verb_ah, ibv, ibv);

	atomic_fetch_sub(&ah->pd->users, 1);
	free(ah);
	return 0;
}
