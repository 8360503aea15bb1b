/* capture.c - a live capture of what ports send and receive, and what a frame says in words */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include <uroce/capture.h>
#include <uroce/frame.h>

#include "captured.h"
#include "common/capture_file.h"
#include "network.h"
#include "rule.h"
#include "start.h"

TestSuite(capture, .init = test_eal_start, .timeout = 120);

/* ---- a live capture ---- */

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

Test(capture, each_frame_is_captured_once_per_direction)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_capture_counts counts;
	struct uroce_error error = { "" };
	struct captured found;
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
		found = captured_read(path);
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

Test(capture, frames_are_cut_at_the_snap_length_and_the_file_is_private)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_error error = { "" };
	struct captured found;
	char path[64];

	RULE("O-1");
	make_path(path);
	unlink(path);
	open_loop(ports, 64);
	cr_assert_eq(uroce_capture_start(&ports[1], 1, path, 100, &capture, &error), 0, "%s", error.text);
	send_frames(ports, 10, 300);
	send_frames(ports, 10, 60);
	cr_assert_eq(uroce_capture_stop(capture, NULL, &error), 0, "%s", error.text);
	found = captured_read(path);
	cr_assert_eq(found.count, 20, "only what this port received");
	cr_assert_eq(found.bytes, 10 * 100 + 10 * 60);
	cr_assert_eq(found.original_bytes, 10 * 300 + 10 * 60);
	expect_owner_only(path);
	close_loop(ports);
	unlink(path);
}

/* Longer than any frame of ours, in pieces: what does not fit is cut. */
Test(capture, frame_in_many_pieces_is_cut_at_the_longest_frame)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_error error = { "" };
	struct captured found;
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
	found = captured_read(path);
	cr_assert_eq(found.count, 2);
	cr_assert_eq(found.bytes, 4000 + 65536);
	cr_assert_eq(found.original_bytes, 61 * 4000);
	expect_owner_only(path);
	close_loop(ports);
	unlink(path);
}

static void *read_all(void *argument)
{
	char bytes[4096];

	while (read(*(int *)argument, bytes, sizeof(bytes)) > 0)
		continue;
	return NULL;
}

/* Traffic does not wait for a file: what has no room is counted. */
Test(capture, frames_a_slow_file_cannot_store_are_counted)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_capture_counts counts;
	struct uroce_error error = { "" };
	pthread_t reader;
	char path[64];
	int fifo;

	RULE("O-1");
	make_path(path);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR); /* which nobody reads for now */
	open_loop(ports, 64);
	cr_assert_eq(uroce_capture_start(ports, 2, path, 0, &capture, &error), 0, "%s", error.text);
	for (int i = 0; i < 2000; i++)
		send_frames(ports, 32, 1000);
	cr_assert_eq(pthread_create(&reader, NULL, read_all, &fifo), 0);
	cr_assert_eq(uroce_capture_stop(capture, &counts, &error), 0, "%s", error.text);
	cr_assert_eq(counts.frames + counts.lost, 2 * 32 * 2000);
	cr_assert_gt(counts.frames, 4000, "what the ring holds");
	cr_assert_lt(counts.frames, 5000, "and what a pipe holds");
	pthread_cancel(reader);
	pthread_join(reader, NULL);
	close(fifo);
	close_loop(ports);
	unlink(path);
}

static void *read_a_little(void *argument)
{
	char bytes[100];
	FILE *fifo = fopen(argument, "r");

	cr_assert_eq(fread(bytes, 1, sizeof(bytes), fifo), sizeof(bytes));
	fclose(fifo);
	return NULL;
}

/* Nobody gets SIGPIPE for it, neither the thread that writes nor the one that ends the capture. */
Test(capture, reader_of_a_pipe_may_close_it)
{
	struct uroce_port *ports[2];
	struct uroce_capture *capture;
	struct uroce_error error = { "" };
	pthread_t reader;
	char path[64];
	int fd;

	RULE("O-1");
	make_path(path);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	signal(SIGPIPE, SIG_DFL);
	open_loop(ports, 64);
	cr_assert_eq(pthread_create(&reader, NULL, read_a_little, path), 0);
	while ((fd = open(path, O_WRONLY | O_NONBLOCK)) < 0)
		usleep(100); /* until there is a reader */
	cr_assert_eq(uroce_capture_start(ports, 2, path, 0, &capture, &error), 0, "%s", error.text);
	close(fd);
	send_frames(ports, 10, 300);
	pthread_join(reader, NULL);
	send_frames(ports, 200, 1000);
	cr_assert_eq(uroce_capture_stop(capture, NULL, &error), -EPIPE);
	cr_assert_not_null(strstr(error.text, "not complete"), "%s", error.text);
	close_loop(ports);
	unlink(path);
}

Test(capture, invalid_capture_is_refused_with_a_message)
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

/* ---- a frame in words ---- */

/* Frames captured from kernels decode equally with and without payload. */
Test(capture, cut_frame_decodes_like_the_whole_frame)
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

			if (uroce_frame_parse(frame.data, frame.bytes, frame.bytes, &whole) != 0)
				continue;
			count++;
			kinds[whole.kind]++;
			cr_assert_eq(uroce_frame_parse(frame.data, RTE_MIN(frame.bytes, 108u), frame.bytes, &cut), 0);
			cr_assert_str_eq(whole.text, cut.text);
			cr_assert_eq(memcmp(&whole.source, &cut.source, sizeof(whole.source)), 0);
			cr_assert_eq(uroce_frame_parse(frame.data, 50, frame.bytes, &cut), -EPROTO);
			cr_assert_eq(uroce_frame_parse(frame.data, frame.bytes + 1, frame.bytes, &cut), -EINVAL);
		}
		cr_assert_null(capture_file_error(file), "%s", capture_file_error(file));
		capture_file_close(file);
	}
	cr_assert_gt(count, 300);
	for (uint32_t kind = UROCE_FRAME_REQUEST; kind <= UROCE_FRAME_RNR_NAK; kind++)
		cr_assert_gt(kinds[kind], 0, "none of kind %u", kind);
}
