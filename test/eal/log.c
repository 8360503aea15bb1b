/* log.c - what the library says: why a call was refused, and what happens, to whoever listens */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network.h"
#include "start.h"

TestSuite(log, .init = test_eal_start, .timeout = 60);

static struct {
	char text[4096]; /* every line, its level in front */
	int context;
} heard;

static void hear(void *context, enum uroce_log_level level, const char *text)
{
	size_t at = strlen(heard.text);

	cr_assert_eq(context, &heard.context);
	cr_assert_null(strchr(text, '\n'));
	snprintf(heard.text + at, sizeof(heard.text) - at, "%d %s\n", (int)level, text);
}

static void expect_heard(const char *words)
{
	cr_expect_not_null(strstr(heard.text, words), "no '%s' in:\n%s", words, heard.text);
}

#define EXPECT_REFUSED(call, words)                                                                                 \
	do {                                                                                                        \
		cr_expect_eq(call, -EINVAL, "%s", #call);                                                           \
		cr_expect_not_null(strstr(uroce_last_error(), words), "'%s', not '%s'", uroce_last_error(), words); \
	} while (0)

/* Each thing that a path may be refused for is named with its value. */
static void expect_path_refused(struct network *network)
{
	struct uroce_qp *qp = network->ends[0].qp;
	struct uroce_qp_attr attr = { .dest_qp_num = 77, .path_mtu = 4096 };

	attr.path = (struct uroce_path){ .source = network_address("10.0.0.9"), .dest = network_address("10.0.0.2") };
	EXPECT_REFUSED(uroce_qp_connect(qp, &attr, NULL), "PATH: source 10.0.0.9 is not an address of port ");
	attr.path = (struct uroce_path){ .source = network_address("10.0.0.1"), .dest = network_address("fe80::2") };
	EXPECT_REFUSED(uroce_qp_connect(qp, &attr, NULL), "from 10.0.0.1 to fe80::2");
}

Test(log, refusal_names_field_value_and_range)
{
	static struct network network;
	struct uroce_qp_init_attr init = { .max_send_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 };
	struct uroce_device_config device = { .addr_count = 9 };
	struct uroce_engine_config config = { .max_qps = UINT32_MAX };
	struct uroce_engine *engine;
	struct uroce_device *none;
	struct uroce_srq *srq;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
	struct end *end = &network.ends[0];

	cr_expect_str_eq(uroce_last_error(), "");
	network_open(&network, 1);
	network_create_qp(&network, 0, 16, -1);
	EXPECT_REFUSED(uroce_engine_create(&config, &engine), "max_qps 4294967295: 1 ... ");
	EXPECT_REFUSED(uroce_device_create(network.engine, &device, &none), "addr_count 9: 1 ... 8");
	device.addr_count = 1;
	EXPECT_REFUSED(uroce_device_create(network.engine, &device, &none), "pool NULL");
	device.gateways[0] = network_address("10.0.0.1");
	EXPECT_REFUSED(uroce_device_create(network.engine, &device, &none), "gateway 10.0.0.1, VLAN 0:0 of address ");
	EXPECT_REFUSED(uroce_cq_create(end->device, 0, &cq), "depth 0: 1 ... 1048576");
	EXPECT_REFUSED(uroce_mr_reg(end->pd, NULL, 8, 0, &mr), "addr");
	EXPECT_REFUSED(uroce_srq_create(end->pd, &(struct uroce_srq_attr){ .max_wr = 1, .max_sge = 17 }, &srq),
		       "max_sge 17: 1 ... 16");
	EXPECT_REFUSED(uroce_qp_create(end->pd, &init, &qp), "send_cq: NULL");
	init.send_cq = init.recv_cq = end->cq;
	init.max_send_sge = 0;
	EXPECT_REFUSED(uroce_qp_create(end->pd, &init, &qp), "max_send_sge 0: 1 ... 16");
	init.max_send_sge = 1;
	cr_assert_eq(uroce_engine_create(&(struct uroce_engine_config){ 0 }, &engine), 0);
	init.lcore = uroce_engine_lcore(engine, 0);
	EXPECT_REFUSED(uroce_qp_create(end->pd, &init, &qp), "lcore 0: it does not serve the device");
	cr_assert_eq(uroce_engine_destroy(engine), 0);
	EXPECT_REFUSED(uroce_qp_modify(end->qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_RTS }, UROCE_QP_STATE,
				       NULL),
		       "STATE");
	expect_path_refused(&network);
	network_close(&network);
}

/* Both ends of a connection learn which value to lower, and to what. */
Test(log, refused_path_mtu_is_named_with_the_port_limit)
{
	static struct network network;
	struct uroce_qp_attr attr = { .dest_qp_num = 77, .path_mtu = 4096 };

	network_mtu_bytes = 1024;
	network_open(&network, 1);
	network_create_qp(&network, 0, 16, -1);
	attr.path = (struct uroce_path){ .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.2") };
	EXPECT_REFUSED(uroce_qp_connect(network.ends[0].qp, &attr, NULL), "PATH: path MTU 4096: port ");
	EXPECT_REFUSED(uroce_qp_connect(network.ends[0].qp, &attr, NULL), "supports up to 1024");
	network_close(&network);
}

Test(log, log_callback_receives_events_until_it_is_removed)
{
	static struct network network;

	uroce_log_set(hear, &heard.context);
	network_open(&network, 1);
	expect_heard("2 port net_ring_uroce_loop_0: device created, 1 queues, path MTU up to 4096\n");
	EXPECT_REFUSED(uroce_cq_create(network.ends[0].device, 0, &network.ends[0].cq), "depth");
	expect_heard("2 refused: depth 0");
	network_create_qp(&network, 0, 2, -1);
	network_create_qp(&network, 1, 16, -1);
	network_connect(&network, false);
	for (int i = 0; i < 8; i++)
		network_post(&network, UROCE_WR_RDMA_WRITE, 8);
	network_event(&network, 0, UROCE_EVENT_CQ_ERR);
	expect_heard("port 0, QP 0x000000: CQ_ERR\n");
	expect_heard("0 port 0: the CQ with a depth of ");
	expect_heard(") overflowed: its QPs fail");
	expect_heard("0 port ");
	uroce_log_set(NULL, NULL);
	heard.text[0] = '\0';
	while (uroce_cq_poll(network.ends[0].cq, 1, &(struct uroce_wc){ 0 }))
		;
	network_close_ends(&network);
	cr_expect_str_eq(heard.text, "");
}
