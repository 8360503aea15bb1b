/* refused.c - what the provider does not do is refused with EOPNOTSUPP, and no bit of its capabilities promises it */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-refused. A line for each; exit 1: one was not refused so. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static bool failed;

/* Calls that make something return NULL with errno, others errno itself. */
static void expect(const char *what, bool good)
{
	printf("%s: %s\n", what, good ? "as it should be" : "WRONG");
	failed |= !good;
}

static void expect_none(const char *what, const void *made)
{
	expect(what, made == NULL && errno == EOPNOTSUPP);
}

static struct ibv_srq *create_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };

	return ibv_create_srq(pd, &init);
}

static struct ibv_qp *create_qp(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	errno = 0;
	return ibv_create_qp(pd, &init);
}

static void try_srq(void)
{
	struct ibv_srq *srq = create_srq();
	struct ibv_srq_attr attr = { .max_wr = 32, .srq_limit = 4 };
	struct ibv_recv_wr *bad, wr = { .num_sge = 0 };
	int posted = 0;

	expect("another size of a shared receive queue", ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EOPNOTSUPP);
	expect("size and limit at once", ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == EOPNOTSUPP);
	expect("neither was taken",
	       ibv_query_srq(srq, &attr) == 0 && attr.max_wr == 16 && attr.max_sge == 1 && attr.srq_limit == 0);
	while (posted < 8 && ibv_post_srq_recv(srq, &wr, &bad) == 0)
		posted++; /* with fewer than the limit its event would come at once, and disarm it */
	attr.srq_limit = 4;
	expect("its limit alone is taken",
	       ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0 && ibv_query_srq(srq, &attr) == 0 && attr.srq_limit == 4);
	expect("it is destroyed", ibv_destroy_srq(srq) == 0);
}

static void try_capabilities(void)
{
	const unsigned absent = IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_UD_IP_CSUM | IBV_DEVICE_RC_IP_CSUM |
				IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_AUTO_PATH_MIG |
				IBV_DEVICE_UD_AV_PORT_ENFORCE;
	struct ibv_device_attr attr;

	expect("no capability promises it", ibv_query_device(context, &attr) == 0 && !(attr.device_cap_flags & absent));
	expect("no groups of multicast are promised", attr.max_mcast_grp == 0 && attr.max_mcast_qp_attach == 0);
	expect("no queue pairs for raw packets are promised", attr.max_raw_ipv6_qp == 0 && attr.max_raw_ethy_qp == 0);
}

/* As many as the device promises, and not one more. */
static void try_many(void)
{
	struct ibv_device_attr attr = { .max_qp = 0 };
	struct ibv_qp **qps;
	bool good = true;
	int count = 0;

	ibv_query_device(context, &attr);
	qps = calloc((size_t)attr.max_qp + 1, sizeof(*qps));
	while (qps && count <= attr.max_qp && (qps[count] = create_qp(IBV_QPT_RC, NULL)) != NULL)
		count++;
	printf("%d queue pairs of %d\n", count, attr.max_qp);
	expect("one queue pair more than max_qp says", count == attr.max_qp && errno == ENOMEM);
	while (count > 0)
		good &= ibv_destroy_qp(qps[--count]) == 0;
	expect("they are destroyed", good);
	free(qps);
}

static void try_multicast(void)
{
	struct ibv_qp *qp = create_qp(IBV_QPT_UD, NULL);
	union ibv_gid group = { .raw = { 0xff, 0x0e } };

	expect("multicast", qp && ibv_attach_mcast(qp, &group, 0) == EOPNOTSUPP);
	expect("the queue pair is destroyed", qp && ibv_destroy_qp(qp) == 0);
}

static struct ibv_ece ece_of(uint32_t vendor, uint32_t options, uint32_t mask)
{
	return (struct ibv_ece){ .vendor_id = vendor, .options = options, .comp_mask = mask };
}

/* What two ends may agree on beyond RC: only as it is offered, and only before the queue pair has a peer. */
static void try_ece(void)
{
	struct ibv_qp *qp = create_qp(IBV_QPT_RC, NULL), *datagrams = create_qp(IBV_QPT_UD, NULL);
	struct ibv_ece offered, foreign, two, unknown, masked, less, agreed;
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 }, error = { .qp_state = IBV_QPS_ERR };
	const int init_mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;

	if (qp == NULL || datagrams == NULL || ibv_query_ece(qp, &offered) != 0) {
		expect("there is something to agree on", false);
		return;
	}
	foreign = ece_of(offered.vendor_id + 1, offered.options, 0);
	two = ece_of(offered.vendor_id, offered.options | 0x600, 0);
	unknown = ece_of(offered.vendor_id, offered.options | 0x4, 0);
	masked = ece_of(offered.vendor_id, offered.options, 1);
	less = ece_of(offered.vendor_id, 0, 0);
	expect("another vendor's options", ibv_set_ece(qp, &foreign) == EINVAL);
	expect("two windows at once", ibv_set_ece(qp, &two) == EINVAL);
	expect("an option that is not known", ibv_set_ece(qp, &unknown) == EINVAL);
	expect("fields that are not known", ibv_set_ece(qp, &masked) == EINVAL);
	expect("nothing of it was taken", ibv_query_ece(qp, &agreed) == 0 && agreed.options == offered.options);
	expect("less than is offered is taken",
	       ibv_set_ece(qp, &less) == 0 && ibv_query_ece(qp, &agreed) == 0 && agreed.options == 0);
	expect("options of a queue pair in INIT",
	       ibv_modify_qp(qp, &init, init_mask) == 0 && ibv_set_ece(qp, &offered) == 0);
	expect("options of a queue pair in ERR",
	       ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0 && ibv_set_ece(qp, &offered) == EINVAL);
	expect("options of datagrams", ibv_set_ece(datagrams, &offered) == EOPNOTSUPP);
	expect("both are destroyed", ibv_destroy_qp(qp) == 0 && ibv_destroy_qp(datagrams) == 0);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1 };
	struct ibv_alloc_dm_attr memory = { .length = 4096 };

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = context ? ibv_alloc_pd(context) : NULL;
	cq = pd ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
	if (cq == NULL) {
		printf("no device: %m\n");
		return 1;
	}
	expect_none("a queue pair of type UC", create_qp(IBV_QPT_UC, NULL));
	expect_none("a queue pair for raw packets", create_qp(IBV_QPT_RAW_PACKET, NULL));
	expect_none("a domain of XRC", ibv_open_xrcd(context, &domain));
	expect_none("device memory", ibv_alloc_dm(context, &memory));
	expect_none("a region that is paged on demand",
		    ibv_reg_mr(pd, list, 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
	try_multicast();
	try_srq();
	try_capabilities();
	try_ece();
	try_many();
	return failed;
}
