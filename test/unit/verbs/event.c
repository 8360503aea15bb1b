/* event.c - events reach the context of their object, and no other object */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/event.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/ops.h"

#define SOON_MS 30000

/* An event as libibverbs reads it. */
struct entry {
	uint64_t element;
	uint32_t type, reserved;
};

/* ---- a device that raises what the test says ---- */

static int raised_fd = -1;
static struct uroce_event raised[4];
static _Atomic uint32_t raised_count, taken_count;

int uroce_event_fd(struct uroce_device *device)
{
	(void)device;
	return raised_fd;
}

bool uroce_event_poll(struct uroce_device *device, struct uroce_event *event)
{
	uint32_t taken = taken_count;

	(void)device;
	if (taken == raised_count)
		return false;
	*event = raised[taken % 4];
	taken_count = taken + 1;
	return true;
}

static void raise_event(enum uroce_event_type type, uint64_t context)
{
	raised[raised_count % 4] = (struct uroce_event){ .type = (uint32_t)type, .qp_context = context };
	raised_count++;
	cr_assert_eq(eventfd_write(raised_fd, 1), 0);
}

static struct verb_context *open_context(void)
{
	static struct stack stack;
	static struct verb_context context = { .stack = &stack };

	raised_fd = eventfd(0, EFD_NONBLOCK);
	cr_assert_eq(verb_open(&context), 0);
	return &context;
}

static void expect_read(const struct verb_context *context, const void *object, uint32_t type)
{
	struct pollfd waiting = { .fd = context->verbs.context.async_fd, .events = POLLIN };
	struct entry entry;

	cr_assert_eq(poll(&waiting, 1, SOON_MS), 1, "no event came");
	cr_assert_eq(read(waiting.fd, &entry, sizeof(entry)), (ssize_t)sizeof(entry));
	cr_expect_eq(entry.element, (uintptr_t)object);
	cr_expect_eq(entry.type, type, "%u", entry.type);
}

Test(event, event_of_a_destroyed_qp_does_not_reach_a_new_qp)
{
	struct verb_context *context = open_context();
	struct verb_qp qp = { .ibv.qp_base.context = &context->verbs.context, .number = verb_event_draw() };
	uint64_t before = qp.number;

	verb_event_add(VERB_QP, &qp);
	raise_event(UROCE_EVENT_COMM_EST, qp.number);
	expect_read(context, &qp, IBV_EVENT_COMM_EST);
	verb_event_remove(VERB_QP, &qp);
	qp = (struct verb_qp){ .ibv.qp_base.context = &context->verbs.context, .number = verb_event_draw() };
	verb_event_add(VERB_QP, &qp);
	raise_event(UROCE_EVENT_QP_ACCESS_ERR, before);
	raise_event(UROCE_EVENT_COMM_EST, qp.number);
	expect_read(context, &qp, IBV_EVENT_COMM_EST);
	verb_event_remove(VERB_QP, &qp);
}

Test(event, event_of_a_destroyed_cq_or_srq_does_not_reach_a_new_one)
{
	struct verb_context *context = open_context();
	struct verb_cq cq = { .ibv.context = &context->verbs.context, .number = verb_event_draw() };
	struct verb_srq srq = { .ibv.context = &context->verbs.context, .number = verb_event_draw() };

	verb_event_add(VERB_CQ, &cq);
	verb_event_add(VERB_SRQ, &srq);
	raise_event(UROCE_EVENT_CQ_ERR, srq.number);
	raise_event(UROCE_EVENT_SRQ_LIMIT_REACHED, cq.number);
	raise_event(UROCE_EVENT_CQ_ERR, cq.number);
	expect_read(context, &cq, IBV_EVENT_CQ_ERR);
	verb_event_remove(VERB_CQ, &cq);
	verb_event_remove(VERB_SRQ, &srq);
	cq.number = verb_event_draw();
	srq.number = verb_event_draw();
	verb_event_add(VERB_CQ, &cq);
	verb_event_add(VERB_SRQ, &srq);
	raise_event(UROCE_EVENT_CQ_ERR, cq.number - 2);
	raise_event(UROCE_EVENT_SRQ_LIMIT_REACHED, srq.number - 2);
	raise_event(UROCE_EVENT_SRQ_LIMIT_REACHED, srq.number);
	expect_read(context, &srq, IBV_EVENT_SRQ_LIMIT_REACHED);
	verb_event_remove(VERB_CQ, &cq);
	verb_event_remove(VERB_SRQ, &srq);
}
