/* file_jobs.c - more requests for a file than threads have jobs: they wait, and addresses have their jobs in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "nvmet/kind.h"
#include "nvmet/ring.h"

#define REQUESTS 3000u
#define PATIENCE_NS 60000000000ull

TestSuite(file_jobs, .timeout = 100);

/* Of the hosts at an address. */
struct address {
	struct turn turn;
	struct store_request *requests;
	uint32_t count, well, badly;
	bool left;
};

struct site {
	struct store *store;
	struct ring *ring;
	uint8_t *memory;
	struct address greedy, other;
};

static const struct nvmf_block flush = { .op = NVMF_BLOCK_FLUSH };

static void flushed(struct store_request *request, uint16_t status)
{
	struct address *address = (struct address *)(void *)((char *)request->turn - offsetof(struct address, turn));

	address->well += status == NVME_OK;
	address->badly += status != NVME_OK;
}

static void ask(struct site *site, struct address *address, uint32_t count)
{
	address->requests = calloc(count, sizeof(*address->requests));
	cr_assert(address->requests);
	address->count = count;
	for (uint32_t i = 0; i < count; i++) {
		address->requests[i] = (struct store_request){ .store = site->store,
							       .ring = site->ring,
							       .block = &flush,
							       .turn = &address->turn,
							       .left = &address->left,
							       .done = flushed };
		store_submit(&address->requests[i]);
	}
}

static void open_site(struct site *site)
{
	char path[] = "/tmp/uroce-jobs-XXXXXX", error[STORE_ERROR_BYTES];
	const struct store_config config = {
		.kind = STORE_FILE, .path = path, .bytes = 1 << 20, .block_bytes = 512, .buffered = true
	};
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	site->store = store_open(&config, 1, error);
	unlink(path);
	cr_assert(site->store, "%s", error);
	site->memory = aligned_alloc(4096, 4096);
	site->ring = ring_open(site->memory, 4096, true, error, sizeof(error));
	cr_assert(site->ring);
	STAILQ_INIT(&site->greedy.turn.works);
	STAILQ_INIT(&site->other.turn.works);
}

static void work(struct site *site, const struct address *address)
{
	uint64_t until_ns = app_now_ns() + PATIENCE_NS;

	while (address->well + address->badly < address->count) {
		cr_assert_lt(app_now_ns(), until_ns, "requests are forgotten");
		ring_poll(site->ring);
	}
}

static void close_site(struct site *site)
{
	ring_close(site->ring);
	store_close(site->store);
	free(site->memory);
	free(site->greedy.requests);
	free(site->other.requests);
}

Test(file_jobs, request_without_a_free_job_waits)
{
	struct site site = { 0 };

	open_site(&site);
	ask(&site, &site.greedy, REQUESTS);
	cr_expect_eq(site.greedy.well + site.greedy.badly, 0, "%u are refused", site.greedy.badly);
	work(&site, &site.greedy);
	cr_expect_eq(site.greedy.well, REQUESTS);
	close_site(&site);
}

Test(file_jobs, greedy_address_leaves_every_second_job_to_others)
{
	struct site site = { 0 };

	open_site(&site);
	ask(&site, &site.greedy, REQUESTS);
	ask(&site, &site.other, 1);
	work(&site, &site.other);
	cr_expect_eq(site.other.well, 1);
	cr_expect_lt(site.greedy.well, REQUESTS / 4, "%u were before", site.greedy.well);
	work(&site, &site.greedy);
	cr_expect_eq(site.greedy.badly, 0);
	close_site(&site);
}

Test(file_jobs, waiting_requests_end_with_their_host)
{
	struct site site = { 0 };

	open_site(&site);
	ask(&site, &site.greedy, REQUESTS);
	site.greedy.left = true;
	work(&site, &site.greedy);
	cr_expect_lt(site.greedy.well, REQUESTS / 4, "%u were carried out for nobody", site.greedy.well);
	close_site(&site);
}
