/* cm_options.c - checks the options of a connection, and derives both ends from them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "api/cm_id.h"
#include "engine/device_state.h"
#include "engine/log.h"
#include "engine/qp.h"
#include "rc/codes.h"
#include "rc/path.h"
#include "wire/packet.h"

#define RETRY_DEFAULT 7u
#define RD_ATOMIC_DEFAULT 16u

const struct uroce_cm_options api_cm_no_options;

/* A value of 0 stands for the default, unless the user has set the bit of the field. */
static uint8_t or_default(const struct uroce_cm_options *options, enum uroce_cm_option_mask field, uint8_t value,
			  uint8_t by_default)
{
	return value || (options->option_mask & field) ? value : by_default;
}

/* The limit of a QP that we have not made is known to its user only. */
static uint8_t answers_at_most(const struct uroce_cm_id *id)
{
	return id->qp ? (uint8_t)qp_core(id->qp)->replay.limit : LIMIT_RD_ATOMIC;
}

/* Returns 0; or -EINVAL, and uroce_last_error() names the field. */
static int check_ranges(const struct uroce_cm_id *id, const struct uroce_cm_options *options, uint32_t private_max)
{
	const struct {
		const char *name;
		uint32_t value, max;
	} fields[] = {
		{ "private_bytes", options->private_bytes, private_max },
		{ "timeout", options->timeout, 31 },
		{ "retry_cnt", options->retry_cnt, 7 },
		{ "rnr_retry", options->rnr_retry, 7 },
		{ "min_rnr_timer", options->min_rnr_timer, 31 },
		{ "max_rd_atomic", options->max_rd_atomic, LIMIT_RD_ATOMIC },
		{ "max_dest_rd_atomic", options->max_dest_rd_atomic, answers_at_most(id) },
		{ "qp_num", options->qp_num, 0xFFFFFF },
		{ "cm_timeout", options->cm_timeout, 31 },
		{ "cm_retries", options->cm_retries, 15 },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].value > fields[i].max)
			return engine_refuse(-EINVAL, "%s %u: must be 0 to %u", fields[i].name, fields[i].value,
					     fields[i].max);
	}
	return 0;
}

int api_cm_check_options(const struct uroce_cm_id *id, const struct uroce_cm_options *options, uint32_t private_max)
{
	int error = check_ranges(id, options, private_max);

	if (error)
		return error;
	if (options->private_bytes && options->private_data == NULL)
		return engine_refuse(-EINVAL, "private_data: NULL although private_bytes is %u",
				     options->private_bytes);
	if (options->path_mtu && (!mtu_is_valid(options->path_mtu) || options->path_mtu > id->device->config.mtu_bytes))
		return engine_refuse(-EINVAL,
				     "path_mtu %u: use a power of two from 256 to %u, the path MTU of the device",
				     options->path_mtu, id->device->config.mtu_bytes);
	if (!sack_window_is_valid(options->sack_window))
		return engine_refuse(-EINVAL, "sack_window %u: use 256, 512, 1024 or 2048, or 0 for the default, 256",
				     options->sack_window);
	if (options->paths > 1 && (options->paths < SPREAD_LEAST || options->paths > SPREAD_MOST || options->no_sack))
		return engine_refuse(-EINVAL, "paths %u: use %u to %u, which require SACKs, or 0 for a single path",
				     options->paths, SPREAD_LEAST, SPREAD_MOST);
	if (options->paths > 1 && !device_takes_several_paths(id->device))
		return engine_refuse(-EINVAL,
				     "paths %u: port %u has %u queues and selects a queue by UDP source port; "
				     "multipath requires a port with one queue",
				     options->paths, id->device->port_id, id->device->config.queue_count);
	if (options->qp_num && options->alternate)
		return engine_refuse(
			-EINVAL,
			"alternate: must be NULL with qp_num; the application sets the alternate path of its own QP");
	if (options->option_mask & ~(uint32_t)UROCE_CM_OPTION_ALL)
		return engine_refuse(-EINVAL, "option_mask 0x%x: it has bits outside enum uroce_cm_option_mask",
				     options->option_mask);
	return 0;
}

int api_cm_check_datagrams(const struct uroce_cm_options *options, uint32_t private_max)
{
	if (options->private_bytes > private_max || (options->private_bytes && options->private_data == NULL))
		return engine_refuse(-EINVAL, "private_bytes %u: must be 0 to %u, and private_data must not be NULL",
				     options->private_bytes, private_max);
	if (options->cm_timeout > 31 || options->cm_retries > 15)
		return engine_refuse(-EINVAL, "cm_timeout %u, cm_retries %u: must not exceed 31 and 15, respectively",
				     options->cm_timeout, options->cm_retries);
	return 0;
}

int api_cm_check_id(const struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	if (id->listens)
		return engine_refuse(-EINVAL, "id: it listens");
	if (id->datagrams && id->is_request && (options->qp_num <= CM_QPN || options->qp_num > 0xFFFFFF))
		return engine_refuse(-EINVAL,
				     "qp_num %u: a UD service requires the number of its QP, see uroce_ud_num()",
				     options->qp_num);
	if (id->datagrams)
		return 0;
	if (id->qp && options->qp_num)
		return engine_refuse(-EINVAL, "qp_num 0x%06x: the id already has QP 0x%06x", options->qp_num,
				     id->qp->qpn);
	if (id->qp == NULL && options->qp_num <= CM_QPN)
		return engine_refuse(-EINVAL, "id: it has no QP; call uroce_cm_qp_create() or set qp_num");
	if (id->qp && !pkey_matches(PKEY_DEFAULT, qp_core(id->qp)->pkey))
		return engine_refuse(-EINVAL,
				     "P_Key 0x%04x of the QP: CM connections require the default partition, 0x7fff",
				     qp_core(id->qp)->pkey);
	return 0;
}

int api_cm_draw_psn(struct uroce_cm_id *id)
{
	if (id->qp || id->has_psn)
		return 0;
	if (getrandom(&id->psn, sizeof(id->psn), 0) != sizeof(id->psn))
		return engine_refuse_random();
	id->psn &= 0xFFFFFF;
	id->has_psn = true;
	return 0;
}

/*
 * Each end ANDs its bits with the other end's, which would spoil a number. So each window has a bit of its own, and an
 * end sets the bits of all windows that it can have.
 */
static uint32_t ece_of_window(uint16_t packets)
{
	return CM_ECE_KEEP | CM_ECE_SACK | (packets >= 512 ? CM_ECE_WINDOW_512 : 0) |
	       (packets >= 1024 ? CM_ECE_WINDOW_1024 : 0) | (packets >= 2048 ? CM_ECE_WINDOW_2048 : 0);
}

struct cm_side api_cm_side_of(const struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	uint32_t mtu_bytes = options->path_mtu ? options->path_mtu : id->device->config.mtu_bytes;
	uint8_t answers = id->qp ? answers_at_most(id) : RD_ATOMIC_DEFAULT;
	bool srq = id->qp ? id->qp->srq != NULL : options->srq;

	return (struct cm_side){
		.qpn = id->qp ? id->qp->qpn : options->qp_num,
		.psn = id->qp ? qp_core(id->qp)->sq_psn.v : id->psn,
		.responder_resources =
			or_default(options, UROCE_CM_OPTION_MAX_DEST_RD_ATOMIC, options->max_dest_rd_atomic, answers),
		.initiator_depth =
			or_default(options, UROCE_CM_OPTION_MAX_RD_ATOMIC, options->max_rd_atomic, RD_ATOMIC_DEFAULT),
		.retry_count = or_default(options, UROCE_CM_OPTION_RETRY_CNT, options->retry_cnt, RETRY_DEFAULT),
		.rnr_retry_count = or_default(options, UROCE_CM_OPTION_RNR_RETRY, options->rnr_retry, RETRY_DEFAULT),
		.flow_control = options->flow_control && !srq,
		.srq = srq,
		.path_mtu = cm_mtu_code(mtu_bytes),
		.ack_timeout = or_default(options, UROCE_CM_OPTION_TIMEOUT, options->timeout, TIMEOUT_DEFAULT),
		.ece = CM_ECE_UNDERSTOOD | CM_ECE_ATOMIC_WRITE | CM_ECE_FLUSH |
		       (options->no_read_repair ? 0 : CM_ECE_ANY_ORDER) |
		       (options->no_sack ? 0 : ece_of_window(options->sack_window)) |
		       (options->no_sack || !device_takes_several_paths(id->device) ? 0 : CM_ECE_SPREAD),
	};
}

void api_cm_set_attr(struct uroce_cm_id *id, const struct uroce_cm_options *options, const struct cm_route *route,
		     uint8_t timeout)
{
	id->attr = (struct uroce_qp_attr){
		.timeout = timeout,
		.keepalive_ms = options->keepalive_ms,
		.read_repair = options->no_read_repair ? UROCE_READ_REPAIR_OFF : UROCE_READ_REPAIR_UPWARDS,
		.cc = options->cc,
		.paths = options->paths,
		.min_rnr_timer =
			or_default(options, UROCE_CM_OPTION_MIN_RNR_TIMER, options->min_rnr_timer, RNR_TIMER_DEFAULT),
		.path = { .traffic_class = route->traffic_class,
			  .vlan_id = route->vlan_id,
			  .vlan_priority = route->vlan_priority,
			  .device = id->device },
	};
	memcpy(id->attr.path.source.bytes, route->source, 16);
	memcpy(id->attr.path.dest.bytes, route->dest, 16);
}
