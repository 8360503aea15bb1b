/* main.c - uroce-nvme-perf: a host that measures and verifies an NVMe over RDMA target, options named as in fio */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/dry.h"
#include "common/eal.h"
#include "common/run_json.h"
#include "nvmeperf/bare.h"
#include "nvmeperf/run.h"
#include "nvmet/disk.h"
#include "nvmet/plan.h"
#include "nvmet/settings.h"
#include "nvmf/change.h"

#define OWN_NQN "nqn.2026-01.uroce:perf"
#define HOST_NQN "nqn.2026-01.uroce:nvme-perf"
#define HOST_ADDRESS "10.0.0.1/24"
#define TARGET_ADDRESS "10.0.0.2/24"
/* keep-alive time: a host whose core or disk is busy for some seconds must not count as gone */
#define KEEP_ALIVE_MS 15000u

static struct {
	struct options options;
	struct server server;
	struct nvmf_subsystem *subsystem;
	struct disks disks;
	struct disk *disk;
	struct uroce_engine *engine;
	struct uroce_port *port;
	struct uroce_cm_channel *channel;
	struct uroce_addr addr, target;
	json_t *root, *results;
	struct failover failover;
	bool local;
} all;

static void poll_once(void *nothing)
{
	(void)nothing;
	if (all.local)
		server_poll(&all.server);
	for (uint32_t i = 0; !all.local && i < all.options.port_queues; i++)
		uroce_lcore_poll(uroce_engine_lcore(all.engine, i));
}

static struct host_config host_config(void)
{
	return (struct host_config){
		.engine = all.engine,
		.device = all.port->device,
		.channel = all.channel,
		.target = all.target,
		.service = (uint16_t)all.options.service,
		.nqn = all.options.nqn,
		.host_nqn = HOST_NQN,
		.nsid = all.options.nsid,
		.queues = all.options.queues,
		.keep_alive_ms = KEEP_ALIVE_MS,
		.in_capsule_bytes = all.options.in_capsule_bytes,
		.timeout = (uint8_t)all.options.timeout,
		.retry_cnt = (uint8_t)all.options.retry_cnt,
		.alternate = all.options.failover_s > 0 ? &all.failover.path : NULL,
		.poll = poll_once,
	};
}

/* ---- cases ---- */

static int measure_bare(uint32_t bytes, uint32_t depth)
{
	struct bare_config config = {
		.engine = all.engine,
		.devices = { all.port->device, all.server.ports[0].port->device },
		.addrs = { all.addr, all.target },
		.depth = depth,
		.bytes = bytes,
		.disk_bytes = all.disk->store->bytes,
		.seconds = all.options.seconds,
	};
	double value = 0;
	int code = depth == 1 ? bare_reads(&config, &value) : bare_exchanges(&config, &value);

	if (code)
		return code;
	if (depth == 1)
		printf("%-9s %8u %6u %6u %10.0f %9.1f %8.1f\n", "bare READ", bytes, 1, 1, 1e9 / value,
		       1e3 / value * bytes, value / 1e3);
	else
		printf("%-9s %8u %6u %6u %10.0f %9.1f\n", "bare", bytes, 1, depth, value, value * bytes / 1e6);
	json_array_append_new(all.results,
			      json_pack("{s:s, s:i, s:i, s:f}", "rw", depth == 1 ? "bare READ" : "bare", "bs",
					(int)bytes, "iodepth", (int)depth, "iops", depth == 1 ? 1e9 / value : value));
	return APP_EXIT_OK;
}

static int measure_all(void)
{
	const struct options *options = &all.options;
	const struct host_config host = host_config();
	int code = APP_EXIT_OK;

	for (uint32_t rw = 0; rw < OPTIONS_RWS; rw++) {
		for (uint32_t s = 0; options->rws[rw] && s < options->size_count; s++) {
			for (uint32_t d = 0; d < options->depth_count && code == APP_EXIT_OK; d++) {
				const struct run_case which = { options_rw_names[rw], options->sizes[s],
								options->depths[d] };

				code = run_measure(options, &host, &which,
						   options->failover_s > 0 ? &all.failover : NULL, all.results);
				if (code == APP_EXIT_OK && options->bare)
					code = measure_bare(options->sizes[s], options->depths[d]);
			}
		}
	}
	return code;
}

/* Connects and disconnects hosts. */
static int cycle(void)
{
	struct host_config config = host_config();
	int code = APP_EXIT_OK;
	uint64_t began_ns = app_now_ns();

	config.depth = all.options.depths[0] + 1;
	config.data_bytes = NVME_PAGE_BYTES;
	for (uint64_t i = 0; i < all.options.cycles && code == APP_EXIT_OK && !app_is_interrupted(); i++) {
		struct host_namespace namespace;
		struct host *host;

		code = host_open(&config, &host, &namespace);
		if (code == APP_EXIT_OK)
			host_close(host, i % 2 == 0);
	}
	if (app_is_interrupted())
		return APP_EXIT_INTERRUPTED;
	if (code == APP_EXIT_OK)
		printf("%lu connect and disconnect cycles of %u queues in %.2f s\n", all.options.cycles,
		       all.options.queues + 1, (double)(app_now_ns() - began_ns) / 1e9);
	return code;
}

/* Counts the queues, controllers, buffers and commands that the target still has when all hosts are gone. */
static int count_left(void)
{
	uint64_t until_ns = app_now_ns() + 5000000000ull;
	uint32_t controllers = 0;

	while (server_queue_count(&all.server) && app_now_ns() < until_ns)
		server_poll(&all.server);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++)
		controllers += all.server.target.controllers[i] != NULL;
	printf("resources remaining at the target: %u queues, %u controllers, %lu bytes of buffers, %u commands\n",
	       server_queue_count(&all.server), controllers, server_used_bytes(&all.server),
	       nvmf_namespace_under_way(&all.disk->namespace));
	return server_queue_count(&all.server) || controllers || server_used_bytes(&all.server) ||
			       nvmf_namespace_under_way(&all.disk->namespace) ?
		       APP_EXIT_FAILURE :
		       APP_EXIT_OK;
}

/* ---- opening ---- */

static int open_target(void)
{
	struct server_config config = {
		.nvmf = { .queue_depth = 1024, .in_capsule_bytes = all.options.in_capsule_bytes },
		.devices = { "loop" },
		.addresses = { TARGET_ADDRESS },
		.port_count = 1,
		.lanes = all.options.port_queues,
		.service = (uint16_t)all.options.service,
		.pool_bytes = SETTINGS_POOL_BYTES,
	};
	struct settings_subsystem subsystem = { .nqn = OWN_NQN };
	char error[STORE_ERROR_BYTES];
	int code = server_open(&all.server, &config);

	if (code)
		return code;
	all.server.journal.silent = true; /* both ends are in one program */
	all.subsystem = disk_make_subsystem(&subsystem);
	if (all.subsystem == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory");
	nvmf_target_add_subsystem(&all.server.target, all.subsystem);
	all.engine = all.server.engine;
	all.disks.server = &all.server;
	all.disk = disks_add(&all.disks, all.subsystem, &all.options.disk, error);
	return all.disk ? server_listen(&all.server) : app_complain(APP_EXIT_ENVIRONMENT, "%s", error);
}

static struct uroce_port_config port_config(void)
{
	return (struct uroce_port_config){
		.addresses = { all.local ? HOST_ADDRESS : all.options.ip },
		.gateways = { all.options.gateway },
		.vlans = { all.options.vlan },
		.record_path = all.options.record,
		.no_dad = all.options.no_dad,
		.queue_count = (uint16_t)(all.local ? 0 : all.options.port_queues),
	};
}

static int open_port(void)
{
	struct uroce_port_config config = port_config();
	const struct uroce_engine_config engine = { .max_qps = 2048, .lcore_count = all.options.port_queues };
	struct uroce_error error;
	int code;

	if (!all.local && uroce_engine_create(&engine, &all.engine) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for an engine");
	config.engine = all.engine;
	code = uroce_port_open(all.local ? "loop" : all.options.device, &config, &all.port, &error);
	if (code)
		return app_complain(app_exit_of(code), "%s", error.text);
	uroce_addr_parse(config.addresses[0], &all.addr, NULL);
	uroce_addr_parse(all.local ? TARGET_ADDRESS : all.options.connect, &all.target, NULL);
	if (uroce_cm_channel_create(all.engine, &all.channel) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for connections");
	poll_once(NULL); /* this thread polls the lcores */
	return APP_EXIT_OK;
}

static void close_everything(void)
{
	if (all.channel)
		uroce_cm_channel_destroy(all.channel);
	if (all.local)
		server_close_queues(&all.server);
	failover_close(&all.failover);
	if (all.port)
		uroce_port_close(all.port);
	if (!all.local && all.engine)
		uroce_engine_destroy(all.engine);
	disks_close(&all.disks);
	if (all.local && all.server.engine)
		server_close(&all.server);
	free(all.subsystem);
}

static int write_json(struct app_json *json, int code)
{
	int error;

	json_object_set_new(all.root, "store", json_string(all.local ? all.options.store : "of the target"));
	json_object_set(all.root, "results", all.results);
	app_run_json_end(all.root, code == APP_EXIT_INTERRUPTED);
	error = app_json_close(json, all.root);
	return error ? error : code;
}

static int run_all(void)
{
	struct app_json json;
	int code = app_json_open(&json, all.options.json);

	if (code == APP_EXIT_OK && all.local)
		code = open_target();
	if (code == APP_EXIT_OK)
		code = open_port();
	if (code == APP_EXIT_OK && all.options.failover_s > 0)
		code = failover_open(&all.failover, all.engine, all.port, all.server.ports[0].port,
				     all.options.failover_s);
	app_finish_when_interrupted(); /* prints what was measured, and disconnects from the target */
	if (code == APP_EXIT_OK)
		code = all.options.cycles ? cycle() : measure_all();
	if (code == APP_EXIT_OK && all.local)
		code = count_left();
	code = write_json(&json, code);
	json_decref(all.results);
	json_decref(all.root);
	close_everything();
	if (code == APP_EXIT_INTERRUPTED)
		app_complain(code, "interrupted");
	return code;
}

static int dry_run(void)
{
	const struct uroce_port_config config = port_config();
	int code = app_dry_write("--json", all.options.json);

	if (code == APP_EXIT_OK && all.local)
		code = plan_try_store(&all.options.disk);
	if (code == APP_EXIT_OK)
		code = app_dry_port(all.local ? "loop" : all.options.device, &config);
	if (code == APP_EXIT_OK)
		options_print_plan(&all.options);
	return code;
}

int main(int argc, char **argv)
{
	struct uroce_eal_config config = { .main_is_busy = true };
	struct app_args args;
	int code;

	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	code = options_parse(&all.options, args.own_count, args.own);
	if (code)
		return code - 1;
	all.local = all.options.connect == NULL;
	all.results = json_array();
	all.root = json_object();
	app_run_json_begin(all.root, argc, argv);
	if (all.local)
		all.options.nqn = OWN_NQN;
	else if ((code = app_eal_choose_device(&args, &all.options.device)) != APP_EXIT_OK)
		return code;
	if (all.options.dry_run)
		return dry_run();
	config.devices[0] = all.local ? "loop" : all.options.device;
	config.last_core = !all.local;
	app_end_when_interrupted();
	code = app_eal_start(&args, &config);
	if (code != APP_EXIT_OK)
		return code;
	code = run_all();
	uroce_eal_stop();
	return code;
}
