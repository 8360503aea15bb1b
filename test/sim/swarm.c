/* swarm.c - drawing a run from its seed */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Swarm testing: a seed does not use everything a little, it leaves most things out and uses some much. Two faults that
 * only meet when nothing else is going on are found that way.
 */
#include <stdio.h>
#include <string.h>

#include <uroce/qp.h>

#include "config/limits.h"
#include "rc/codes.h"
#include "sim/random.h"
#include "sim/swarm.h"
#include "operations.h"

#define STREAM_CONFIG 0
/* Draws of their own, so that those of the rest stay what they were. */
#define CONFIG_PACE 1
#define CONFIG_CALM 2
#define CONFIG_ORDER 3
#define CONFIG_MARKS 4
#define CONFIG_KEPT 5
#define CONFIG_DELAY 6
#define CONFIG_SWITCHES 7
#define CONFIG_CROWD 8
#define HEADERS_BYTES 100 /* of a packet on a link, or more */
#define HOUR_NS 3600000000000ull
#define HOURS_MESSAGES 20000u

/* One of count values. */
static uint64_t pick(struct sim_random *random, const uint64_t *values, uint32_t count)
{
	return values[random_below(random, count)];
}

#define PICK(random, ...) \
	pick(random, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void draw_limits(struct sim_random *random, struct sim_config *config)
{
	config->nodes = (uint32_t)PICK(random, 2, 2, 2, 3, 4);
	config->connections = (uint32_t)PICK(random, 1, 1, 2, 3, 4, 6, 16);
	config->mtu = (uint32_t)PICK(random, 256, 256, 512, 1024, 1024, 2048, 4096);
	config->depth = (uint32_t)PICK(random, 1, 2, 5, 16, 16, 32, 64, 200);
	config->receives = (uint32_t)PICK(random, 1, 2, 4, 8, 16);
	config->max_packets = (uint32_t)PICK(random, 1, 2, 3, 3, 6, 12, 40);
	if (config->mtu * config->max_packets > 16384)
		config->max_packets = 16384 / config->mtu;
	config->rd_atomic = (uint8_t)PICK(random, 1, 1, 2, 4, 16);
	config->dest_rd_atomic = (uint8_t)(config->rd_atomic + PICK(random, 0, 0, 1, 8));
	config->timeout = (uint8_t)PICK(random, 10, 11, 12, 13, 14);
	config->retry_cnt = (uint8_t)PICK(random, 7, 7, 7, 7, 5, 3, 1, 0);
	config->rnr_retry = (uint8_t)PICK(random, 7, 7, 7, 7, 6, 2, 0);
	config->rnr_timer = (uint8_t)PICK(random, 1, 1, 4, 8, 12, 16);
	config->srq = random_chance(random, 200000);
	config->credits = random_chance(random, 300000);
	config->imprecise = random_chance(random, 200000);
	config->signal_all = random_chance(random, 200000);
	config->no_probe = random_chance(random, 300000);
	config->ipv6 = random_chance(random, 300000);
	config->shared_pd = random_chance(random, 300000);
	config->zero_based = random_chance(random, 500000);
	config->check_first = random_chance(random, 200000);
	config->start_near_wrap = (uint32_t)PICK(random, 0, 300000, MILLION);
	config->lives = (uint32_t)PICK(random, 1, 2, 3);
	config->reuse = random_chance(random, 400000);
	config->srq_limit = (uint32_t)random_below(random, config->receives + 1);
}

static void draw_work(struct sim_random *random, struct sim_config *config)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < OPERATIONS; i++) {
		uint8_t op = operations[i];

		config->weights[op] = (uint32_t)PICK(random, 0, 0, 1, 1, 3, 10);
		if (op == UROCE_WR_LOCAL_INV || op == UROCE_WR_BIND_MW)
			config->weights[op] = (uint32_t)PICK(random, 0, 0, 0, 1);
		if (op == UROCE_WR_SEND_WITH_INV) /* comes in place of a SEND when there is something to invalidate */
			config->weights[op] = 0;
		sum += op != UROCE_WR_LOCAL_INV && op != UROCE_WR_BIND_MW ? config->weights[op] : 0;
	}
	if (sum == 0)
		config->weights[UROCE_WR_RDMA_WRITE] = config->weights[UROCE_WR_RDMA_READ] = 1;
	config->signaled = (uint32_t)PICK(random, 100000, 500000, MILLION);
	config->inlined = (uint32_t)PICK(random, 0, 100000, 500000);
	config->fenced = (uint32_t)PICK(random, 0, 100000, 500000);
	config->two_way = (uint32_t)PICK(random, 0, 500000, MILLION);
	config->app_ns = PICK(random, 300, 2000, 10000, 50000);
	config->post_batch = (uint32_t)PICK(random, 1, 2, 8, 32);
	config->poll_batch = (uint32_t)PICK(random, 1, 4, 32);
	config->receive_delay_ns = PICK(random, 0, 0, 0, 10000, 100000, 1000000);
}

static void draw_network(struct sim_random *random, struct sim_config *config)
{
	config->delay_ns = PICK(random, 500, 2000, 10000, 50000, 200000);
	config->jitter_ns = config->delay_ns * PICK(random, 0, 0, 1, 3) / 2;
	config->poll_ns = PICK(random, 100, 500, 3000);
	config->byte_ps = PICK(random, 40, 80, 320, 800);
	config->late_ns = config->delay_ns * PICK(random, 1, 3, 30, 300);
	config->replay_ns = config->delay_ns * PICK(random, 2, 20, 500);
	config->burst_packets = (uint32_t)PICK(random, 3, 10, 40);
}

/* What one end may have to wait for while all goes well, twice over: a whole window of each QP, and all READs. */
static uint64_t longest_wait_ns(const struct sim_config *config)
{
	const struct sim_pace *pace = &config->pace;
	uint64_t window = config->depth * config->max_packets;
	uint64_t answers = config->rd_atomic * config->max_packets;
	uint64_t each_way = config->delay_ns + config->jitter_ns + config->late_ns;

	if (window > WINDOW_PACKETS)
		window = WINDOW_PACKETS;
	return 2 * (config->connections * (window + answers) * pace->receive_ns + (window + answers) * pace->send_ns +
		    pace->tick_ns + pace->away_ns + 2 * each_way);
}

/* A third of the seeds have a peer that does not keep up, and READs that are long for it. Nobody dies of that. */
static void draw_pace(struct sim_random *random, struct sim_config *config)
{
	struct sim_pace *pace = &config->pace;

	if (!random_chance(random, 333333))
		return;
	*pace = (struct sim_pace){
		.receive_ns = PICK(random, 0, 500, 2000, 5000, 20000),
		.send_ns = PICK(random, 0, 1000, 5000, 30000),
		.tick_ns = PICK(random, 0, 0, 0, 100000, 4000000),
		.away_ns = PICK(random, 0, 0, 0, 1000000, 10000000),
		.early = (uint32_t)PICK(random, 0, 0, 0, 10000, 50000),
		.serial = random_chance(random, 500000),
	};
	pace->away_every_ns = pace->away_ns * PICK(random, 3, 10, 100);
	if (config->mtu <= 512 && config->connections <= 4)
		config->max_packets = (uint32_t)PICK(random, config->max_packets, config->max_packets, 100, 200);
	while (rc_codes_timeout_ns(config->timeout) < longest_wait_ns(config))
		config->timeout++;
}

/*
 * A fourth of the seeds have a wire that does no harm, and all that an ask for an ACK may cross: credits, waits for
 * receives, requests that wait for others, unsignaled ones. What is spent there is spent for nothing (T-3, T-5).
 */
static void draw_calm(struct sim_random *random, struct sim_config *config)
{
	static const enum sim_fault_kind harm[] = { FAULT_LOSS,    FAULT_BURST,    FAULT_DUP,
						    FAULT_REORDER, FAULT_TRUNCATE, FAULT_CORRUPT,
						    FAULT_FORGE,   FAULT_REPLAY,   FAULT_BLACKHOLE };

	if (!random_chance(random, 250000))
		return;
	for (uint32_t i = 0; i < sizeof(harm) / sizeof(harm[0]); i++)
		config->rates[harm[i]] = 0;
	config->pace.early = 0;
	config->credits = random_chance(random, 500000);
	config->no_probe = random_chance(random, 100000);
	config->signaled = (uint32_t)PICK(random, 0, 50000, 300000);
	config->retry_cnt = (uint8_t)PICK(random, 7, 7, 1, 0);
	config->receive_delay_ns = PICK(random, 0, 10000, 100000, 1000000);
	config->weights[UROCE_WR_SEND] += (uint32_t)PICK(random, 0, 3, 10);
	config->weights[UROCE_WR_RDMA_READ] += (uint32_t)PICK(random, 0, 1, 3);
	config->weights[UROCE_WR_BIND_MW] += (uint32_t)PICK(random, 0, 1, 3);
	config->rates[FAULT_DRAIN] = (uint32_t)PICK(random, 0, 0, 100000);
}

static void draw_faults(struct sim_random *random, struct sim_config *config)
{
	uint32_t *rates = config->rates;

	rates[FAULT_LOSS] = (uint32_t)PICK(random, 0, 1000, 10000, 30000, 100000);
	rates[FAULT_BURST] = (uint32_t)PICK(random, 0, 0, 0, 2000, 10000);
	rates[FAULT_DUP] = (uint32_t)PICK(random, 0, 0, 10000, 50000, 300000);
	rates[FAULT_REORDER] = (uint32_t)PICK(random, 0, 0, 10000, 50000, 150000);
	rates[FAULT_TRUNCATE] = (uint32_t)PICK(random, 0, 0, 5000, 20000);
	rates[FAULT_CORRUPT] = (uint32_t)PICK(random, 0, 0, 5000, 20000, 50000);
	rates[FAULT_FORGE] = (uint32_t)PICK(random, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5000, 30000);
	rates[FAULT_REPLAY] = (uint32_t)PICK(random, 0, 0, 10000, 50000);
	/* of requests */
	rates[FAULT_BLACKHOLE] = (uint32_t)PICK(random, 0, 0, 0, 5000, 20000);
	rates[FAULT_PAUSE] = (uint32_t)PICK(random, 0, 0, 0, 10000, 50000);
	rates[FAULT_JUMP] = (uint32_t)PICK(random, 0, 0, 0, 0, 10000);
	rates[FAULT_DESTROY] = (uint32_t)PICK(random, 0, 0, 0, 0, 10000, 30000);
	rates[FAULT_ERROR] = (uint32_t)PICK(random, 0, 0, 0, 0, 10000, 30000);
	rates[FAULT_DEREG] = (uint32_t)PICK(random, 0, 0, 0, 0, 10000, 30000, 100000);
	rates[FAULT_BAD_WR] = (uint32_t)PICK(random, 0, 0, 0, 0, 10000, 30000);
	rates[FAULT_DRAIN] = (uint32_t)PICK(random, 0, 0, 0, 20000, 100000);
	rates[FAULT_RESET] = (uint32_t)PICK(random, 0, 0, 0, 0, 10000, 30000);
	config->migration = random_chance(random, 250000);
	rates[FAULT_MIGRATE] = config->migration ? (uint32_t)PICK(random, 0, 20000, 100000) : 0;
	config->stop_after = (uint32_t)PICK(random, 40, 70, 90, MILLION);
}

struct sim_config sim_swarm_steady(uint32_t messages)
{
	struct sim_config config = {
		.nodes = 2,
		.connections = 1,
		.messages = messages,
		.mtu = 1024,
		.depth = 16,
		.receives = 1,
		.max_packets = 32,
		.rd_atomic = 1,
		.dest_rd_atomic = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.rnr_timer = 1,
		.signaled = MILLION,
		.app_ns = 300,
		.post_batch = 16,
		.poll_batch = 16,
		.delay_ns = 5000,
		.poll_ns = 500,
		.byte_ps = 80,
		.late_ns = 50000,
		.replay_ns = 100000,
		.burst_packets = 10,
		.stop_after = UINT32_MAX,
		.lives = UINT32_MAX,
	};

	config.weights[UROCE_WR_RDMA_WRITE] = 1;
	return config;
}

/* Plain limits, all kinds of requests both ways in batches, rests between them, and one frame in a thousand lost. */
static void make_long(const struct sim_options *options, struct sim_config *config)
{
	*config = (struct sim_config){
		.nodes = 2,
		.connections = 4,
		.messages = HOURS_MESSAGES,
		.mtu = 1024,
		.depth = 32,
		.receives = 8,
		.max_packets = 12,
		.rd_atomic = 4,
		.dest_rd_atomic = 4,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.rnr_timer = 12,
		.start_near_wrap = MILLION,
		.signaled = 500000,
		.inlined = 100000,
		.fenced = 100000,
		.two_way = MILLION,
		.app_ns = 2000,
		.post_batch = 16,
		.poll_batch = 16,
		.delay_ns = 5000,
		.jitter_ns = 1000,
		.poll_ns = 500,
		.byte_ps = 80,
		.late_ns = 50000,
		.replay_ns = 100000,
		.burst_packets = 10,
		.rates = { [FAULT_LOSS] = 1000 },
		.stop_after = UINT32_MAX,
		.lives = 1,
	};
	for (uint32_t i = 0; i < OPERATIONS; i++)
		config->weights[operations[i]] = operations[i] != UROCE_WR_SEND_WITH_INV;
	if (options->messages != UINT32_MAX)
		config->messages = options->messages;
	/* A batch has half of post_batch on average, and each of the ends posts its share; a fifth more, to be sure. */
	config->rest_ns =
		options->hours * HOUR_NS / 5 * 6 / (config->messages / (config->connections * config->post_batch) + 1);
}

/* What two frames may wait for in full queues on their way there and back, twice over; hosts have queues as well. */
static uint64_t longest_queues_ns(const struct sim_config *config)
{
	uint64_t of_host = config->connections * OUTBOX_PACKETS * config->mtu + config->switches.buffer;

	return 4 * (2 * of_host * config->byte_ps + config->switches.buffer * config->switches.neck_byte_ps) / 1000;
}

/*
 * An eighth of the seeds have switches instead of links: queues that grow, marks, full buffers, several ways. All other
 * seeds are what they would be without that. Faults come on top, and disorder; that of links between two nodes has no
 * meaning here. Some of the connections may be those of a peer without SACKs.
 */
static void draw_switches(struct sim_random *random, struct sim_config *config)
{
	struct sim_switches *switches = &config->switches;

	if (!random_chance(random, 125000))
		return;
	switches->leaves = (uint32_t)PICK(random, 1, 2, 2, 2);
	switches->spines = switches->leaves > 1 ? (uint32_t)PICK(random, 0, 1, 2, 4) : 0;
	switches->buffer = (config->mtu + HEADERS_BYTES) * PICK(random, 3, 8, 8, 30, 200);
	switches->neck_byte_ps = config->byte_ps * PICK(random, 1, 4, 20, 100);
	config->cc = (uint8_t)PICK(random, UROCE_CC_DEFAULT, UROCE_CC_DCQCN, UROCE_CC_DCQCN, UROCE_CC_DELAY);
	config->plain = (uint32_t)PICK(random, 0, 500000, 500000, MILLION);
	if (random_chance(random, 500000) && config->window == 0) {
		config->window = (uint16_t)PICK(random, 256, 512, 2048);
		config->paths = (uint8_t)PICK(random, 0, 4, 8, 64);
		config->any_order = true;
	}
	if (random_chance(random, 700000)) { /* many that want to be served at once */
		config->connections = (uint32_t)PICK(random, 4, 8, 16);
		config->depth = (uint32_t)PICK(random, 16, 64);
		config->post_batch = config->depth;
		config->messages += 20 * config->connections;
	}
	config->ipv6 = false;
	config->marks = config->pace.early = 0;
	config->jitter_ns = config->skew_ns = config->pace.send_ns = 0;
	config->delay_ns = config->delay_ns / 4 + 1; /* there are up to four links on a way */
	while (rc_codes_timeout_ns(config->timeout) < longest_queues_ns(config) ||
	       (config->pace.receive_ns && rc_codes_timeout_ns(config->timeout) < longest_wait_ns(config)))
		config->timeout++;
}

void sim_swarm_draw(const struct sim_options *options, struct sim_config *config)
{
	struct sim_random random = random_stream(options->seed, STREAM_CONFIG, 0);
	struct sim_random pace = random_stream(options->seed, STREAM_CONFIG, CONFIG_PACE);
	struct sim_random calm = random_stream(options->seed, STREAM_CONFIG, CONFIG_CALM);
	struct sim_random order = random_stream(options->seed, STREAM_CONFIG, CONFIG_ORDER);
	struct sim_random marks = random_stream(options->seed, STREAM_CONFIG, CONFIG_MARKS);
	struct sim_random kept = random_stream(options->seed, STREAM_CONFIG, CONFIG_KEPT);
	struct sim_random delay = random_stream(options->seed, STREAM_CONFIG, CONFIG_DELAY);
	struct sim_random switches = random_stream(options->seed, STREAM_CONFIG, CONFIG_SWITCHES);
	struct sim_random crowd = random_stream(options->seed, STREAM_CONFIG, CONFIG_CROWD);

	memset(config, 0, sizeof(*config));
	if (options->steady) {
		*config = *options->steady;
	} else if (options->hours) {
		make_long(options, config);
	} else {
		draw_limits(&random, config);
		draw_work(&random, config);
		draw_network(&random, config);
		draw_pace(&pace, config);
		draw_faults(&random, config);
		draw_calm(&calm, config);
		config->any_order = random_chance(&order, 400000);
		config->repair = random_chance(&order, 500000) ? UROCE_READ_REPAIR_UPWARDS : UROCE_READ_REPAIR_OFF;
		config->marks = random_chance(&marks, 300000) ? PICK(&marks, 100, 1000, 10000, 100000) : 0;
		config->cc = config->marks == 0 && random_chance(&delay, 250000) ? UROCE_CC_DELAY : UROCE_CC_DEFAULT;
		config->window = random_chance(&kept, 400000) ? (uint16_t)PICK(&kept, 256, 512, 2048) : 0;
		config->paths = config->window && random_chance(&kept, 500000) ? (uint8_t)PICK(&kept, 4, 8, 64) : 0;
		if (config->paths && random_chance(&kept, 500000))
			config->skew_ns = random_below(&kept, 3 * config->delay_ns + 1);
		if (config->paths && random_chance(&kept, 250000))
			config->dead_ns = random_between(&kept, 1000000, 20000000);
		config->any_order |= config->window > 0; /* both ends are ours */
		config->messages = (uint32_t)random_between(&random, 20, 100);
		config->messages *= (uint32_t)PICK(&random, 1, 1, 3, 20, 60);
		if (config->stop_after == MILLION)
			config->stop_after = UINT32_MAX;
		else
			config->stop_after = (uint32_t)((uint64_t)config->messages * config->stop_after / 100);
		draw_switches(&switches, config);
		config->crowded = random_chance(&crowd, 300000);
	}
	if (options->messages != UINT32_MAX)
		config->messages = options->messages;
	if (options->connections != UINT32_MAX)
		config->connections = options->connections;
	for (uint32_t i = 0; i < FAULT_KINDS; i++) {
		if (options->rates[i] != UINT32_MAX)
			config->rates[i] = options->rates[i];
	}
}

void sim_swarm_print(const struct sim_config *config)
{
	printf("  %u nodes, %u connections, %u requests, mtu %u, depth %u, receives %u%s, up to %u packets a message\n",
	       config->nodes, config->connections, config->messages, config->mtu, config->depth, config->receives,
	       config->srq ? " shared" : "", config->max_packets);
	printf("  rd_atomic %u of %u, timeout %u, retries %u, rnr retries %u, rnr timer %u%s%s%s%s%s%s%s%s\n",
	       config->rd_atomic, config->dest_rd_atomic, config->timeout, config->retry_cnt, config->rnr_retry,
	       config->rnr_timer, config->credits ? ", credits" : "", config->imprecise ? ", imprecise" : "",
	       config->no_probe ? ", no probe" : "", config->any_order ? ", any order" : "",
	       config->window ? ", SACKs" : "", config->ipv6 ? ", IPv6" : "", config->migration ? ", APM" : "",
	       config->check_first ? ", ICRC first" : "");
	if (config->pace.receive_ns || config->pace.send_ns || config->pace.tick_ns || config->pace.away_ns ||
	    config->pace.early || config->pace.serial)
		printf("  slow: %lu ns a frame in, %lu ns out, trains each %lu ns, away %lu of %lu ns, early %u%s\n",
		       config->pace.receive_ns, config->pace.send_ns, config->pace.tick_ns, config->pace.away_ns,
		       config->pace.away_every_ns, config->pace.early, config->pace.serial ? ", serial" : "");
	printf("  delay %lu ns, faults per million:", config->delay_ns);
	for (uint32_t i = 0; i < FAULT_KINDS; i++) {
		if (config->rates[i])
			printf(" %s %u", sim_fault_names[i], config->rates[i]);
	}
	if (config->paths)
		printf(", %u paths, skew %lu ns%s", config->paths, config->skew_ns,
		       config->dead_ns ? ", one dies" : "");
	if (config->marks)
		printf(", marks %u", config->marks);
	if (config->cc)
		printf(", cc %s", config->cc == UROCE_CC_DELAY ? "delay" : "dcqcn");
	if (config->crowded)
		printf(", crowded outbox");
	if (config->plain)
		printf(", %u per million without SACKs", config->plain);
	if (config->switches.leaves)
		printf(", %u leaves, %u spines, %lu bytes a port, neck %lu ps", config->switches.leaves,
		       config->switches.spines, config->switches.buffer, config->switches.neck_byte_ps);
	if (config->stop_after == UINT32_MAX)
		printf(", to the end\n");
	else
		printf(", until request %u\n", config->stop_after);
}
