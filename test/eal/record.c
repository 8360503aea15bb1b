/* record.c - what a queue pair leaves that fails: its last frames and its story */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "captured.h"
#include "drivers/capture/recorder.h"
#include "drivers/fault/fault.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define TEXT_BYTES 65536

TestSuite(record, .init = test_eal_start, .timeout = 120);

struct recorded {
	struct network network;
	struct drivers_tap *taps[2];
	char folder[32];
};

static void begin_record(struct recorded *recorded, const char *directory)
{
	struct uroce_error error = { "" };

	for (int i = 0; i < 2; i++) {
		const struct drivers_ethdev *port = &recorded->network.loop.ports[i];

		cr_assert_eq(drivers_tap_attach(port, &recorded->taps[i], &error), 0, "%s", error.text);
		cr_assert_eq(drivers_recorder_start(recorded->network.engine, recorded->network.ends[i].device, port,
						    recorded->taps[i], directory, &error),
			     0, "%s", error.text);
	}
}

static void open_recorded(struct recorded *recorded, uint8_t timeout)
{
	strcpy(recorded->folder, "/tmp/uroce-record-XXXXXX");
	cr_assert_not_null(mkdtemp(recorded->folder));
	network_open(&recorded->network, 1);
	begin_record(recorded, recorded->folder);
	for (int i = 0; i < 2; i++)
		network_create_qp(&recorded->network, i, 64, -1);
	recorded->network.timeout = timeout;
	network_connect(&recorded->network, false);
}

/* Its recorder looks once more when it ends. */
static void end_record(struct recorded *recorded)
{
	for (int i = 0; i < 2; i++) {
		drivers_recorder_stop(recorded->taps[i]);
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

static void post_with_a_wrong_key(struct recorded *recorded)
{
	struct end *end = &recorded->network.ends[0];
	struct uroce_sge sge = { .addr = (uintptr_t)end->buffer, .length = 8, .lkey = uroce_mr_lkey(end->mr) };
	struct uroce_send_wr wr = {
		.opcode = UROCE_WR_RDMA_WRITE, .rkey = 1, .remote_addr = 8, .sg_list = &sge, .num_sge = 1
	};

	cr_assert_eq(uroce_qp_post_send(end->qp, &wr, NULL), 0);
}

static void write_with_a_wrong_key(struct recorded *recorded)
{
	post_with_a_wrong_key(recorded);
	cr_assert_eq(network_wait(&recorded->network, 0).status, UROCE_WC_REM_ACCESS_ERR);
}

/* A key that the peer does not know: both QPs fail, and both tell their side of it. */
Test(record, both_ends_record_the_cause_of_a_failure)
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
	cr_assert(strstr(text, "NAK_REMOTE_ACCESS") && strstr(text, "# the peer refuses the request"), "%s", text);
	cr_assert_eq(captured_read(path).count, 4);
	read_text(&recorded, 1, text, path);
	cr_assert(strstr(text, "a request of the peer failed") && strstr(text, "# this end refuses the request"), "%s",
		  text);
	cr_assert_eq(lines_with(text, " <- WRITE_ONLY"), 1, "%s", text);
	cr_assert_eq(captured_read(path).count, 4);
	cr_assert_eq(count_files(recorded.folder, false), 4);
	close_recorded(&recorded);
	free(text);
}

/* The story of end 0 cannot have its name, or cannot be written. */
Test(record, record_writes_both_files_or_none)
{
	static const char *const taken[] = { "txt", "txt.part", "pcapng", "pcapng.part" };
	struct recorded recorded;
	char text[TEXT_BYTES], path[128], inside[160];

	RULE("E-4");
	for (size_t i = 0; i < RTE_DIM(taken); i++) {
		open_recorded(&recorded, 8);
		snprintf(path, sizeof(path), "%s/uroce-%d-qp%06x.%s", recorded.folder, (int)getpid(),
			 uroce_qp_num(recorded.network.ends[0].qp), taken[i]);
		snprintf(inside, sizeof(inside), "%s/inside", path);
		cr_assert(mkdir(path, 0700) == 0 && mkdir(inside, 0700) == 0);
		write_with_a_wrong_key(&recorded);
		end_record(&recorded);
		cr_assert_eq(count_files(recorded.folder, false), 3, "%s: what was there, and two of end 1", taken[i]);
		cr_assert(rmdir(inside) == 0 && rmdir(path) == 0);
		read_text(&recorded, 1, text, path);
		close_recorded(&recorded);
	}
}

/* As a daemon does when it has begun. */
Test(record, record_directory_survives_chdir)
{
	struct recorded recorded;
	char text[TEXT_BYTES], path[128];

	RULE("E-4");
	open_recorded(&recorded, 8);
	end_record(&recorded);
	cr_assert_eq(chdir(recorded.folder), 0);
	begin_record(&recorded, ".");
	cr_assert_eq(chdir("/"), 0);
	write_with_a_wrong_key(&recorded);
	end_record(&recorded);
	read_text(&recorded, 0, text, path);
	close_recorded(&recorded);
}

/* The peer is gone: the record contains the resends and no received frame. */
Test(record, silent_peer_is_recorded)
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

/* Frames to the QP of end 1, as the wire brings them. */
static void send_behind(struct recorded *recorded, uint32_t count)
{
	struct network *network = &recorded->network;
	uint32_t qp_num = uroce_qp_num(network->ends[1].qp);

	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = test_frame_create(network->loop.ports[0].pool, i, 100);
		uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

		memset(data, 0, 100);
		memcpy(data + 12, "\x08\x00\x45", 3);
		data[23] = 17;
		memcpy(data + 30, network_address("10.0.0.2").bytes + 12, 4);
		memcpy(data + 36, "\x12\xB7", 2);
		for (int at = 0; at < 3; at++)
			data[47 + at] = (uint8_t)(qp_num >> (16 - 8 * at));
		cr_assert_eq(rte_eth_tx_burst(network->loop.ports[0].port_id, 0, &mbuf, 1), 1);
		network_poll(network);
	}
}

/* A peer continues to send until it receives the NAK. */
Test(record, refused_request_is_recorded_despite_later_frames)
{
	struct recorded recorded;
	char *text = malloc(TEXT_BYTES), path[128];

	RULE("E-4");
	open_recorded(&recorded, 8);
	write_with_a_wrong_key(&recorded);
	send_behind(&recorded, 200);
	end_record(&recorded);
	read_text(&recorded, 1, text, path);
	cr_assert_eq(lines_with(text, " <- WRITE_ONLY"), 1, "%s", text);
	cr_assert(strstr(text, "NAK_REMOTE_ACCESS") && strstr(text, "# this end refuses the request"), "%s", text);
	cr_assert_leq(captured_read(path).count, 2 + 16);
	close_recorded(&recorded);
	free(text);
}

/* It is the first of as many frames as an lcore receives in a poll. */
Test(record, refused_request_is_recorded_at_the_start_of_a_burst)
{
	struct recorded recorded;
	char *text = malloc(TEXT_BYTES), path[128];

	RULE("E-4");
	open_recorded(&recorded, 8);
	post_with_a_wrong_key(&recorded);
	cr_assert_eq(network_post(&recorded.network, UROCE_WR_RDMA_WRITE, 200 * 4096), 0);
	cr_assert_eq(network_wait(&recorded.network, 0).status, UROCE_WC_REM_ACCESS_ERR);
	end_record(&recorded);
	read_text(&recorded, 1, text, path);
	cr_assert_eq(lines_with(text, " <- WRITE_ONLY"), 1, "%s", text);
	cr_assert_geq(lines_with(text, " <- WRITE_MIDDLE"), 16, "%s", text);
	close_recorded(&recorded);
	free(text);
}

struct port_of_two {
	struct recorded *recorded;
	int end;
};

static void *begin_and_end(void *argument)
{
	const struct port_of_two *own = argument;
	struct recorded *recorded = own->recorded;

	for (int i = 0; i < 50; i++) {
		cr_assert_eq(drivers_recorder_start(recorded->network.engine, recorded->network.ends[own->end].device,
						    &recorded->network.loop.ports[own->end], recorded->taps[own->end],
						    recorded->folder, NULL),
			     0);
		drivers_recorder_stop(recorded->taps[own->end]);
	}
	return NULL;
}

/* The recorder's thread starts with the first port and ends with the last one. */
Test(record, two_threads_may_start_and_stop_recording_at_once)
{
	struct recorded recorded;
	struct port_of_two own[2] = { { &recorded, 0 }, { &recorded, 1 } };
	pthread_t threads[2];
	char text[TEXT_BYTES], path[128];

	RULE("E-4");
	open_recorded(&recorded, 8);
	for (int i = 0; i < 2; i++)
		drivers_recorder_stop(recorded.taps[i]);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, begin_and_end, &own[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		drivers_tap_detach(recorded.taps[i]);
	begin_record(&recorded, recorded.folder);
	write_with_a_wrong_key(&recorded);
	end_record(&recorded);
	read_text(&recorded, 0, text, path);
	close_recorded(&recorded);
}

/* The limit protects the disk, and the message explains the missing records. */
Test(record, last_record_announces_the_limit)
{
	static const char *const words = "recorded its maximum number of failures";
	struct recorded recorded;
	char text[TEXT_BYTES], path[128];
	uint32_t told = 0;

	RULE("E-4");
	for (uint32_t failures = 0; failures <= 256; failures += 2) {
		open_recorded(&recorded, 8);
		write_with_a_wrong_key(&recorded);
		end_record(&recorded);
		cr_assert_eq(count_files(recorded.folder, false), failures < 256 ? 2 * 2 : 0);
		for (int i = 0; i < 2 && failures < 256; i++) {
			read_text(&recorded, i, text, path);
			told += lines_with(text, words);
		}
		cr_assert(told == 0 || failures >= 254, "after %u", failures);
		close_recorded(&recorded);
	}
	cr_assert_eq(told, 1);
}

/* A new port may reuse the number of a removed port, whose failures are not its own. */
Test(record, new_recorder_ignores_earlier_failures)
{
	struct recorded recorded;
	struct drivers_tap *tap;
	struct uroce_error error = { "" };

	RULE("E-4");
	open_recorded(&recorded, 8);
	end_record(&recorded);
	write_with_a_wrong_key(&recorded);
	cr_assert_eq(drivers_tap_attach(&recorded.network.loop.ports[0], &tap, &error), 0);
	cr_assert_eq(drivers_recorder_start(recorded.network.engine, recorded.network.ends[0].device,
					    &recorded.network.loop.ports[0], tap, recorded.folder, &error),
		     0);
	drivers_recorder_stop(tap);
	drivers_tap_detach(tap);
	cr_assert_eq(count_files(recorded.folder, false), 0);
	close_recorded(&recorded);
}
