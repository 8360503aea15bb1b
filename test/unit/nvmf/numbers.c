/* numbers.c - paths of hosts: remembered, told apart, and forgotten by a rule */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/numbers.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct nvmf_paths paths;

static struct nvmf_path_name name_of(uint8_t address, uint32_t number)
{
	struct nvmf_path_name name = { .peer = { address } };

	snprintf(name.host_nqn, sizeof(name.host_nqn), "nqn.2014-08.org.example:%u", number);
	return name;
}

static struct nvmf_path *enter(uint8_t address, uint32_t number)
{
	struct nvmf_path_name name = name_of(address, number);

	return nvmf_path_enter(&paths, &name);
}

static void come_and_go(uint8_t address, uint32_t number)
{
	struct nvmf_path *path = enter(address, number);

	cr_assert_not_null(path);
	path->numbers.known[0] = true;
	nvmf_path_leave(&paths, path);
}

static bool is_remembered(uint8_t address, uint32_t number)
{
	struct nvmf_path_name name = name_of(address, number);

	for (uint32_t i = 0; i < NVMF_PATHS_MAX; i++) {
		const struct nvmf_path *path = paths.all[i];

		if (path && strcmp(path->name.host_nqn, name.host_nqn) == 0 && path->name.peer[0] == address)
			return true;
	}
	return false;
}

Test(numbers, number_refers_to_the_last_identified_disk)
{
	struct nvmf_numbers numbers = { 0 };
	struct nvmf_namespace one = { .nsid = 128, .uuid = { 1 } }, other = { .nsid = 128, .uuid = { 2 } };

	cr_expect_not(numbers_mean(&numbers, 128, &one));
	cr_expect_not(numbers_mean(&numbers, 128, NULL));
	numbers_learn(&numbers, &one);
	cr_expect(numbers_mean(&numbers, 128, &one));
	cr_expect_not(numbers_mean(&numbers, 128, &other));
	cr_expect_not(numbers_mean(&numbers, 128, NULL), "the number is free");
	numbers_learn(&numbers, &other);
	cr_expect_not(numbers_mean(&numbers, 128, &one));
	cr_expect(numbers_mean(&numbers, 128, &other));
}

Test(numbers, path_is_shared_by_its_controllers)
{
	struct nvmf_path *first = enter(1, 1);

	cr_expect_eq(enter(1, 1), first);
	nvmf_path_leave(&paths, first);
	nvmf_path_leave(&paths, first);
	cr_expect_eq(first->controllers, 0);
	cr_expect_eq(enter(1, 1), first, "remembered");
	cr_expect_neq(enter(1, 2), first, "another host");
	cr_expect_neq(enter(2, 1), first, "another address");
	nvmf_paths_free(&paths);
}

/* Else one address that connects under many names would make the target forget the other hosts. */
Test(numbers, new_path_evicts_the_oldest_of_the_largest_address)
{
	uint32_t many = NVMF_PATHS_MAX - 10;

	for (uint32_t i = 0; i < 10; i++)
		come_and_go(1, i);
	for (uint32_t i = 0; i < many; i++)
		come_and_go(2, i);
	come_and_go(2, 0); /* which makes it the newest */
	for (uint32_t i = 0; i < 100; i++)
		come_and_go(2, 10000 + i);
	come_and_go(3, 0);
	for (uint32_t i = 0; i < 10; i++)
		cr_expect(is_remembered(1, i), "%u", i);
	cr_expect(is_remembered(3, 0));
	cr_expect(is_remembered(2, 0), "it came again");
	for (uint32_t i = 1; i <= 101; i++)
		cr_expect_not(is_remembered(2, i), "%u", i);
	cr_expect(is_remembered(2, 102));
	nvmf_paths_free(&paths);
}

Test(numbers, path_with_a_controller_is_not_replaced)
{
	struct nvmf_path *first = enter(1, 0), *second = enter(1, 1);

	for (uint32_t i = 2; i < NVMF_PATHS_MAX + 2; i++)
		come_and_go(1, i);
	cr_expect_eq(enter(1, 0), first);
	cr_expect_eq(enter(1, 1), second);
	for (uint32_t i = 2; i < NVMF_PATHS_MAX; i++)
		cr_assert_not_null(enter(2, i));
	cr_expect_null(enter(3, 0), "each has a controller");
	for (int i = 0; i < 2; i++)
		nvmf_path_leave(&paths, second);
	cr_expect_not_null(enter(3, 0));
	cr_expect_not(is_remembered(1, 1));
	nvmf_paths_free(&paths);
}
