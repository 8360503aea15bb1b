/* loop.c - two ports back to back: what goes in comes out, and everything is given back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/loop/loop.h"
#include "start.h"

TestSuite(loop, .init = test_eal_start);

static void expect_passes(const struct drivers_loop *loop, unsigned from, uint16_t queue)
{
	struct rte_mbuf *burst[32];

	for (uint32_t i = 0; i < 32; i++)
		burst[i] = test_frame_create(loop->pool, i, i % 2 ? 64 : 4224);
	cr_assert_eq(rte_eth_tx_burst(loop->ports[from].port_id, queue, burst, 32), 32);
	cr_assert_eq(rte_eth_rx_burst(loop->ports[!from].port_id, queue, burst, 32), 32);
	for (uint32_t i = 0; i < 32; i++) {
		cr_expect_eq(test_frame_number(burst[i]), i);
		cr_expect_eq(rte_pktmbuf_pkt_len(burst[i]), i % 2 ? 64 : 4224);
		rte_pktmbuf_free(burst[i]);
	}
	cr_expect_eq(rte_eth_rx_burst(loop->ports[from].port_id, queue, burst, 32), 0, "nobody hears himself");
}

Test(loop, frames_pass_in_both_directions_on_every_queue)
{
	struct drivers_loop_config config = { .queue_count = 2 };
	struct drivers_ethdev_stats stats;
	struct uroce_error error;
	struct drivers_loop loop;
	double speed;

	cr_assert_eq(drivers_loop_open(&config, &loop, &error), 0, "%s", error.text);
	for (uint16_t queue = 0; queue < 2; queue++) {
		expect_passes(&loop, 0, queue);
		expect_passes(&loop, 1, queue);
	}
	cr_expect(drivers_ethdev_link_is_up(&loop.ports[0], 0, &speed));
	cr_expect_str_eq(loop.ports[0].driver, "net_ring");
	cr_expect_not(loop.ports[0].has_own_mac);
	cr_expect_not(loop.ports[0].rx_checksums_done);
	cr_expect_eq(drivers_ethdev_stats(&loop.ports[0], &stats), 0);
	cr_expect_eq(stats.tx_frames, 64);
	cr_expect_eq(stats.rx_frames, 64);
	cr_expect_eq(drivers_loop_close(&loop), 0);
}

Test(loop, frames_in_flight_are_given_back_and_the_name_is_free_again)
{
	struct drivers_loop_config config = { .ring_entries = 64 };
	struct uroce_error error;
	struct drivers_loop loop;
	struct rte_mbuf *frame;

	for (unsigned round = 0; round < 3; round++) {
		cr_assert_eq(drivers_loop_open(&config, &loop, &error), 0, "%s", error.text);
		for (unsigned i = 0; i < 20; i++) {
			frame = test_frame_create(loop.pool, i, 64);
			cr_assert_eq(rte_eth_tx_burst(loop.ports[i % 2].port_id, 0, &frame, 1), 1);
		}
		cr_expect_eq(drivers_loop_close(&loop), 0);
	}
}

Test(loop, pool_lives_while_a_frame_is_held)
{
	struct drivers_loop_config config = { 0 };
	struct uroce_error error;
	struct drivers_loop loop;
	struct rte_mbuf *frame;
	struct rte_mempool *pool;

	cr_assert_eq(drivers_loop_open(&config, &loop, &error), 0, "%s", error.text);
	pool = loop.pool;
	frame = test_frame_create(pool, 7, 64);
	cr_expect_eq(drivers_loop_close(&loop), 1);
	rte_pktmbuf_free(frame);
	cr_expect_eq(drivers_ethdev_pool_destroy(pool), 0);
}

Test(loop, refusals_name_the_value)
{
	static const struct {
		struct drivers_loop_config config;
		int code;
		const char *word;
	} rows[] = {
		{ { .queue_count = 65 }, -EINVAL, "65" },
		{ { .ring_entries = 100 }, -EINVAL, "100" },
		{ { .name = "a_name_that_is_too_long" }, -EINVAL, "a_name_that_is_too_long" },
		{ { .mbuf_count = 100000000 }, -ENOMEM, "100000000" },
	};
	struct drivers_ethdev_config wanted = { .name = "net_tap7" };
	struct drivers_ethdev port;
	struct uroce_error error;
	struct drivers_loop loop;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		error.text[0] = '\0';
		cr_expect_eq(drivers_loop_open(&rows[i].config, &loop, &error), rows[i].code, "%s", rows[i].word);
		cr_expect_not_null(strstr(error.text, rows[i].word), "%s: %s", rows[i].word, error.text);
	}
	cr_expect_eq(drivers_ethdev_open(&wanted, &port, &error), -ENODEV);
	cr_expect_not_null(strstr(error.text, "net_tap7"));
	cr_expect_eq(rte_eth_dev_count_avail(), 0, "nothing is left behind");
}
