/* capture.c - frames seen as they come and go: the last of each flow, a live capture, what a failed QP leaves */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "common/capture_file.h"
#include "drivers/capture/flows.h"
#include "drivers/capture/recorder.h"
#include "drivers/fault/fault.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define TEXT_BYTES 65536
#define TURNS_MAX 20000000

TestSuite(capture, .init = test_eal_start, .timeout = 120);

/* ---- flows ---- */

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
	struct uroce_addr addr;
	char text[32];

	snprintf(text, sizeof(text), ipv6 ? "fe80::%x" : "10.0.0.%u", host);
	cr_assert_eq(uroce_addr_parse(text, &addr, NULL), 0);
	return drivers_flows_copy(flows, qp_num, addr.bytes, frames);
}

Test(capture, a_flow_keeps_its_last_frames_in_order)
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
Test(capture, flows_are_known_by_number_and_address)
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

Test(capture, who_has_been_silent_longest_makes_room)
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

Test(capture, what_is_no_roce_is_not_noted)
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

/* ---- a live capture ---- */

struct frames_of_file {
	uint32_t count, bytes, original_bytes;
	uint64_t first_ns, last_ns;
};

static struct frames_of_file read_file(const char *path)
{
	struct capture_file *file = capture_file_open(path);
	struct frames_of_file found = { 0 };
	struct capture_frame frame;

	while (capture_file_next(file, &frame) == 1) {
		found.first_ns = found.count++ ? found.first_ns : frame.time_ns;
		found.last_ns = frame.time_ns;
		found.bytes += frame.bytes;
		found.original_bytes += frame.original_bytes;
	}
	cr_assert_null(capture_file_error(file), "%s", capture_file_error(file));
	capture_file_close(file);
	return found;
}

static void open_loop(struct uroce_port *ports[2], uint16_t ring)
{
	struct uroce_port_config config = { .rx_desc = ring };
	struct uroce_error error = { "" };

	for (int i = 0; i < 2; i++)
		cr_assert_eq(uroce_port_open("loop", &config, &ports[i], &error), 0, "%s", error.text);
}

static void close_loop(struct uroce_port *ports[2])
{
	cr_assert_eq(uroce_port_close(ports[0]), 0);
	cr_assert_eq(uroce_port_close(ports[1]), 0);
}

/* Sends so many frames, again and again those that the port does not take; receives them. */
static void send_frames(struct uroce_port *const *ports, uint32_t count, uint32_t bytes)
{
	struct rte_mbuf *mbufs[256], *received[8];
	uint32_t sent = 0, arrived = 0;

	cr_assert_leq(count, 256);
	for (uint32_t i = 0; i < count; i++)
		mbufs[i] = test_frame_create(ports[0]->pool, i, bytes);
	while (arrived < count) {
		uint16_t got;

		sent += rte_eth_tx_burst(ports[0]->port_id, 0, mbufs + sent, (uint16_t)(count - sent));
		got = rte_eth_rx_burst(ports[1]->port_id, 0, received, 8);
		rte_pktmbuf_free_bulk(received, got);
		arrived += got;
	}
}

static void make_path(char path[64])
{
	strcpy(path, "/tmp/uroce-capture-XXXXXX");
	close(mkstemp(path));
}

Test(capture, every_frame_is_there_once_each_way)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_capture_counts counts;
	struct uroce_error error = { "" };
	struct frames_of_file found;
	struct stat status;
	char path[64];

	RULE("O-1");
	make_path(path);
	open_loop(ports, 64);
	send_frames(ports, 5, 300);
	for (int again = 0; again < 2; again++) {
		cr_assert_eq(uroce_capture_start(ports, 2, path, 0, &capture, &error), 0, "%s", error.text);
		send_frames(ports, 200, 300); /* the port takes 63 at a time, and is offered the others again */
		cr_assert_eq(uroce_port_close(ports[0]), -EBUSY, "not under a capture");
		cr_assert_eq(uroce_capture_stop(capture, &counts, &error), 0, "%s", error.text);
		send_frames(ports, 5, 300);
		found = read_file(path);
		cr_assert_eq(found.count, 400);
		cr_assert_eq(found.bytes, 400 * 300);
		cr_assert_leq(found.first_ns, found.last_ns);
		cr_assert_lt(labs((long)(found.first_ns / 1000000000) - (long)time(NULL)), 100);
		cr_assert_eq(counts.frames, 400);
		cr_assert_eq(counts.lost, 0);
		cr_assert_eq(stat(path, &status), 0);
		cr_assert_lt(labs((long)status.st_size - (long)counts.bytes), 400, "but for its head");
	}
	close_loop(ports);
	unlink(path);
}

/* Also a file that was there, and readable by others. */
static void expect_owner_only(const char *path)
{
	struct stat status;

	cr_assert_eq(stat(path, &status), 0);
	cr_assert_eq(status.st_mode & 0777, 0600);
}

Test(capture, frames_are_cut_where_asked_and_the_file_is_the_owners)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_error error = { "" };
	struct frames_of_file found;
	char path[64];

	RULE("O-1");
	make_path(path);
	unlink(path);
	open_loop(ports, 64);
	cr_assert_eq(uroce_capture_start(&ports[1], 1, path, 100, &capture, &error), 0, "%s", error.text);
	send_frames(ports, 10, 300);
	send_frames(ports, 10, 60);
	cr_assert_eq(uroce_capture_stop(capture, NULL, &error), 0, "%s", error.text);
	found = read_file(path);
	cr_assert_eq(found.count, 20, "only what this port received");
	cr_assert_eq(found.bytes, 10 * 100 + 10 * 60);
	cr_assert_eq(found.original_bytes, 10 * 300 + 10 * 60);
	expect_owner_only(path);
	close_loop(ports);
	unlink(path);
}

/* Longer than any frame of ours, in pieces: what does not fit is cut. */
Test(capture, a_frame_in_many_pieces_is_cut_and_no_more)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_error error = { "" };
	struct frames_of_file found;
	struct rte_mbuf *frame, *received;
	char path[64];

	RULE("O-1");
	make_path(path);
	cr_assert_eq(chmod(path, 0644), 0);
	open_loop(ports, 64);
	cr_assert_eq(uroce_capture_start(ports, 1, path, 0, &capture, &error), 0, "%s", error.text);
	for (uint32_t pieces = 1; pieces <= 60; pieces += 59) {
		frame = test_frame_create(ports[0]->pool, 0, 4000);
		for (uint32_t i = 1; i < pieces; i++)
			cr_assert_eq(rte_pktmbuf_chain(frame, test_frame_create(ports[0]->pool, i, 4000)), 0);
		cr_assert_eq(rte_eth_tx_burst(ports[0]->port_id, 0, &frame, 1), 1);
		cr_assert_eq(rte_eth_rx_burst(ports[1]->port_id, 0, &received, 1), 1);
		rte_pktmbuf_free(received);
	}
	cr_assert_eq(uroce_capture_stop(capture, NULL, &error), 0, "%s", error.text);
	found = read_file(path);
	cr_assert_eq(found.count, 2);
	cr_assert_eq(found.bytes, 4000 + 65536);
	cr_assert_eq(found.original_bytes, 61 * 4000);
	expect_owner_only(path);
	close_loop(ports);
	unlink(path);
}

/* Traffic does not wait for a file: what has no room is counted. */
Test(capture, what_a_file_is_too_slow_for_is_counted)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_capture_counts counts;
	struct uroce_error error = { "" };
	char path[64];

	RULE("O-1");
	make_path(path);
	open_loop(ports, 64);
	cr_assert_eq(uroce_capture_start(ports, 2, path, 0, &capture, &error), 0, "%s", error.text);
	for (int i = 0; i < 2000; i++)
		send_frames(ports, 32, 1000);
	cr_assert_eq(uroce_capture_stop(capture, &counts, &error), 0, "%s", error.text);
	cr_assert_eq(counts.frames + counts.lost, 2 * 32 * 2000);
	cr_assert_eq(read_file(path).count, counts.frames);
	close_loop(ports);
	unlink(path);
}

Test(capture, what_cannot_be_is_refused_in_a_sentence)
{
	struct uroce_port *ports[2];
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" }, .record_path = "/proc/nowhere" };
	struct uroce_engine_config engine = { .lcore_count = 1 };
	struct uroce_port *port;
	struct uroce_capture *capture, *second;
	struct uroce_error error = { "" };
	char path[64];

	RULE("O-1");
	make_path(path);
	open_loop(ports, 64);
	cr_assert_eq(uroce_capture_start(ports, 2, "/nowhere/at/all", 0, &capture, &error), -ENOENT);
	cr_assert(strstr(error.text, "/nowhere/at/all") && strstr(error.text, "No such file"), "%s", error.text);
	cr_assert_null(capture);
	cr_assert_eq(uroce_capture_start(ports, 0, path, 0, &capture, &error), -EINVAL);
	cr_assert_eq(uroce_capture_start(ports, 2, path, 0, &capture, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_capture_start(&ports[1], 1, path, 0, &second, &error), -EBUSY);
	cr_assert_not_null(strstr(error.text, "is being captured"), "%s", error.text);
	cr_assert_eq(uroce_capture_stop(capture, NULL, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_capture_start(ports, 1, "/dev/full", 0, &capture, &error), 0, "%s", error.text);
	cr_assert_eq(uroce_capture_stop(capture, NULL, &error), -ENOSPC);
	cr_assert_not_null(strstr(error.text, "not complete"), "%s", error.text);
	close_loop(ports);
	unlink(path);
	cr_assert_eq(uroce_engine_create(&engine, &config.engine), 0);
	cr_assert_neq(uroce_port_open("loop", &config, &port, &error), 0);
	cr_assert_not_null(strstr(error.text, "/proc/nowhere"), "%s", error.text);
	cr_assert_null(port);
	uroce_engine_destroy(config.engine);
}

/* ---- what a QP leaves that fails ---- */

struct recorded {
	struct network network;
	struct drivers_tap *taps[2];
	char folder[32];
};

static void open_recorded(struct recorded *recorded, uint8_t timeout)
{
	struct uroce_error error = { "" };

	strcpy(recorded->folder, "/tmp/uroce-record-XXXXXX");
	cr_assert_not_null(mkdtemp(recorded->folder));
	network_open(&recorded->network, 1);
	for (int i = 0; i < 2; i++) {
		const struct drivers_ethdev *port = &recorded->network.loop.ports[i];

		cr_assert_eq(drivers_tap_attach(port, &recorded->taps[i], &error), 0, "%s", error.text);
		cr_assert_eq(drivers_recorder_begin(recorded->network.engine, recorded->network.ends[i].device, port,
						    recorded->taps[i], recorded->folder, &error),
			     0, "%s", error.text);
		network_create_qp(&recorded->network, i, 64, -1);
	}
	recorded->network.timeout = timeout;
	network_connect(&recorded->network, false);
}

/* Its recorder looks once more when it ends. */
static void end_record(struct recorded *recorded)
{
	for (int i = 0; i < 2; i++) {
		drivers_recorder_end(recorded->taps[i]);
		drivers_tap_detach(recorded->taps[i]);
	}
}

static void read_text(const struct recorded *recorded, int end, char *text, char path[128])
{
	FILE *file;
	size_t bytes;
	int at = snprintf(path, 128, "%s/uroce-%d-qp%06x", recorded->folder, (int)getpid(),
			  uroce_qp_num(recorded->network.ends[end].qp));

	strcpy(path + at, ".txt");
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s: %s", path, strerror(errno));
	bytes = fread(text, 1, TEXT_BYTES - 1, file);
	text[bytes] = '\0';
	fclose(file);
	strcpy(path + at, ".pcapng");
}

static unsigned count_files(const char *folder, bool remove)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	unsigned count = 0;

	while ((entry = readdir(directory)) != NULL) {
		char path[512];

		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (remove)
			unlink(path);
	}
	closedir(directory);
	return count;
}

static void close_recorded(struct recorded *recorded)
{
	network_close(&recorded->network);
	count_files(recorded->folder, true);
	cr_assert_eq(rmdir(recorded->folder), 0);
}

static uint32_t lines_with(const char *text, const char *words)
{
	uint32_t count = 0;

	while ((text = strstr(text, words)) != NULL) {
		count++;
		text += strlen(words);
	}
	return count;
}

static void write_with_a_wrong_key(struct recorded *recorded)
{
	struct end *end = &recorded->network.ends[0];
	struct uroce_sge sge = { .addr = (uintptr_t)end->buffer, .length = 8, .lkey = uroce_mr_lkey(end->mr) };
	struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE, .rkey = 1, .remote_addr = 8, .sg_list = &sge, .num_sge = 1
	};

	cr_assert_eq(uroce_qp_post_send(end->qp, &wr, NULL), 0);
	cr_assert_eq(network_wait(&recorded->network, 0).status, UROCE_WC_REM_ACCESS_ERR);
}

/* A key that the peer does not know: both QPs fail, and both tell their side of it. */
Test(capture, both_ends_tell_why_they_failed)
{
	struct recorded recorded;
	char *text = malloc(TEXT_BYTES), path[128];

	RULE("E-4");
	open_recorded(&recorded, 8);
	cr_assert_eq(network_post(&recorded.network, UROCE_WR_RDMA_READ, 3000), 0);
	network_wait(&recorded.network, 0);
	write_with_a_wrong_key(&recorded);
	end_record(&recorded);
	read_text(&recorded, 0, text, path);
	cr_assert(strstr(text, "REM_ACCESS_ERR") && strstr(text, "10.0.0.1 -> 10.0.0.2"), "%s", text);
	cr_assert_eq(lines_with(text, " -> READ_REQUEST"), 1, "%s", text);
	cr_assert_eq(lines_with(text, " <- READ_RESPONSE"), 1, "%s", text);
	cr_assert_eq(lines_with(text, " -> WRITE_ONLY"), 1, "%s", text);
	cr_assert(strstr(text, "NAK_REMOTE_ACCESS") && strstr(text, "# the peer refuses it"), "%s", text);
	cr_assert_eq(read_file(path).count, 4);
	read_text(&recorded, 1, text, path);
	cr_assert(strstr(text, "a request of the peer failed") && strstr(text, "# we refuse it"), "%s", text);
	cr_assert_eq(lines_with(text, " <- WRITE_ONLY"), 1, "%s", text);
	cr_assert_eq(read_file(path).count, 4);
	close_recorded(&recorded);
	free(text);
}

/* The peer is gone: what was sent again and again is there, and that nothing came. */
Test(capture, a_silent_peer_is_seen)
{
	struct recorded recorded;
	struct drivers_fault_config faults = { .loss = 1 };
	struct drivers_fault *fault;
	struct uroce_error error = { "" };
	char *text = malloc(TEXT_BYTES), path[128];

	RULE("E-4");
	open_recorded(&recorded, 12); /* 16.8 ms */
	cr_assert_eq(network_post(&recorded.network, UROCE_WR_RDMA_WRITE, 64), 0);
	network_wait(&recorded.network, 0);
	cr_assert_eq(drivers_fault_attach(&recorded.network.loop.ports[1], &faults, &fault, &error), 0);
	cr_assert_eq(network_post(&recorded.network, UROCE_WR_RDMA_WRITE, 64), 0);
	cr_assert_eq(network_wait(&recorded.network, 0).status, UROCE_WC_RETRY_EXC_ERR);
	end_record(&recorded);
	read_text(&recorded, 0, text, path);
	cr_assert_not_null(strstr(text, "RETRY_EXC_ERR"), "%s", text);
	cr_assert_geq(lines_with(text, "# sent again"), 3, "%s", text);
	cr_assert_geq(lines_with(text, "... nothing for "), 1, "%s", text);
	cr_assert_eq(lines_with(text, " <- "), 1, "one ACK: %s", text);
	cr_assert_eq(count_files(recorded.folder, false), 2, "the other QP has not failed");
	drivers_fault_detach(fault);
	close_recorded(&recorded);
	free(text);
}

/* A port may come with the number of one that has gone, whose failures are not its own. */
Test(capture, a_new_recorder_does_not_tell_of_old_failures)
{
	struct recorded recorded;
	struct drivers_tap *tap;
	struct uroce_error error = { "" };

	RULE("E-4");
	open_recorded(&recorded, 8);
	end_record(&recorded);
	write_with_a_wrong_key(&recorded);
	cr_assert_eq(drivers_tap_attach(&recorded.network.loop.ports[0], &tap, &error), 0);
	cr_assert_eq(drivers_recorder_begin(recorded.network.engine, recorded.network.ends[0].device,
					    &recorded.network.loop.ports[0], tap, recorded.folder, &error),
		     0);
	drivers_recorder_end(tap);
	drivers_tap_detach(tap);
	cr_assert_eq(count_files(recorded.folder, false), 0);
	close_recorded(&recorded);
}

/* ---- a frame in words ---- */

/* What kernels sent says the same whether all of it was kept or the headers. */
Test(capture, a_cut_frame_says_what_the_whole_one_says)
{
	static const char *const files[] = { "perftest-ipv4.pcap", "perftest-ipv6.pcap", "rnr-then-ok.pcap",
					     "bad-rkey-write.pcap", "linux-loss3-client.pcap" };
	uint32_t kinds[UROCE_FRAME_DATAGRAM + 1] = { 0 }, count = 0;

	RULE("W-5");
	for (size_t i = 0; i < RTE_DIM(files); i++) {
		char path[256];
		struct capture_file *file;
		struct capture_frame frame;

		snprintf(path, sizeof(path), "%s/%s", TEST_DATA, files[i]);
		file = capture_file_open(path);
		while (capture_file_next(file, &frame) == 1) {
			struct uroce_frame_view whole, cut;

			if (uroce_frame_look(frame.data, frame.bytes, frame.bytes, &whole) != 0)
				continue;
			count++;
			kinds[whole.kind]++;
			cr_assert_eq(uroce_frame_look(frame.data, RTE_MIN(frame.bytes, 108u), frame.bytes, &cut), 0);
			cr_assert_str_eq(whole.text, cut.text);
			cr_assert_eq(memcmp(&whole.source, &cut.source, sizeof(whole.source)), 0);
			cr_assert_eq(uroce_frame_look(frame.data, 50, frame.bytes, &cut), -EPROTO);
			cr_assert_eq(uroce_frame_look(frame.data, frame.bytes + 1, frame.bytes, &cut), -EINVAL);
		}
		cr_assert_null(capture_file_error(file), "%s", capture_file_error(file));
		capture_file_close(file);
	}
	cr_assert_gt(count, 300);
	for (uint32_t kind = UROCE_FRAME_REQUEST; kind <= UROCE_FRAME_RNR_NAK; kind++)
		cr_assert_gt(kinds[kind], 0, "none of kind %u", kind);
}
