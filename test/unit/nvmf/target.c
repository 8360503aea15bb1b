/* target.c - what a target has: its limits, subsystems, namespaces, addresses, and who may see them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/target.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nvmf/change.h"
#include "nvmf_host.h"

Test(target, limits_have_defaults)
{
	struct nvmf_config config = { 0 };
	struct nvmf_target target;

	memset(&target, 0xEE, sizeof(target));
	cr_assert_eq(nvmf_target_init(&target, &config), 0);
	cr_expect_eq(target.config.queue_depth, 128);
	cr_expect_eq(target.config.io_queues, 128);
	cr_expect_eq(target.config.in_capsule_bytes, 0);
	cr_expect_eq(target.config.max_data_bytes, 1u << 20);
	cr_expect_eq(target.subsystem_count, 0);
	cr_expect_eq(target.address_count, 0);
	nvmf_target_free(&target);
}

Test(target, each_limit_has_a_range)
{
	static const struct {
		const char *what;
		struct nvmf_config config;
		int error;
	} rows[] = {
		{ "depth 1", { .queue_depth = 1 }, -EINVAL },
		{ "depth 2", { .queue_depth = 2 }, 0 },
		{ "depth 1024", { .queue_depth = 1024 }, 0 },
		{ "depth 1025", { .queue_depth = 1025 }, -EINVAL },
		{ "1 queue", { .io_queues = 1 }, 0 },
		{ "128 queues", { .io_queues = 128 }, 0 },
		{ "129 queues", { .io_queues = 129 }, -EINVAL },
		{ "in capsule 15", { .in_capsule_bytes = 15 }, -EINVAL },
		{ "in capsule 16", { .in_capsule_bytes = 16 }, 0 },
		{ "in capsule 4104", { .in_capsule_bytes = 4104 }, -EINVAL },
		{ "in capsule 16384", { .in_capsule_bytes = 16384 }, 0 },
		{ "in capsule 16400", { .in_capsule_bytes = 16400 }, -EINVAL },
		{ "data 2048", { .max_data_bytes = 2048 }, -EINVAL },
		{ "data 4096", { .max_data_bytes = 4096 }, 0 },
		{ "data 12288", { .max_data_bytes = 12288 }, -EINVAL },
		{ "data 1 MiB", { .max_data_bytes = 1 << 20 }, 0 },
		{ "data 2 MiB", { .max_data_bytes = 2 << 20 }, -EINVAL },
	};
	struct nvmf_target target;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(nvmf_target_init(&target, &rows[i].config), rows[i].error, "%s", rows[i].what);
}

Test(target, nqn_follows_the_specification)
{
	static const struct {
		const char *nqn;
		bool valid;
	} rows[] = {
		{ "nqn.2016-06.org.example:disk1", true },
		{ "nqn.2016-06.org.example", true },
		{ "nqn.2014-08.org.nvmexpress.discovery", true },
		{ "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", true },
		{ "nqn.2016-06.a", true },
		{ "nqn.2016-06.", false },
		{ "nqn.2016-06", false },
		{ "", false },
		{ "nqn.", false },
		{ "iqn.2016-06.org.example:disk1", false },
		{ "NQN.2016-06.org.example:disk1", false },
		{ "nqn.2016.06.org.example:disk1", false },
		{ "nqn.216-06.org.example:disk1", false },
		{ "nqn.201x-06.org.example:disk1", false },
		{ "nqn.2016-0x.org.example:disk1", false },
		{ "nqn.2016-06-org.example:disk1", false },
		{ "nqn.2016-06.org.example:disk 1", false },
		{ "nqn.2016-06.org.example:disk\n", false },
		{ "nqn.2016-06.org.example:disk\x7F", false },
	};
	char longest[NVME_NQN_BYTES] = "nqn.2016-06.org.example:";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(nvmf_nqn_is_valid(rows[i].nqn), rows[i].valid, "%s", rows[i].nqn);
	memset(longest + strlen(longest), 'x', 223 - strlen(longest));
	cr_expect(nvmf_nqn_is_valid(longest), "223 bytes");
	longest[223] = 'x';
	cr_expect_not(nvmf_nqn_is_valid(longest), "224 bytes");
}

Test(target, subsystems_are_found_by_unique_name)
{
	struct nvmf_host *host = host_open(NULL);
	static struct nvmf_subsystem more[NVMF_SUBSYSTEMS_MAX];
	uint64_t generation = host->target.discovery_generation;

	cr_expect_eq(nvmf_target_find(&host->target, HOST_DISK), &host->disk);
	cr_expect_eq(nvmf_target_find(&host->target, HOST_OTHER), &host->other);
	cr_expect_null(nvmf_target_find(&host->target, "nqn.2016-06.org.example:disk2"));
	cr_expect_null(nvmf_target_find(&host->target, "nqn.2016-06.org.example:dis"));
	strcpy(more[0].nqn, HOST_DISK);
	cr_expect_eq(nvmf_target_add_subsystem(&host->target, &more[0]), -EEXIST);
	strcpy(more[0].nqn, "disk");
	cr_expect_eq(nvmf_target_add_subsystem(&host->target, &more[0]), -EINVAL);
	strcpy(more[0].nqn, NVME_DISCOVERY_NQN);
	cr_expect_eq(nvmf_target_add_subsystem(&host->target, &more[0]), -EINVAL);
	cr_expect_eq(host->target.discovery_generation, generation, "nothing has changed");
	for (uint32_t i = 0; i < NVMF_SUBSYSTEMS_MAX; i++) {
		int wanted = i < NVMF_SUBSYSTEMS_MAX - 2 ? 0 : -ENOSPC;

		snprintf(more[i].nqn, sizeof(more[i].nqn), "nqn.2016-06.org.example:more%u", i);
		cr_expect_eq(nvmf_target_add_subsystem(&host->target, &more[i]), wanted, "%u", i);
	}
	cr_expect_eq(nvmf_target_find(&host->target, more[29].nqn), &more[29]);
	cr_expect_eq(host->target.discovery_generation, generation + 30);
	host_close(host);
}

Test(target, number_of_addresses_is_limited)
{
	struct nvmf_address address = { NVME_FAMILY_IPV4, "10.9.0.3", "4420", 1 };
	struct nvmf_host *host = host_open(NULL);
	uint64_t generation = host->target.discovery_generation;

	for (uint32_t i = 0; i < NVMF_ADDRESSES_MAX; i++)
		cr_expect_eq(nvmf_target_add_address(&host->target, &address), 0);
	cr_expect_eq(nvmf_target_add_address(&host->target, &address), -ENOSPC);
	cr_expect_eq(host->target.discovery_generation, generation + NVMF_ADDRESSES_MAX);
	host_close(host);
}

Test(target, namespace_takes_its_number_or_the_first_free)
{
	struct nvmf_host *host = host_open(NULL);
	static struct nvmf_namespace more[NVMF_NAMESPACES_MAX];

	for (uint32_t i = 0; i < NVMF_NAMESPACES_MAX; i++)
		more[i] = (struct nvmf_namespace){ .block_bytes = 512, .blocks = 1 };
	more[0].nsid = 1;
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[0]), -EEXIST);
	more[0].nsid = 4;
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[0]), 0);
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[1]), 0);
	cr_expect_eq(more[1].nsid, 3);
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[2]), 0);
	cr_expect_eq(more[2].nsid, 5);
	cr_expect_eq(nvmf_subsystem_find(&host->disk, 5), &more[2]);
	cr_expect_null(nvmf_subsystem_find(&host->disk, 0));
	cr_expect_null(nvmf_subsystem_find(&host->disk, 6));
	cr_expect_null(nvmf_subsystem_find(&host->disk, NVMF_NAMESPACES_MAX + 1));
	cr_expect_null(nvmf_subsystem_find(&host->disk, NVME_NSID_ALL));
	for (uint32_t i = 3; i < NVMF_NAMESPACES_MAX - 2; i++)
		cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[i]), 0, "%u", i);
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[126]), -ENOSPC);
	cr_expect_eq(nvmf_subsystem_find(&host->disk, NVMF_NAMESPACES_MAX), &more[125]);
	cr_expect_eq(nvmf_subsystem_remove(&host->target, &host->disk, 77), 0);
	cr_expect_null(nvmf_subsystem_find(&host->disk, 77));
	cr_expect_eq(nvmf_subsystem_remove(&host->target, &host->disk, 77), -ENOENT);
	cr_expect_eq(nvmf_subsystem_remove(&host->target, &host->disk, 0), -ENOENT);
	cr_expect_eq(nvmf_subsystem_remove(&host->target, &host->disk, 129), -ENOENT);
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[126]), 0);
	cr_expect_eq(more[126].nsid, 77);
	host_close(host);
}

/* Else a host would go on with the one it knew, in the other. */
Test(target, number_is_free_when_all_hosts_have_read_its_removal)
{
	static const char *const ways[] = { "the list of changes", "the active list", "a reset", "it goes" };
	struct nvmf_namespace other = { .nsid = 2, .block_bytes = 512, .blocks = 1 };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct nvmf_host *host = host_open(NULL);
		struct nvmf_namespace unnumbered = { .block_bytes = 512, .blocks = 1 };

		host_login(host, HOST_DISK);
		host_expect(host, &host->admin, sqe_identify(i % 2 ? 0 : 3, 2), NVME_OK, "it is known");
		cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 2), 0);
		cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &other), -EBUSY, "%s", ways[i]);
		cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &unnumbered), 0);
		cr_expect_eq(unnumbered.nsid, 3, "%s", ways[i]);
		if (i == 0)
			host_expect(host, &host->admin, sqe_log(0x04, 0, 4096), NVME_OK, ways[i]);
		else if (i == 1)
			host_expect(host, &host->admin, sqe_identify(2, 1), NVME_OK, ways[i]);
		else if (i == 2)
			host_expect(host, &host->admin, sqe_property_set(0x14, 0x460000), NVME_OK, ways[i]);
		else
			nvmf_queue_close(&host->admin);
		cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &other), 0, "%s", ways[i]);
		host_close(host);
	}
}

Test(target, host_that_never_knew_a_number_does_not_reserve_it)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_namespace other = { .nsid = 2, .block_bytes = 512, .blocks = 1 };

	host_login(host, HOST_DISK);
	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "another one is known");
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 2), 0);
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &other), 0);
	host_close(host);
}

Test(target, namespace_size_must_fit_a_byte_count)
{
	static const struct {
		const char *what;
		uint32_t nsid, block_bytes;
		uint64_t blocks;
		int error;
	} rows[] = {
		{ "no blocks", 10, 512, 0, -EINVAL },
		{ "blocks of none", 10, 0, 1, -EINVAL },
		{ "blocks of 520", 10, 520, 1, -EINVAL },
		{ "blocks of 1024", 10, 1024, 1, -EINVAL },
		{ "blocks of 8192", 10, 8192, 1, -EINVAL },
		{ "nsid 129", 129, 512, 1, -EINVAL },
		{ "nsid of all", NVME_NSID_ALL, 512, 1, -EINVAL },
		{ "2^64 bytes by 512", 10, 512, 1ull << 55, -EINVAL },
		{ "2^64 bytes by 4096", 10, 4096, 1ull << 52, -EINVAL },
		{ "all that can be counted", 10, 512, (1ull << 55) - 1, 0 },
		{ "the same by 4096", 11, 4096, (1ull << 52) - 1, 0 },
		{ "nsid 128", 128, 512, 1, 0 },
	};
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_namespace space[sizeof(rows) / sizeof(rows[0])];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		space[i] = (struct nvmf_namespace){ .nsid = rows[i].nsid,
						    .block_bytes = rows[i].block_bytes,
						    .blocks = rows[i].blocks };
		cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &space[i]), rows[i].error, "%s",
			     rows[i].what);
	}
	host_close(host);
}

Test(target, a_subsystem_admits_its_hosts_or_all)
{
	struct nvmf_host *host = host_open(NULL);

	cr_expect(nvmf_subsystem_admits(&host->disk, HOST_NQN));
	strcpy(host->disk.hosts[0], "nqn.2016-06.org.example:host1");
	strcpy(host->disk.hosts[1], "nqn.2016-06.org.example:host2");
	host->disk.host_count = 2;
	cr_expect(nvmf_subsystem_admits(&host->disk, "nqn.2016-06.org.example:host1"));
	cr_expect(nvmf_subsystem_admits(&host->disk, "nqn.2016-06.org.example:host2"));
	cr_expect_not(nvmf_subsystem_admits(&host->disk, HOST_NQN));
	cr_expect_not(nvmf_subsystem_admits(&host->disk, "nqn.2016-06.org.example:host"));
	cr_expect_not(nvmf_subsystem_admits(&host->disk, ""));
	cr_expect(nvmf_subsystem_admits(&host->other, HOST_NQN));
	host_close(host);
}

Test(target, changes_are_reported_to_affected_controllers)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue other = { 0 }, discovery = { 0 };
	struct nvmf_controller *mine = host_login(host, HOST_DISK);
	struct nvmf_address address = { NVME_FAMILY_IPV4, "10.9.0.3", "4420", 1 };

	cr_assert_eq(host_connect(host, &other, HOST_OTHER, 0, 0xFFFF), NVME_OK);
	cr_assert_eq(host_connect(host, &discovery, NVME_DISCOVERY_NQN, 0, 0xFFFF), NVME_OK);
	host_enable(host, &other);
	host_enable(host, &discovery);
	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
	host_expect(host, &other, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
	host_expect(host, &discovery, sqe_set_feature(0x0B, 0x80000000), NVME_OK, "events");
	nvmf_subsystem_changed(&host->target, &host->disk, 2);
	cr_expect_eq(mine->events_due, NVME_EVENT_NAMESPACE);
	cr_expect_eq(other.controller->events_due, 0);
	cr_expect_eq(discovery.controller->events_due, 0);
	cr_expect_eq(nvmf_target_add_address(&host->target, &address), 0);
	cr_expect_eq(other.controller->events_due, 0);
	cr_expect_eq(discovery.controller->events_due, NVME_EVENT_DISCOVERY);
	nvmf_queue_close(&other);
	nvmf_queue_close(&discovery);
	host_close(host);
}
