/* bad_host.h - a target and hosts of it in one process over loop ports; hosts that do what they like, queue by queue */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. site_open(): a target with the subsystems GOOD and OTHER, and a port for hosts
 *   2. bad_connect(), bad_login(), bad_join(): a queue, an admin queue with its controller, an I/O queue
 *   3. bad_send() of whatever capsules; site_poll() moves all
 *   4. site_close() expects that the target has nothing left of anyone
 */
#ifndef TEST_BAD_HOST_H
#define TEST_BAD_HOST_H

#include "nvmeperf/host.h"
#include "nvmet/disk.h"

#define GOOD_NQN "nqn.2026-01.org.example:good"
#define OTHER_NQN "nqn.2026-01.org.example:other"
#define BAD_HOST_NQN "nqn.2026-01.org.example:bad-host"
#define GOOD_HOST_NQN "nqn.2026-01.org.example:good-host"
#define BAD_DATA_BYTES (1u << 20)
#define BAD_QUEUES 64u
#define BAD_ADDRESSES 3u

struct bad_queue {
	struct site *site;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;
	uint32_t depth, sent, answers;
	uint8_t *responses;
	uint8_t last[NVME_CQE_BYTES]; /* the newest answer */
	enum uroce_wc_status failed;  /* the first that did not end well */
	bool established, over, deaf; /* deaf: what is received is not posted again */
};

struct site {
	struct server server;
	struct disks disks;
	struct nvmf_subsystem *subsystems[2];
	struct disk *good, *other; /* nsid 1 of GOOD, which is null and needs buffers, and of OTHER: memory */
	struct uroce_port *port;   /* of all hosts */
	uint32_t path_mtu;         /* of queues that come; 0: the largest */
	uint32_t address;          /* from which of BAD_ADDRESSES of it hosts connect that do what they like */
	struct uroce_lcore *lcore; /* of their queue pairs, and so of the target's; as uroce_qp_init_attr has it */
	struct uroce_cm_channel *channel;
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	uint64_t polls;
	uint8_t *memory; /* BAD_DATA_BYTES, for capsules behind that, for responses behind those */
	struct bad_queue queues[BAD_QUEUES];
	uint16_t cntlid;
};

struct site *site_open(void);
/* So many lcores serve; the thread that polls polls them all. */
struct site *site_open_lanes(uint32_t lanes);
void site_close(struct site *site);
void site_poll(void *site);
void site_poll_for(struct site *site, unsigned ms);

/*
 * A host that behaves: reads and writes of GOOD or OTHER for so long, and expects each to end well. Returns how long
 * the slowest of those took that lasted SITE_SLOW_POLLS polls or more, in milliseconds: a machine that is slow or busy
 * polls less often in the same time.
 */
#define SITE_SLOW_POLLS 1000u
double site_good_work(struct site *site, const char *nqn, unsigned ms);

/* receives: posted, and posted again when they are used. Expects that it is accepted. */
struct bad_queue *bad_connect(struct site *site, uint16_t qid, uint32_t depth, uint32_t receives);
/* The same with one receive. NULL: it is refused. */
struct bad_queue *bad_try_connect(struct site *site, uint16_t qid, uint32_t depth);
/* Connect of an admin queue (cntlid NVME_CNTLID_ANY) or of an I/O queue; its status. */
uint16_t bad_login(struct bad_queue *queue, uint16_t qid, uint16_t cntlid, const char *nqn, const char *host_nqn);
/* An admin queue whose controller is ready, and an I/O queue with so many receives, none of which comes again if it is
 * deaf from then on. */
struct bad_queue *bad_join(struct site *site, uint32_t depth, bool deaf);
/* Of nsid 1; the data are the site's memory. */
void bad_fill(struct site *site, uint8_t *sqe, uint8_t opcode, uint64_t first, uint32_t count, uint32_t bytes);
/* false: the queue is over, or is full. */
bool bad_send(struct bad_queue *queue, const uint8_t *capsule, uint32_t bytes);
/* The status of the answer; expects one. */
uint16_t bad_ask(struct bad_queue *queue, const uint8_t *sqe);
/* Its place is free for another one. */
void bad_close(struct bad_queue *queue);
/* No disconnect, no answer to anything any more. */
void bad_vanish(struct bad_queue *queue);

#endif
