/* capture.c - a live capture: copies of frames in a ring, and a thread that writes them to a file */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <uroce/capture.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "drivers/capture/clock.h"
#include "drivers/capture/pcapng.h"
#include "drivers/capture/tap.h"
#include "drivers/capture/thread.h"
#include "drivers/port/port.h"

#define FRAMES 4096u /* the most frames that wait to be written; a power of two */
#define BURST 64u
#define FRAME_MAX_BYTES 4352u /* a path MTU of 4096 with all headers; longer frames take several mbufs */
#define FRAME_MIN_BYTES 64u
#define KEPT_MAX_BYTES (UINT16_MAX + 1u) /* the most that is kept of a frame in several mbufs */
#define CLOCK_NS 1000000000              /* time between two measurements of the rate of the processor's cycles */
#define IDLE_US 500u

struct uroce_capture {
	struct uroce_port *ports[UROCE_CAPTURE_PORTS_MAX];
	struct drivers_tap *taps[UROCE_CAPTURE_PORTS_MAX];
	unsigned port_count;
	struct drivers_stream stream;
	struct drivers_pcapng *file;
	struct capture_clock clock; /* when the capture began */
	uint64_t clock_set_ns;      /* time from the capture's beginning to the last measurement of the clock's rate */
	struct uroce_capture_counts counts;
	uint8_t *scratch; /* a frame in several segments is copied here */
	_Atomic bool ending;
	pthread_t thread;
};

/* ---- the writing thread ---- */

static uint32_t interface_of(const struct uroce_capture *capture, uint16_t port_id)
{
	uint32_t interface = 0;

	while (interface + 1 < capture->port_count && capture->ports[interface]->port_id != port_id)
		interface++;
	return interface;
}

static void write_frame(struct uroce_capture *capture, struct rte_mbuf *mbuf)
{
	const struct drivers_stream_frame *seen = rte_mbuf_to_priv(mbuf);
	struct drivers_pcapng_frame frame = {
		.interface = interface_of(capture, seen->port_id),
		.time_ns = capture_clock_time(&capture->clock, seen->cycles),
		.data = rte_pktmbuf_read(mbuf, 0, rte_pktmbuf_pkt_len(mbuf), capture->scratch),
		.kept_bytes = rte_pktmbuf_pkt_len(mbuf),
		.frame_bytes = seen->frame_bytes,
		.outbound = seen->outbound,
	};

	if (!drivers_pcapng_add(capture->file, &frame)) {
		atomic_fetch_add(&capture->stream.lost, 1);
		return;
	}
	capture->counts.frames++;
	capture->counts.bytes += pcapng_bytes(frame.kept_bytes);
}

/* DPDK knows the rate of the cycles to a few thousandths only, so the thread measures it from the beginning on. */
static void set_clock(struct uroce_capture *capture)
{
	struct capture_clock now = capture_clock_read();
	uint64_t span_ns = now.time_ns - capture->clock.time_ns;

	if ((int64_t)span_ns < CLOCK_NS || span_ns < capture->clock_set_ns + CLOCK_NS)
		return;
	capture->clock_set_ns = span_ns;
	capture->clock.hz = (uint64_t)((__int128)(now.cycles - capture->clock.cycles) * 1000000000 / span_ns);
}

static void *write_frames(void *argument)
{
	struct uroce_capture *capture = argument;
	void *mbufs[BURST];
	unsigned count;
	bool last;

	do {
		last = atomic_load(&capture->ending); /* frames captured before this are in the ring by now */
		while ((count = rte_ring_dequeue_burst(capture->stream.ring, mbufs, BURST, NULL)) > 0) {
			for (unsigned i = 0; i < count; i++)
				write_frame(capture, mbufs[i]);
			rte_pktmbuf_free_bulk((struct rte_mbuf **)mbufs, count);
		}
		drivers_pcapng_flush(capture->file);
		set_clock(capture);
		if (!last)
			usleep(IDLE_US);
	} while (!last);
	return NULL;
}

/* ---- beginning and ending ---- */

static int open_file(struct uroce_capture *capture, const char *path, uint32_t frame_bytes, struct uroce_error *error)
{
	const char *names[UROCE_CAPTURE_PORTS_MAX];

	for (unsigned i = 0; i < capture->port_count; i++)
		names[i] = capture->ports[i]->name;
	capture->file = drivers_pcapng_open(path, names, capture->port_count, frame_bytes, NULL, error);
	return capture->file ? 0 : -errno;
}

static int make_stream(struct uroce_capture *capture, uint32_t frame_bytes, struct uroce_error *error)
{
	static _Atomic unsigned number;
	struct drivers_stream *stream = &capture->stream;
	uint32_t piece =
		frame_bytes ? RTE_MAX(RTE_MIN(frame_bytes, FRAME_MAX_BYTES), FRAME_MIN_BYTES) : FRAME_MAX_BYTES;
	char name[RTE_MEMZONE_NAMESIZE];

	snprintf(name, sizeof(name), "uroce_cap%u", atomic_fetch_add(&number, 1));
	stream->kept_bytes = frame_bytes ? RTE_MIN(frame_bytes, KEPT_MAX_BYTES) : KEPT_MAX_BYTES;
	stream->pool = rte_pktmbuf_pool_create(name, FRAMES, 0, RTE_ALIGN(sizeof(struct drivers_stream_frame), 8),
					       (uint16_t)(RTE_PKTMBUF_HEADROOM + piece), SOCKET_ID_ANY);
	stream->ring = rte_ring_create(name, FRAMES * 2, SOCKET_ID_ANY, RING_F_SC_DEQ);
	capture->scratch = malloc(KEPT_MAX_BYTES);
	if (stream->pool && stream->ring && capture->scratch)
		return 0;
	return drivers_error_set(
		error, -ENOMEM,
		"no memory for %u frames of %u bytes: capture fewer bytes per frame, or give EAL more memory with -m",
		FRAMES, piece);
}

static void free_capture(struct uroce_capture *capture)
{
	for (unsigned i = 0; i < capture->port_count; i++)
		drivers_port_release_tap(capture->ports[i]);
	rte_ring_free(capture->stream.ring);
	rte_mempool_free(capture->stream.pool);
	free(capture->scratch);
	free(capture);
}

static int parse_ports(struct uroce_capture *capture, struct uroce_port *const *ports, unsigned count,
		       struct uroce_error *error)
{
	if (count == 0 || count > UROCE_CAPTURE_PORTS_MAX)
		return drivers_error_set(error, -EINVAL, "cannot capture %u ports: select 1 to %u ports", count,
					 UROCE_CAPTURE_PORTS_MAX);
	for (unsigned i = 0; i < count; i++) {
		int code = drivers_port_take_tap(ports[i], &capture->taps[i], error);

		if (code)
			return code;
		capture->ports[capture->port_count++] = ports[i];
	}
	return 0;
}

int uroce_capture_start(struct uroce_port *const *ports, unsigned port_count, const char *path, uint32_t frame_bytes,
			struct uroce_capture **result, struct uroce_error *error)
{
	struct uroce_capture *capture = calloc(1, sizeof(*capture));
	int code;

	*result = NULL;
	if (capture == NULL)
		return drivers_error_set(error, -ENOMEM, "no memory for a capture");
	code = parse_ports(capture, ports, port_count, error);
	if (code == 0)
		code = make_stream(capture, frame_bytes, error);
	if (code == 0)
		code = open_file(capture, path, frame_bytes, error);
	if (code == 0) {
		capture->clock = capture_clock_read();
		if (capture_thread_create(&capture->thread, write_frames, capture) != 0) {
			drivers_pcapng_close(capture->file);
			code = drivers_error_set(
				error, -EAGAIN,
				"cannot create a thread for the capture: end other threads, or raise ulimit -u");
		}
	}
	if (code) {
		free_capture(capture);
		return code;
	}
	for (unsigned i = 0; i < port_count; i++)
		drivers_tap_stream(capture->taps[i], &capture->stream);
	*result = capture;
	return 0;
}

int uroce_capture_stop(struct uroce_capture *capture, struct uroce_capture_counts *counts, struct uroce_error *error)
{
	bool idle = true;
	int code = 0;

	for (unsigned i = 0; i < capture->port_count; i++)
		idle &= drivers_tap_stream(capture->taps[i], NULL);
	atomic_store(&capture->ending, true);
	pthread_join(capture->thread, NULL);
	capture->counts.lost = atomic_load(&capture->stream.lost);
	if (counts)
		*counts = capture->counts;
	if (!drivers_pcapng_close(capture->file))
		code = drivers_error_set(error, -errno, "the capture is not complete: %s", strerror(errno));
	if (idle) {
		free_capture(capture);
		return code;
	}
	/* An lcore may still come back to this memory, so the capture is not freed. */
	return drivers_error_set(error, -ETIMEDOUT,
				 "an lcore does not return from a capture callback: the ports stay captured and "
				 "cannot be closed");
}
