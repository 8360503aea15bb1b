/* network.h - two devices on loop ports through the public interface, and a QP on each */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. network_open(), network_create_qp() for each end, network_connect()
 *   2. network_post() on end 0, network_wait() for completions; the test's thread polls the lcores
 *   3. network_close(): everything goes back, or the test fails
 */
#ifndef TEST_EAL_NETWORK_H
#define TEST_EAL_NETWORK_H

#include <uroce/uroce.h>

#include "drivers/loop/loop.h"

#define NETWORK_BUFFER_BYTES (1u << 20)

struct end {
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	struct uroce_cq *cq;
	struct uroce_qp *qp;
	uint8_t *buffer;
	struct uroce_qp_attr attr;
};

struct network {
	struct drivers_loop loop;
	struct uroce_engine *engine;
	struct end ends[2];
	unsigned pool_free;
	uint16_t vlan_ids[2]; /* of each end's path, and the priority; 0 when opened */
	uint8_t vlan_priorities[2];
	uint8_t timeout; /* ACK timeout of the next network_connect(), 4.096 us << it; 8 when opened: 1.05 ms */
	/* its traffic class and enum uroce_cc: 0 when opened */
	uint8_t traffic_class, cc;
	_Atomic bool stop;
};

struct rte_mbuf;
struct wire_frame_template;
struct wire_packet;

/* An empty mbuf becomes the frame of a packet, as it leaves with the template: payload copied, ICRC right. */
void network_fill_frame(struct rte_mbuf *mbuf, const struct wire_frame_template *template,
			const struct wire_packet *packet);
struct uroce_addr network_address(const char *text);
/* As many queues as lcores; every right on both buffers. */
void network_open(struct network *network, unsigned lcores);
/* The next network never places a byte before its ICRC is known. */
extern bool network_checks_first;
/* And ACKs each message by itself. */
extern bool network_acks_each;
/* And its QPs send SACKs, with so many packets in flight; 0: they do not. */
extern uint16_t network_sack_window;
/* And has room for so many QPs; 0: for as many as an engine has by itself. */
extern uint32_t network_max_qps;
/* And runs on these EAL workers, one an lcore; NULL: network_poll() polls its lcores. */
extern const unsigned *network_lcore_ids;
/* And its devices take path MTUs up to this; 0: 4096. */
extern uint32_t network_mtu_bytes;
/* And a QP of this depth at each end, connected over IPv4. */
void network_open_connected(struct network *network, unsigned lcores, uint32_t depth);
/* And room for so many QPs; a CQ at end 0. */
void network_open_sized(struct network *network, uint32_t max_qps);
/* And a QP at each end, not connected. */
void network_open_ends(struct network *network);
/* As network_open(), but each end sends from a pool of its own: what one receives the other cannot send again. */
void network_open_on(struct network *network, unsigned lcores, struct rte_mempool *const pools[2]);
/* The parts of these two, for other ports than a loop's: network->engine, then each end; and closing. */
void network_open_end(struct network *network, int end, unsigned lcores, uint16_t port_id, struct rte_mempool *pool);
void network_close_end(struct network *network, int end);
void network_close_ends(struct network *network);
/* With a CQ of its own unless the end has one. lcore -1: any. */
void network_create_qp(struct network *network, int end, uint32_t cq_depth, int lcore);
void network_connect(struct network *network, bool ipv6);
/* Addresses of a second link, and the attributes that make the one of this end its alternate path. */
extern const char *const network_second_link[2];
struct uroce_qp_attr network_alternate(struct uroce_device *device, int end);
/* One poll of every lcore. */
void network_poll(struct network *network);
/* For a thread, whose argument is the network: polls until `stop`. */
void *network_poll_until_stopped(void *network);
/* Polls until the end's CQ has a completion. */
struct uroce_wc network_wait(struct network *network, int end);
/* A request of end 0 on its buffer, towards the buffer of end 1; wr_id 5, signaled. */
int network_post(struct network *network, enum uroce_wr_opcode opcode, uint32_t bytes);
uint64_t network_frames_sent(struct network *network, int end);
uint64_t network_counter(struct network *network, int end, const char *name);
/* Polls until there is an event of this end; fails when its type is another. */
struct uroce_event network_event(struct network *network, int end, uint32_t type);
void network_close(struct network *network);

#endif
