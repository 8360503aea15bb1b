/* captured_flows.c - of each flow its last frames are kept, in bounded memory */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "drivers/capture/flows.h"
#include "network.h"
#include "rule.h"

/* A frame to a QPN at 10.0.0.`host`, or at fe80::`host` behind a tag, with psn in its BTH. */
struct made_frame {
	struct rte_mbuf mbuf;
	uint8_t data[200];
};

static void make_frame(struct made_frame *frame, uint32_t qp_num, uint8_t host, bool ipv6, uint32_t psn)
{
	uint8_t *ip = frame->data + (ipv6 ? 18 : 14), *udp = ip + (ipv6 ? 40 : 20), *bth = udp + 8;

	memset(frame, 0, sizeof(*frame));
	if (ipv6) {
		memcpy(frame->data + 12, "\x81\x00\x00\x05\x86\xDD\x60", 7);
		ip[6] = 17;
		memcpy(ip + 24, "\xFE\x80", 2);
		ip[39] = host;
	} else {
		memcpy(frame->data + 12, "\x08\x00\x45", 3);
		ip[9] = 17;
		memcpy(ip + 16, "\x0A\x00\x00", 3);
		ip[19] = host;
	}
	memcpy(udp + 2, "\x12\xB7", 2);
	for (int i = 0; i < 3; i++) {
		bth[5 + i] = (uint8_t)(qp_num >> (16 - 8 * i));
		bth[9 + i] = (uint8_t)(psn >> (16 - 8 * i));
	}
	frame->mbuf.buf_addr = frame->data;
	frame->mbuf.data_len = sizeof(frame->data);
	frame->mbuf.pkt_len = 1000 + psn;
	frame->mbuf.nb_segs = 1;
}

static void note(struct drivers_flows *flows, uint32_t qp_num, uint8_t host, bool ipv6, uint32_t psn)
{
	struct made_frame frame;

	make_frame(&frame, qp_num, host, ipv6, psn);
	drivers_flows_note(flows, &frame.mbuf, 100 + psn, psn & 1);
}

static uint32_t copy(const struct drivers_flows *flows, uint32_t qp_num, uint8_t host, bool ipv6,
		     struct drivers_flow_frame *frames)
{
	char text[32];

	snprintf(text, sizeof(text), ipv6 ? "fe80::%x" : "10.0.0.%u", host);
	return drivers_flows_copy(flows, qp_num, network_address(text).bytes, frames);
}

Test(captured_flows, a_flow_keeps_its_last_frames_in_order)
{
	struct drivers_flows *flows = drivers_flows_create(64);
	struct drivers_flow_frame frames[FLOWS_FRAMES];

	RULE("O-1");
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		cr_assert_eq(copy(flows, 7, 1, ipv6, frames), 0);
		for (uint32_t psn = 0; psn < FLOWS_FRAMES + 10; psn++)
			note(flows, 7, 1, ipv6, psn);
		cr_assert_eq(copy(flows, 7, 1, ipv6, frames), FLOWS_FRAMES);
		for (uint32_t i = 0; i < FLOWS_FRAMES; i++) {
			cr_assert_eq(frames[i].frame_bytes, 1000 + 10 + i);
			cr_assert_eq(frames[i].cycles, 100 + 10 + i);
			cr_assert_eq(frames[i].kept_bytes, FLOWS_KEPT_BYTES);
			cr_assert_eq(frames[i].outbound, i & 1);
			cr_assert_eq(frames[i].data[(ipv6 ? 18 + 40 : 14 + 20) + 8 + 11], 10 + i);
		}
	}
	drivers_flows_destroy(flows);
}

/* Two peers may have a QP of the same number. */
Test(captured_flows, flows_are_identified_by_qpn_and_address)
{
	struct drivers_flows *flows = drivers_flows_create(64);
	struct drivers_flow_frame frames[FLOWS_FRAMES];

	RULE("O-1");
	note(flows, 7, 1, false, 10);
	note(flows, 7, 2, false, 20);
	note(flows, 8, 1, false, 30);
	note(flows, 7, 1, true, 40);
	cr_assert_eq(copy(flows, 7, 1, false, frames), 1);
	cr_assert_eq(frames[0].frame_bytes, 1010);
	cr_assert_eq(copy(flows, 7, 2, false, frames), 1);
	cr_assert_eq(frames[0].frame_bytes, 1020);
	cr_assert_eq(copy(flows, 8, 1, false, frames), 1);
	cr_assert_eq(frames[0].frame_bytes, 1030);
	cr_assert_eq(copy(flows, 7, 1, true, frames), 1);
	cr_assert_eq(frames[0].frame_bytes, 1040);
	cr_assert_eq(copy(flows, 8, 2, false, frames), 0);
	drivers_flows_destroy(flows);
}

Test(captured_flows, longest_silent_flow_is_evicted)
{
	struct drivers_flows *flows = drivers_flows_create(4);
	struct drivers_flow_frame frames[FLOWS_FRAMES];

	RULE("O-1");
	for (uint32_t i = 0; i < 4; i++)
		note(flows, 1 + i, 1, false, i);
	note(flows, 1, 1, false, 10);
	note(flows, 9, 1, false, 11);
	cr_assert_eq(copy(flows, 1, 1, false, frames), 2);
	cr_assert_eq(copy(flows, 2, 1, false, frames), 0);
	cr_assert_eq(copy(flows, 3, 1, false, frames), 1);
	cr_assert_eq(copy(flows, 9, 1, false, frames), 1, "and has none of the frames of before");
	drivers_flows_destroy(flows);
}

Test(captured_flows, frames_after_a_failure_do_not_evict_its_frames)
{
	struct drivers_flows *flows = drivers_flows_create(4);
	struct drivers_flow_frame frames[FLOWS_FRAMES];
	_Atomic uint32_t records = 6;

	RULE("O-1");
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		drivers_flows_hold(flows, 7, network_address(ipv6 ? "fe80::1" : "10.0.0.1").bytes, &records, 8);
		for (uint32_t psn = 0; psn < 200; psn++)
			note(flows, 7, 1, ipv6, psn);
		drivers_flows_hold(flows, 7, network_address(ipv6 ? "fe80::1" : "10.0.0.1").bytes, &records, 8);
		for (uint32_t psn = 200; psn < 400; psn++) {
			note(flows, 7, 1, ipv6, psn);
			note(flows, 8, 1, ipv6, psn);
			records = psn == 300 ? 7 : records;
		}
		cr_assert_eq(copy(flows, 7, 1, ipv6, frames), FLOWS_FRAMES);
		cr_assert_eq(frames[FLOWS_FRAMES - 1].frame_bytes, 1000 + 199 + FLOWS_HELD_FRAMES);
		cr_assert_eq(copy(flows, 8, 1, ipv6, frames), FLOWS_FRAMES);
		cr_assert_eq(frames[FLOWS_FRAMES - 1].frame_bytes, 1000 + 399, "others go on");
		records = 9;
		note(flows, 7, 1, ipv6, 400);
		cr_assert_eq(copy(flows, 7, 1, ipv6, frames), FLOWS_FRAMES);
		cr_assert_eq(frames[FLOWS_FRAMES - 1].frame_bytes, 1400, "and it, when it is recorded");
		records = 6;
	}
	drivers_flows_destroy(flows);
}

Test(captured_flows, frames_other_than_roce_are_not_stored)
{
	struct drivers_flows *flows = drivers_flows_create(4);
	struct drivers_flow_frame frames[FLOWS_FRAMES];
	static const uint32_t spoiled[] = { 12, 14, 23, 36 }; /* EtherType, version, protocol, port */

	RULE("O-1");
	for (size_t i = 0; i < RTE_DIM(spoiled); i++) {
		struct made_frame frame;

		make_frame(&frame, 7, 1, false, 1);
		frame.data[spoiled[i]] ^= 0x20;
		drivers_flows_note(flows, &frame.mbuf, 1, false);
		make_frame(&frame, 7, 1, i & 1, 1);
		frame.mbuf.data_len = i & 1 ? 77 : 53;
		drivers_flows_note(flows, &frame.mbuf, 1, false);
	}
	cr_assert_eq(copy(flows, 7, 1, false, frames), 0);
	cr_assert_eq(copy(flows, 7, 1, true, frames), 0);
	drivers_flows_destroy(flows);
}

/* Frames of which all bytes behind the headers, the length and the time say the same number. */
struct writer {
	struct drivers_flows *flows;
	_Atomic bool ending;
};

static void *note_on_and_on(void *argument)
{
	struct writer *writer = argument;
	struct made_frame frame;

	make_frame(&frame, 7, 1, false, 0);
	for (uint32_t number = 0; !writer->ending; number++) {
		frame.mbuf.pkt_len = number;
		memset(frame.data + 60, (uint8_t)number, FLOWS_KEPT_BYTES - 60);
		drivers_flows_note(writer->flows, &frame.mbuf, number, number & 1);
		for (uint32_t i = 0; number % 512 == 0 && i < 20; i++)
			sched_yield(); /* a copy is made between two frames, or is given up */
	}
	return NULL;
}

Test(captured_flows, overtaken_copy_is_retried, .timeout = 60)
{
	struct writer writer = { .flows = drivers_flows_create(4) };
	struct drivers_flow_frame frames[FLOWS_FRAMES];
	uint32_t copies = 0;
	pthread_t thread;

	RULE("O-1");
	cr_assert_eq(pthread_create(&thread, NULL, note_on_and_on, &writer), 0);
	while (copies < 200) {
		uint32_t count = copy(writer.flows, 7, 1, false, frames);

		copies += count == FLOWS_FRAMES;
		for (uint32_t i = 0; i < count; i++) {
			cr_assert_eq(frames[i].cycles, frames[0].cycles + i);
			cr_assert_eq(frames[i].frame_bytes, frames[i].cycles);
			cr_assert_eq(frames[i].outbound, frames[i].cycles & 1);
			for (uint32_t at = 60; at < FLOWS_KEPT_BYTES; at++)
				cr_assert_eq(frames[i].data[at], (uint8_t)frames[i].cycles);
		}
	}
	writer.ending = true;
	pthread_join(thread, NULL);
	drivers_flows_destroy(writer.flows);
}
