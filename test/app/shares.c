/* shares.c - what one address takes of the target's pools leaves enough to another one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared_pool.h"

#include "bad_host.h"
#include "nvmet/data.h"
#include "start.h"

#define PEERS 2u
#define CLOSE_MS 5000u

TestSuite(shares, .init = test_eal_start, .timeout = 100);

/* ---- pools of queues ---- */

/* Queues of this depth that connect and send nothing. */
struct queues {
	struct site *site;
	uint32_t depth, count[PEERS];
	struct bad_queue *of[PEERS][BAD_QUEUES];
};

static bool connect_queue(void *context, uint32_t peer)
{
	struct queues *queues = context;
	struct bad_queue *queue;

	queues->site->address = peer;
	queue = bad_try_connect(queues->site, 1, queues->depth);
	if (queue)
		queues->of[peer][queues->count[peer]++] = queue;
	return queue != NULL;
}

static void close_queue(void *context, uint32_t peer)
{
	struct queues *queues = context;
	uint32_t left = server_queue_count(&queues->site->server) - 1;

	bad_close(queues->of[peer][--queues->count[peer]]);
	for (unsigned i = 0; i < CLOSE_MS && server_queue_count(&queues->site->server) > left; i++)
		site_poll_for(queues->site, 1);
	cr_assert_eq(server_queue_count(&queues->site->server), left);
}

static void check_queues(struct site *site, uint32_t depth, uint32_t least)
{
	struct queues queues = { .site = site, .depth = depth };

	shared_pool_check(&(struct shared_pool){
		.context = &queues, .take = connect_queue, .give = close_queue, .least = least });
	for (uint32_t i = 0; i < site->server.lane_count; i++)
		cr_expect_eq(site->server.lanes[i].queue_places.used, 0);
	site_close(site);
}

/* A connection request takes completion entries and keeps them until its host must have sent the Connect command. */
Test(shares, connecting_host_leaves_completion_entries_for_others)
{
	check_queues(site_open(), 1024, 12); /* the CQ has entries for 51 */
}

Test(shares, connecting_host_leaves_queues_for_others)
{
	struct site *site = site_open();

	cr_expect_eq(site->server.lanes[0].queue_places.size, 8192);
	site->server.lanes[0].queue_places.size = 32;
	check_queues(site, 2, 8);
}

Test(shares, lanes_divide_the_queues)
{
	struct site *site = site_open_lanes(3);

	for (uint32_t i = 0; i < 3; i++)
		cr_expect_eq(site->server.lanes[i].queue_places.size, 8192 / 3);
	site_close(site);
}

/* ---- buffers ---- */

#define DATA_BYTES (40u << 10)       /* in a buffer of 64 KiB */
#define BUFFERS_MAX (8u << 20 >> 16) /* of the pool */

struct buffers {
	struct queue queues[PEERS];
	struct slot slots[PEERS][BUFFERS_MAX + 1];
	uint32_t count[PEERS];
};

static bool take_buffer(void *context, uint32_t peer)
{
	struct buffers *buffers = context;
	struct slot *slot = &buffers->slots[peer][buffers->count[peer]];

	slot->queue = &buffers->queues[peer];
	slot->command.data_bytes = DATA_BYTES;
	if (!data_take(slot))
		return false;
	buffers->count[peer]++;
	return true;
}

static void return_buffer(void *context, uint32_t peer)
{
	struct buffers *buffers = context;

	data_return(&buffers->slots[peer][--buffers->count[peer]]);
}

Test(shares, commands_of_one_address_leave_buffers_for_others)
{
	static struct buffers buffers;
	struct site *site = site_open();
	struct lane *lane = &site->server.lanes[0];

	for (uint8_t i = 0; i < PEERS; i++) {
		buffers.queues[i].lane = lane;
		buffers.queues[i].peer = peer_enter(lane, &(struct uroce_addr){ .bytes = { i } });
		cr_assert_not_null(buffers.queues[i].peer);
	}
	shared_pool_check(&(struct shared_pool){
		.context = &buffers, .take = take_buffer, .give = return_buffer, .least = BUFFERS_MAX / 4 });
	for (uint8_t i = 0; i < PEERS; i++)
		peer_leave(lane, buffers.queues[i].peer);
	site_close(site);
}
