/* namespace.c - adds up the counts of all threads that serve a namespace */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/namespace.h"

#include <stddef.h>

/* A thread may be counting meanwhile. */
void nvmf_counts_add(struct nvmf_counts *sum, const struct nvmf_counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

struct nvmf_counts nvmf_namespace_counts(const struct nvmf_namespace *namespace)
{
	struct nvmf_counts sum = { 0 };

	for (uint32_t i = 0; i < NVMF_THREADS_MAX; i++)
		nvmf_counts_add(&sum, &namespace->shares[i].counts);
	return sum;
}

uint32_t nvmf_namespace_under_way(const struct nvmf_namespace *namespace)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < NVMF_THREADS_MAX; i++)
		sum += namespace->shares[i].under_way;
	return sum;
}
