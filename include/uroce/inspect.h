/* inspect.h - views of a running engine: its QPs, devices, memory regions and lcores, and what these are doing */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For statistics, telemetry and prompts. A view is a copy, and its object may be gone when you read the view.
 *
 * Threads: any thread may call at any time while the engine exists; QPs, devices and regions may come and go meanwhile.
 * A call waits for an lcore for one second, then it returns -ETIMEDOUT: the lcore is not polled.
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
	struct uroce_qp_error error; /* status UROCE_WC_SUCCESS: no failure since RESET */
	uint32_t sends, receives;    /* sends not completed, receives not taken; receives is 0 with an SRQ */
	uint32_t acked_psn;          /* the oldest PSN that the peer has not acknowledged */
	uint32_t sent_psn;           /* PSN of the next new packet */
	uint32_t expected_psn;       /* PSN of the peer's next request */
	uint64_t round_trip_ns;      /* smoothed; 0: not measured yet */
	uint8_t finding;             /* enum uroce_finding: of a QP in RTS that has spent retries and may yet fail */
	struct uroce_stats stats;    /* as uroce_qp_stats() */
	/*
	 * The last report of a SACK peer that its lcore was away: for how long, and how long ago the report arrived. 0:
	 * there was no report. It is a hint of the peer, and can be forged.
	 */
	uint64_t peer_away_ns, peer_away_age_ns;
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

/* A memory region, or a bound window. Its key is not shown, because whoever knows the key may use it. */
struct uroce_mr_view {
	uint64_t addr, bytes; /* address as peers name it: from 0 in a zero-based region; length */
	uint32_t access;      /* enum uroce_access */
	uint32_t domain;      /* regions and windows with the same number are of one protection domain */
	uint32_t windows;     /* how many windows are bound to the region */
	bool is_window;
};

/* How busy an lcore is. */
struct uroce_lcore_view {
	unsigned lcore_id; /* EAL's number of the lcore; UINT_MAX when the application polls it */
	uint64_t since_ns; /* since it was made */
	uint64_t busy_ns;  /* time spent in polls that found something to do */
	/* how long the lcore's thread was ready to run but had no core; 0: the kernel does not tell */
	uint64_t starved_ns;
	/*
	 * How often the lcore was away, and for how long together: its thread had no core, or was stopped, for 0.1 s or
	 * more although it had QPs that are connected. Sleeps of an application that polls the lcore do not count.
	 */
	uint64_t away_count, away_ns;
	uint32_t qps;
};

/*
 * Writes at most `count` QP numbers to qp_nums. Set *next to 0 before the first call; each call sets it to where the
 * next call goes on. Returns how many numbers were written; if fewer than count, there are no more.
 */
UROCE_API uint32_t uroce_inspect_qps(const struct uroce_engine *engine, uint32_t *next, uint32_t *qp_nums,
				     uint32_t count);
/* Returns 0; -ENOENT: no QP has this number; -ETIMEDOUT: its lcore is not polled. */
UROCE_API int uroce_inspect_qp(struct uroce_engine *engine, uint32_t qp_num, struct uroce_qp_view *view);

/* How many failures of queue pairs are kept for each lcore. */
#define UROCE_INSPECT_FAILED_MAX 256
/*
 * Each call returns one of the queue pairs of an lcore that went to ERR by themselves, in the order of their failures.
 * A view shows the queue pair as it was when it failed; the queue pair may be gone by now. Set *next to 0 before the
 * first call; each call sets it to where the next call goes on. Returns true with the view in *view, or false if there
 * are no more. Only the last UROCE_INSPECT_FAILED_MAX are kept.
 */
UROCE_API bool uroce_inspect_failed(const struct uroce_engine *engine, unsigned lcore, uint32_t *next,
				    struct uroce_qp_view *view);

/*
 * Explains why a queue pair is in ERR, or that nothing has failed, in a sentence like those of uroce_wc_explain().
 * Returns out, cut to fit.
 */
UROCE_API char *uroce_qp_explain(const struct uroce_qp_view *view, char *out, size_t out_bytes);

#define UROCE_WHY_BYTES 2048
/*
 * Explains a queue pair by its number, even if it has failed and is gone, with anything around it that may be the
 * cause: the link of its port, frames dropped there, resent packets, missing receives, a core that its lcore does not
 * get. A queue pair that works is looked at twice, 0.3 s apart, so do not call it on a thread that polls.
 * UROCE_WHY_BYTES suffice; the text is cut to fit. Returns 0; -ENOENT: no queue pair with this number exists or has
 * failed; -ETIMEDOUT: its lcore is not polled.
 */
UROCE_API int uroce_qp_why(struct uroce_engine *engine, uint32_t qp_num, char *out, size_t out_bytes);

/*
 * Finds the ethdev ports with a device, at most `count`, and returns how many it has found. It asks one lcore after the
 * other, and stops at the first lcore that is not polled, because each such lcore would keep the caller for a second.
 */
UROCE_API uint32_t uroce_inspect_ports(struct uroce_engine *engine, uint16_t *port_ids, uint32_t count);
/* Returns 0; -ENOENT: this port has no device of the engine; -ETIMEDOUT: an lcore is not polled. */
UROCE_API int uroce_inspect_port(struct uroce_engine *engine, uint16_t port_id, struct uroce_port_view *view);

/*
 * Writes at most `count` memory regions and bound windows of a port's device to views. Set *next to 0 before the first
 * call; each call sets it to where the next call goes on. Returns how many were written; if fewer than count, there are
 * no more. Returns -ENOENT or -ETIMEDOUT as uroce_inspect_port().
 */
UROCE_API int uroce_inspect_mrs(struct uroce_engine *engine, uint16_t port_id, uint32_t *next,
				struct uroce_mr_view *views, uint32_t count);

/* Returns 0; -ENOENT: the engine has fewer lcores; -ETIMEDOUT: the lcore is not polled. */
UROCE_API int uroce_inspect_lcore(struct uroce_engine *engine, unsigned lcore, struct uroce_lcore_view *view);

#ifdef __cplusplus
}
#endif
#endif
