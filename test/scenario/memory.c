/* memory.c - memory that goes, that overlaps, that is as large as a message may be, and that many change at once */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "packets.h"
#include "rule.h"

/* Memory of its own for B, registered. */
static uint8_t *map_region(struct pair *pair, uint64_t bytes, uint32_t *key)
{
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int error;

	cr_assert(memory != MAP_FAILED);
	*key = rc_mr_insert(&pair->side[B].mrs, 1, memory, bytes,
			    UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ, &error);
	cr_assert_neq(*key, 0);
	return memory;
}

/* TC-D-11: the process gets no notification. A child accesses the memory and dies of the signal. */
Test(memory, unmapping_registered_memory_ends_the_process_with_a_signal)
{
	RULE("M-2");
	for (uint32_t reads = 0; reads < 2; reads++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct wire_packet packet =
			reads ? read_packet(pair, 0, 0, 64) : write_packet(pair, OP_WRITE_ONLY, 0, 0, 64, 64);
		uint32_t key;
		uint8_t *memory = map_region(pair, 1 << 16, &key);
		int status;
		pid_t child;

		packet.va = (uintptr_t)memory;
		packet.rkey = key;
		cr_assert_eq(munmap(memory, 1 << 16), 0);
		child = fork();
		if (child == 0) {
			signal(SIGSEGV, SIG_DFL);
			signal(SIGBUS, SIG_DFL);
			pair_request(pair, packet);
			_exit(0);
		}
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS),
			  "status %#x", (unsigned)status);
		pair_close(pair);
	}
}

/* TC-D-12: a QP that is connected to itself, and a WRITE onto what it reads: the packets one by one, and an end. */
Test(memory, overlapping_source_and_destination_are_copied_per_packet)
{
	static const int32_t shifts[] = { 1, 100, 1024, 1500, -1, -100, -1024 };

	RULE("Q-2");
	RULE("S-5");
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		for (uint32_t bytes = 1000; bytes <= 3000; bytes += 2000) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });
			uint32_t key;
			uint8_t *memory = map_region(pair, 1 << 16, &key), *from = memory + 8192, expected[16384];
			int error;
			struct uroce_sge sge = { .addr = (uintptr_t)from, .length = bytes };
			struct uroce_send_wr wr = {
				.wr_id = 1,
				.opcode = UROCE_WR_RDMA_WRITE,
				.send_flags = UROCE_SEND_SIGNALED,
				.sg_list = &sge,
				.num_sge = 1,
				.remote_addr = (uintptr_t)from + (uint64_t)(int64_t)shifts[i],
				.rkey = key,
			};

			sge.lkey = rc_mr_insert(&pair->side[A].mrs, 1, memory, 1 << 16, 0, &error);
			for (uint32_t b = 0; b < sizeof(expected); b++)
				memory[b] = expected[b] = (uint8_t)(b * 7 + (b >> 8));
			for (uint32_t at = 0; at < bytes; at += 1024)
				memmove(expected + 8192 + at + shifts[i], expected + 8192 + at,
					bytes - at < 1024 ? bytes - at : 1024);
			cr_assert_eq(rc_qp_post_send(pair->side[A].qp, &wr), 0);
			while (pair->side[A].done_count == 0) {
				pair_transmit_some(pair, A, 1);
				pair_deliver(pair, B);
				pair_transmit(pair, B);
				pair_deliver(pair, A);
			}
			expect_completes(pair, A, "wr=1 WRITE SUCCESS");
			cr_assert_eq(memcmp(memory, expected, sizeof(expected)), 0, "shift %d, %u bytes", shifts[i],
				     bytes);
			munmap(memory, 1 << 16);
			pair_close(pair);
		}
	}
}

/* TC-D-3: 2^31 bytes are right where the region has as many; one less there, or one byte more, is not. */
Test(memory, largest_message_needs_complete_memory)
{
	RULE("P-4");
	RULE("K-INV");
	RULE("K-ACC");
	for (uint32_t reads = 0; reads < 2; reads++) {
		for (uint32_t less = 0; less < 3; less++) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });
			uint64_t bytes = (1ull << 31) + 4096;
			struct wire_packet packet = reads ? read_packet(pair, 0, 0, 1u << 31) :
							    write_packet(pair, OP_WRITE_FIRST, 0, 0, 1u << 31, 1024);
			uint8_t *memory = map_region(pair, bytes, &packet.rkey);

			packet.va = (uintptr_t)memory + (less == 1 ? 4097 : 4096);
			packet.dma_length += less == 2;
			pair_inject(pair, B, packet);
			pair_transmit_some(pair, B, 1);
			expect_leaves(pair, B,
				      less == 2 ? "NAK_INVALID_REQUEST psn=0 msn=0" :
				      less == 1 ? "NAK_REMOTE_ACCESS psn=0 msn=0" :
				      reads     ? "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024" :
						  "ACK psn=0 credit=31 msn=0");
			munmap(memory, bytes);
			pair_close(pair);
		}
	}
}

/* ---- one word that everybody adds to ---- */

#define THREADS 4u
#define QPS_A_THREAD 16u
#define ADDS 500u

static _Alignas(8) uint64_t word;
static _Atomic bool done;

/* The responders of a few QPs, each of a pair of its own. */
static void *add_remotely(void *nothing)
{
	for (uint32_t i = 0; i < QPS_A_THREAD; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		int error;
		uint32_t key = rc_mr_insert(&pair->side[B].mrs, 1, (uint8_t *)&word, sizeof(word),
					    UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ATOMIC, &error);

		for (uint32_t psn = 0; psn < ADDS; psn++)
			pair_request(pair, (struct wire_packet){ .opcode = OP_FETCH_ADD,
								 .psn = psn,
								 .va = (uintptr_t)&word,
								 .rkey = key,
								 .swap_add = 3 });
		pair_close(pair);
	}
	return nothing;
}

static void *add_locally(void *count)
{
	while (!done) {
		__atomic_fetch_add(&word, 1ull << 32, __ATOMIC_RELAXED);
		++*(uint64_t *)count;
	}
	return NULL;
}

/* TC-D-10: atomic with respect to other QPs on other lcores, and to the application's own instructions. */
Test(memory, atomics_of_64_qps_and_the_application_add_up)
{
	pthread_t threads[THREADS], local;
	uint64_t count = 0;

	RULE("S-7");
	word = 0;
	cr_assert_eq(pthread_create(&local, NULL, add_locally, &count), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, add_remotely, NULL), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	done = true;
	pthread_join(local, NULL);
	cr_assert_eq((uint32_t)word, THREADS * QPS_A_THREAD * ADDS * 3);
	cr_assert_eq(word >> 32, count & 0xFFFFFFFF);
}
