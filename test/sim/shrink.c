/* shrink.c - fewer requests, fewer kinds of faults, then fewer faults: while it still fails */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/shrink.h"

#define ATTEMPTS 600u /* runs that shrinking may take */

struct shrink {
	struct sim_options options; /* of the smallest run that fails */
	struct sim_memory *memory;
	struct sim_world *world;
	uint64_t *names; /* its faults, sorted */
	uint32_t count;
	uint32_t attempts;
	char failure[SIM_TEXT_BYTES];
};

/* The same objection, whatever the numbers in it. */
static bool is_alike(const char *a, const char *b)
{
	for (;;) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (*a != *b)
			return false;
		if (*a == '\0')
			return true;
		a++;
		b++;
	}
}

/* Runs it. When it fails it is the smallest so far: its failure and the faults that it met are kept. */
static bool still_fails(struct shrink *shrink, const struct sim_options *options)
{
	struct sim_world *world = shrink->world;
	bool failed;

	if (shrink->attempts++ >= ATTEMPTS)
		return false;
	sim_world_run(world, options, shrink->memory);
	failed = world->failed && (shrink->failure[0] == '\0' || is_alike(world->failure, shrink->failure));
	if (failed) {
		uint64_t *names = malloc((world->faults.count + 1) * sizeof(*names));

		for (uint32_t i = 0; i < world->faults.count; i++)
			names[i] = world->faults.journal[i].name;
		sim_fault_sort(names, world->faults.count);
		free(shrink->names);
		shrink->names = names;
		shrink->count = world->faults.count;
		shrink->options = *options;
		shrink->options.allowed = names;
		shrink->options.allowed_count = shrink->count;
		memcpy(shrink->failure, world->failure, sizeof(shrink->failure));
	}
	sim_world_forget(world);
	return failed;
}

static void try_fewer_requests(struct shrink *shrink)
{
	uint32_t low = 1, high;
	struct sim_config config;

	sim_swarm_draw(&shrink->options, &config);
	high = config.messages;
	while (low < high) {
		struct sim_options options = shrink->options;

		options.messages = (low + high) / 2;
		options.allowed = NULL; /* other requests meet other faults */
		if (still_fails(shrink, &options))
			high = options.messages;
		else
			low = options.messages + 1;
	}
}

static void try_fewer_kinds(struct shrink *shrink)
{
	for (uint32_t kind = 0; kind < FAULT_KINDS; kind++) {
		struct sim_options options = shrink->options;

		options.off |= 1u << kind;
		if (options.off != shrink->options.off)
			still_fails(shrink, &options);
	}
}

/* Leaves out a part of the list at a time, smaller and smaller parts. */
static void try_fewer_faults(struct shrink *shrink)
{
	for (uint32_t part = (shrink->count + 1) / 2; part > 0; part = part > 1 ? (part + 1) / 2 : 0) {
		for (uint32_t from = 0; from < shrink->count;) {
			struct sim_options options = shrink->options;
			uint32_t until = from + part < shrink->count ? from + part : shrink->count;
			uint64_t *fewer = malloc((shrink->count + 1) * sizeof(*fewer));
			uint32_t count = 0;

			for (uint32_t i = 0; i < shrink->count; i++) {
				if (i < from || i >= until)
					fewer[count++] = shrink->names[i];
			}
			options.allowed = fewer;
			options.allowed_count = count;
			if (!still_fails(shrink, &options))
				from += part;
			free(fewer);
		}
	}
}

static void print_command(const struct shrink *shrink)
{
	const struct sim_options *options = &shrink->options;

	printf("  repeat:  uroce-sim --seed %lu --runs 1", options->seed);
	if (options->messages != UINT32_MAX)
		printf(" --messages %u", options->messages);
	if (options->connections != UINT32_MAX)
		printf(" --qps %u", options->connections);
	for (uint32_t kind = 0; kind < FAULT_KINDS; kind++) {
		if (options->rates[kind] != UINT32_MAX)
			printf(" --%s %u.%06u", sim_fault_names[kind], options->rates[kind] / MILLION,
			       options->rates[kind] % MILLION);
	}
	if (shrink->count > 100)
		printf(" --trace  (with all faults: the list is long)\n");
	else
		printf(" --only ");
	for (uint32_t i = 0; shrink->count <= 100 && i < shrink->count; i++)
		printf("%s%lx", i ? "," : "", shrink->names[i]);
	printf("%s", shrink->count == 0 ? "none --trace\n" : shrink->count <= 100 ? " --trace\n" : "");
}

/* The last run again, for its journal: the faults in the order in which they happened. */
static void print_faults(struct shrink *shrink)
{
	struct sim_world *world = shrink->world;

	sim_world_run(world, &shrink->options, shrink->memory);
	printf("  %u requests, %u faults:\n", world->posted, world->faults.count);
	sim_swarm_print(&world->config);
	for (uint32_t i = 0; i < world->faults.count && i < 200; i++) {
		const struct sim_fault *fault = &world->faults.journal[i];
		enum sim_fault_kind kind = (enum sim_fault_kind)(fault->name >> 56);
		uint64_t number = fault->name & 0xFFFFFFFFFFFFFFull;

		printf("    %12.3f us  %-9s ", (double)fault->when_ns / 1000, sim_fault_names[kind]);
		if (kind <= FAULT_REPLAY)
			printf("QP %lu, its frame %lu\n", number >> 32, number & UINT32_MAX);
		else
			printf("QP %lu, life %lu, at its request %lu\n", number >> 40, number >> 32 & 0xFF,
			       number & UINT32_MAX);
	}
	printf("    %12.3f us  %s\n", (double)world->now_ns / 1000, world->failure);
	sim_world_forget(world);
}

void sim_shrink_report(const struct sim_options *options, struct sim_memory *memory, const char *commit)
{
	struct shrink shrink = { .memory = memory, .world = malloc(sizeof(struct sim_world)) };
	struct sim_options quiet = *options;

	quiet.trace = false;
	if (!still_fails(&shrink, &quiet)) {
		printf("seed %lu failed once and not again: the simulator is not deterministic\n", options->seed);
		free(shrink.world);
		return;
	}
	printf("FAILED seed %lu, commit %s: %s\n", options->seed, commit, shrink.failure);
	if (options->allowed == NULL) {
		try_fewer_requests(&shrink);
		try_fewer_kinds(&shrink);
		try_fewer_faults(&shrink);
	}
	print_command(&shrink);
	print_faults(&shrink);
	free(shrink.names);
	free(shrink.world);
}
