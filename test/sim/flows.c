/* flows.c - reading plans */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/flows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 256
#define INCAST_BYTES 2000000u

/* 100 Gbit/s, 1 us, and 1 MiB a port, of which 20 to 80 % are for marks. */
static const struct sim_port_limits usual_limits = {
	.byte_ps = 80,
	.delay_ns = 1000,
	.limit = 1u << 20,
	.kmin = (1u << 20) / 5,
	.kmax = (1u << 20) / 5 * 4,
	.pmax = 1000000,
};

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

/* N hosts that send to host 0 at once. */
static bool make_incast(const char *words, struct sim_plan *plan)
{
	uint32_t senders = 0, bytes = INCAST_BYTES;
	int end = 0;

	if (sscanf(words, "%u%n", &senders, &end) != 1)
		return false;
	if (words[end] == ':') {
		words += end;
		if (sscanf(words, ":%u%n", &bytes, &end) != 1)
			return false;
	}
	if (words[end] != '\0' || senders == 0)
		return false;
	for (uint32_t i = 1; i <= senders; i++) {
		if (!add_flow(plan, (struct sim_flow){ .from = i, .to = 0, .bytes = bytes }))
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

bool sim_plan_make(const char *words, struct sim_plan *plan, const char **why)
{
	*plan = (struct sim_plan){ .limits = usual_limits };
	plan->flows = calloc(PLAN_FLOWS_MAX, sizeof(*plan->flows));
	*why = "not incast:N[:BYTES], star:FILE or dumbbell:FILE, with up to 254 hosts";
	if (strncmp(words, "incast:", 7) == 0)
		return make_incast(words + 7, plan);
	if (strncmp(words, "star:", 5) == 0)
		return read_flows(words + 5, plan, why);
	if (strncmp(words, "dumbbell:", 9) == 0) {
		plan->topology = TOPOLOGY_DUMBBELL;
		return read_flows(words + 9, plan, why);
	}
	return false;
}

void sim_plan_forget(struct sim_plan *plan)
{
	free(plan->flows);
	plan->flows = NULL;
}
