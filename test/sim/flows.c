/* flows.c - reading plans */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/flows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"

#define LINE_BYTES 256
#define FLOW_BYTES 2000000u

#define BUFFER_BYTES (1u << 20)
#define NECK_MBPS_MAX 100000u
#define PERMUTATION_LEAVES 4u /* and as many spines as a leaf has hosts: what goes up fits */

/* 100 Gbit/s and 1 us. */
static const struct sim_port_limits usual_limits = { .byte_ps = 80, .delay_ns = 1000, .pmax = 1000000 };

static bool add_flow(struct sim_plan *plan, struct sim_flow flow)
{
	uint32_t highest = flow.from > flow.to ? flow.from : flow.to;

	if (flow.from == flow.to || highest >= PLAN_HOSTS_MAX || flow.bytes == 0 || flow.bytes > PLAN_BYTES_MAX ||
	    plan->flow_count == PLAN_FLOWS_MAX)
		return false;
	if (highest >= plan->hosts)
		plan->hosts = highest + 1;
	if (flow.bytes > plan->largest)
		plan->largest = flow.bytes;
	plan->flows[plan->flow_count++] = flow;
	return true;
}

/* N[:BYTES] */
static bool read_count(const char *words, uint32_t *count, uint32_t *bytes)
{
	int end = 0;

	*bytes = FLOW_BYTES;
	if (sscanf(words, "%u%n", count, &end) != 1)
		return false;
	words += end;
	end = 0;
	if (*words == ':' && sscanf(words, ":%u%n", bytes, &end) != 1)
		return false;
	return words[end] == '\0' && *count > 0;
}

/* N hosts that send to host 0 at once. */
static bool make_incast(const char *words, struct sim_plan *plan)
{
	uint32_t senders, bytes;

	if (!read_count(words, &senders, &bytes))
		return false;
	for (uint32_t i = 1; i <= senders; i++) {
		if (!add_flow(plan, (struct sim_flow){ .from = i, .to = 0, .bytes = bytes }))
			return false;
	}
	return true;
}

/* Each of N hosts sends to another one, drawn once for all seeds: a cycle through all of them. */
static bool make_permutation(const char *words, struct sim_plan *plan)
{
	struct sim_random random = random_stream(1, 2, 3);
	uint32_t order[PLAN_HOSTS_MAX], hosts, bytes;

	if (!read_count(words, &hosts, &bytes) || hosts > PLAN_HOSTS_MAX || hosts % PERMUTATION_LEAVES)
		return false;
	plan->leaves = PERMUTATION_LEAVES;
	plan->spines = hosts / PERMUTATION_LEAVES;
	for (uint32_t i = 0; i < hosts; i++) {
		uint32_t place = (uint32_t)random_below(&random, i + 1);

		order[i] = order[place];
		order[place] = i;
	}
	for (uint32_t i = 0; i < hosts; i++) {
		if (!add_flow(plan,
			      (struct sim_flow){ .from = order[i], .to = order[(i + 1) % hosts], .bytes = bytes }))
			return false;
	}
	return true;
}

static bool read_line(const char *line, struct sim_plan *plan)
{
	struct sim_flow flow;
	char more;

	line += strspn(line, " \t\n");
	if (*line == '\0' || *line == '#')
		return true;
	return sscanf(line, "%u->%u start %lu size %u %c", &flow.from, &flow.to, &flow.start_ns, &flow.bytes, &more) ==
		       4 &&
	       add_flow(plan, flow);
}

static bool read_flows(const char *path, struct sim_plan *plan, const char **why)
{
	static char said[LINE_BYTES + 64];
	FILE *file = fopen(path, "r");
	char line[LINE_BYTES];
	bool right = true;

	if (file == NULL) {
		snprintf(said, sizeof(said), "cannot be read: %s", strerror(errno));
		*why = said;
		return false;
	}
	while (right && fgets(line, sizeof(line), file))
		right = read_line(line, plan);
	fclose(file);
	if (!right) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(said, sizeof(said), "a line that is no flow: '%s'", line);
		*why = said;
	} else if (plan->flow_count == 0) {
		*why = "no flow in it";
	}
	return right && plan->flow_count > 0;
}

/* LEAVES:SPINES:FILE */
static bool make_leaf_spine(const char *words, struct sim_plan *plan, const char **why)
{
	int end = 0;

	if (sscanf(words, "%u:%u:%n", &plan->leaves, &plan->spines, &end) != 2 || end == 0 || plan->leaves == 0 ||
	    plan->leaves > PLAN_SWITCHES_MAX || plan->spines == 0 || plan->spines > PLAN_SWITCHES_MAX)
		return false;
	return read_flows(words + end, plan, why);
}

/* MBPS:FILE */
static bool make_neck(const char *words, struct sim_plan *plan, const char **why)
{
	uint32_t mbps;
	int end = 0;

	if (sscanf(words, "%u:%n", &mbps, &end) != 1 || end == 0 || mbps == 0 || mbps > NECK_MBPS_MAX)
		return false;
	plan->leaves = 2;
	plan->neck_byte_ps = 8000000 / mbps;
	return read_flows(words + end, plan, why);
}

bool sim_plan_make(const char *words, struct sim_plan *plan, const char **why)
{
	static const char *const shapes[] = { "incast:", "permutation:", "leaf-spine:", "neck:", "star:", "dumbbell:" };
	uint32_t shape = 0;

	*plan = (struct sim_plan){ .leaves = 1, .limits = usual_limits };
	sim_plan_set_buffer(plan, BUFFER_BYTES);
	plan->flows = calloc(PLAN_FLOWS_MAX, sizeof(*plan->flows));
	*why = "not incast:N[:BYTES], permutation:N[:BYTES] of 4, 8, 12 ... hosts, star:FILE, dumbbell:FILE, "
	       "neck:MBPS:FILE or leaf-spine:LEAVES:SPINES:FILE, with up to 254 hosts, 64 leaves and spines, and "
	       "100000 Mbit/s";
	while (shape < 6 && strncmp(words, shapes[shape], strlen(shapes[shape])) != 0)
		shape++;
	if (shape == 6)
		return false;
	words += strlen(shapes[shape]);
	if (shape == 0)
		return make_incast(words, plan);
	if (shape == 1)
		return make_permutation(words, plan);
	if (shape == 2)
		return make_leaf_spine(words, plan, why);
	if (shape == 3)
		return make_neck(words, plan, why);
	plan->leaves = shape == 4 ? 1 : 2;
	return read_flows(words, plan, why);
}

void sim_plan_set_buffer(struct sim_plan *plan, uint64_t bytes)
{
	plan->limits.limit = bytes;
	plan->limits.kmin = bytes / 5;
	plan->limits.kmax = bytes / 5 * 4;
}

bool sim_plan_read_sacks(const char *word, enum sim_sacks *sacks)
{
	static const char *const words[] = { [SACKS_NONE] = "none", [SACKS_EVEN] = "even", [SACKS_ALL] = "all" };

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) == 0) {
			*sacks = (enum sim_sacks)i;
			return true;
		}
	}
	return false;
}

bool sim_plan_has_sacks(const struct sim_plan *plan, const struct sim_flow *flow)
{
	return plan->sacks == SACKS_ALL || (plan->sacks == SACKS_EVEN && flow->from % 2 == 0 && flow->to % 2 == 0);
}

uint32_t sim_plan_leaf(const struct sim_plan *plan, uint32_t host)
{
	return host / ((plan->hosts + plan->leaves - 1) / plan->leaves);
}

void sim_plan_forget(struct sim_plan *plan)
{
	free(plan->flows);
	plan->flows = NULL;
}
