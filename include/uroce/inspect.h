/* inspect.h - a running engine looked at from beside: what there is, by number, and what it does just now */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For statistics, telemetry and prompts. Any thread may call at any time while the engine is there; QPs, devices and
 * regions may come and go meanwhile. An lcore that does not poll says nothing, and is waited for at most a second.
 * Nothing is held: a view is a copy, and what it is of may be gone when it is read.
 */
#ifndef UROCE_INSPECT_H
#define UROCE_INSPECT_H

#include <uroce/device.h>
#include <uroce/qp.h>
#include <uroce/stats.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A queue pair. */
struct uroce_qp_view {
	uint32_t qp_num;
	unsigned lcore;   /* of the engine, that owns it */
	uint16_t port_id; /* of its device */
	struct uroce_qp_attr attr;
	struct uroce_qp_error error; /* status UROCE_WC_SUCCESS: nothing has failed since RESET */
	uint32_t sends, receives;    /* posted, and not completed or taken; of an SRQ's receives 0 */
	uint32_t acked_psn;          /* the peer has acknowledged all requests before it */
	uint32_t sent_psn;           /* the next new packet has it */
	uint32_t expected_psn;       /* the next request of the peer has it */
	uint64_t round_trip_ns;      /* smoothed; 0: not measured yet */
	struct uroce_stats stats;    /* as uroce_qp_stats() */
};

/* A port. */
struct uroce_port_view {
	char name[64]; /* EAL's */
	bool link_up;
	unsigned queue_count, first_lcore;
	uint32_t regions; /* memory regions and windows in use */
	uint32_t qps;     /* of the device */
	struct uroce_device_info info;
	struct uroce_stats stats;
};

/* A memory region, or a bound window. Its key is not told: who knows it may use it. */
struct uroce_mr_view {
	uint64_t addr, bytes; /* as peers say them: from 0 where the region is zero-based */
	uint32_t access;      /* enum uroce_access */
	uint32_t domain;      /* regions and queue pairs of one number belong together */
	uint32_t windows;     /* bound to this region */
	bool is_window;
};

/* How busy an lcore is. */
struct uroce_lcore_view {
	unsigned lcore_id; /* EAL's; UINT_MAX when the application polls it */
	uint64_t since_ns; /* since it was made */
	uint64_t busy_ns;  /* spent in polls that found something to do */
	/* its thread waited for a core that others had, since that thread began; 0: the kernel does not say */
	uint64_t starved_ns;
	uint32_t qps;
};

/*
 * QP numbers, at most `count` of them, into qp_nums. *place says where to go on: 0 to begin with. Returns how many;
 * fewer than count: those were the last.
 */
UROCE_API uint32_t uroce_inspect_qps(const struct uroce_engine *engine, uint32_t *place, uint32_t *qp_nums,
				     uint32_t count);
/* 0; -ENOENT: there is none of this number; -ETIMEDOUT: its lcore does not poll. */
UROCE_API int uroce_inspect_qp(struct uroce_engine *engine, uint32_t qp_num, struct uroce_qp_view *view);

/* So many of the queue pairs of an lcore that failed are kept in mind. */
#define UROCE_INSPECT_FAILED_MAX 256
/*
 * The queue pairs of an lcore that went to ERR by themselves, as they were then, one a call and the oldest first; they
 * may be gone. *place says where to go on: 0 to begin with. true: *view is the next one. Who comes late finds the last
 * UROCE_INSPECT_FAILED_MAX.
 */
UROCE_API bool uroce_inspect_failed(const struct uroce_engine *engine, unsigned lcore, uint32_t *place,
				    struct uroce_qp_view *view);

/*
 * Why a queue pair is in ERR, or that nothing has failed, in a sentence as uroce_wc_explain() says it. Returns out,
 * cut to fit.
 */
UROCE_API char *uroce_qp_explain(const struct uroce_qp_view *view, char *out, size_t out_bytes);

#define UROCE_WHY_BYTES 2048
/*
 * The same of a queue pair by its number, which may have failed and be gone, with all that is seen beside it and may be
 * the cause: the link of its port, what that drops, what is sent again, receives that lack, a core that its lcore does
 * not get. One that works is looked at twice, 0.3 s apart: not by a thread that polls. UROCE_WHY_BYTES suffice, more is
 * cut. 0; -ENOENT: there is none of this number; -ETIMEDOUT: its lcore does not poll.
 */
UROCE_API int uroce_qp_why(struct uroce_engine *engine, uint32_t qp_num, char *out, size_t out_bytes);

/* Ethdev ports with a device, at most `count` of them; returns how many were found on lcores that poll. */
UROCE_API uint32_t uroce_inspect_ports(struct uroce_engine *engine, uint16_t *port_ids, uint32_t count);
/* 0; -ENOENT: this port has no device of the engine; -ETIMEDOUT: an lcore does not poll. */
UROCE_API int uroce_inspect_port(struct uroce_engine *engine, uint16_t port_id, struct uroce_port_view *view);

/*
 * Memory regions and bound windows of a port's device, at most `count` of them, into views. *place says where to go on:
 * 0 to begin with. Returns how many; fewer than count: those were the last; or -ENOENT, -ETIMEDOUT as above.
 */
UROCE_API int uroce_inspect_mrs(struct uroce_engine *engine, uint16_t port_id, uint32_t *place,
				struct uroce_mr_view *views, uint32_t count);

/* 0; -ENOENT: the engine has fewer lcores; -ETIMEDOUT: it does not poll. */
UROCE_API int uroce_inspect_lcore(struct uroce_engine *engine, unsigned lcore, struct uroce_lcore_view *view);

#ifdef __cplusplus
}
#endif
#endif
