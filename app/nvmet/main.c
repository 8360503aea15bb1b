/* main.c - uroce-nvmet: an NVMe over RDMA target */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <rte_launch.h>

#include "nvmet/control.h"
#include "nvmet/idle.h"
#include "nvmet/lane.h"
#include "nvmet/plan.h"
#include "nvmet/reload.h"
#include "nvmet/telemetry.h"
#include "nvmf/change.h"

#define END_SECONDS 5u
#define LOOK_NS 20000000ull /* time between two looks at the control socket and the like */

static volatile sig_atomic_t reloading;

static struct {
	struct settings settings;
	struct server server;
	struct nvmf_subsystem *subsystems[NVMF_SUBSYSTEMS_MAX];
	uint32_t subsystem_count;
	struct disks disks;
	struct control *control;
} all;

/* A terminal that closes sends SIGHUP, too: a target without a file ends. */
static void hang_up(int number)
{
	(void)number;
	if (all.settings.config[0])
		reloading = 1;
	else
		app_stop();
}

/*
 * Draws the id of the first controller. The id should differ from the ids that other targets draw, and from the ids
 * that this target drew before a restart.
 */
static uint16_t any_cntlid(void)
{
	uint16_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint16_t)getpid();
	return (uint16_t)(number % NVME_CNTLID_MAX + 1);
}

static void prepare(struct server_config *config)
{
	const struct settings *settings = &all.settings;

	*config = (struct server_config){
		.nvmf = { .queue_depth = settings->queue_depth,
			  .io_queues = settings->io_queues,
			  .in_capsule_bytes = settings->in_capsule_bytes,
			  .max_data_bytes = settings->max_data_bytes,
			  .first_cntlid = any_cntlid() },
		.port_count = settings->port_count,
		.lanes = settings->nb_cores,
		.idle = settings->idle,
		.service = (uint16_t)settings->service,
		.threads = settings->threads,
		.record_path = settings->record[0] ? settings->record : NULL,
		.no_dad = settings->no_dad,
		.pool_bytes = settings->pool_bytes / POOL_MOST_BYTES * POOL_MOST_BYTES,
	};
	for (uint32_t i = 0; i < settings->port_count; i++) {
		config->devices[i] = settings->ports[i].device;
		config->addresses[i] = settings->ports[i].ip;
		config->gateways[i] = settings->ports[i].gateway[0] ? settings->ports[i].gateway : NULL;
		config->vlans[i] = settings->ports[i].vlan;
	}
}

static int add_subsystems(void)
{
	for (uint32_t i = 0; i < all.settings.subsystem_count; i++) {
		const struct settings_subsystem *settings = &all.settings.subsystems[i];

		all.subsystems[i] = disk_make_subsystem(settings);
		if (all.subsystems[i] == NULL)
			return app_complain(APP_EXIT_ENVIRONMENT, "no memory");
		all.subsystem_count = i + 1;
		if (nvmf_target_add_subsystem(&all.server.target, all.subsystems[i]) != 0)
			return app_complain(APP_EXIT_INTERNAL, "subsystem %s cannot be added", settings->nqn);
	}
	return APP_EXIT_OK;
}

static int add_disks(void)
{
	for (uint32_t i = 0; i < all.settings.disk_count; i++) {
		struct settings_disk *settings = &all.settings.disks[i];
		struct nvmf_subsystem *subsystem = nvmf_target_find(&all.server.target, settings->subsystem);
		char error[STORE_ERROR_BYTES];
		const struct disk *disk = disks_add(&all.disks, subsystem, settings, error);

		if (disk == NULL)
			return app_complain(APP_EXIT_ENVIRONMENT, "%s", error);
		settings->nsid = disk->namespace.nsid; /* for a later reload */
		printf("namespace %u of %s: %s%s%s, %lu blocks of %u bytes%s\n", disk->namespace.nsid, subsystem->nqn,
		       store_kind_name(settings->kind), settings->kind == STORE_FILE ? " " : "",
		       settings->kind == STORE_FILE ? settings->path : "", disk->namespace.blocks,
		       disk->namespace.block_bytes, settings->read_only ? ", read only" : "");
	}
	return APP_EXIT_OK;
}

/* Prints the commands to type on a Linux host. */
static void print_lines(void)
{
	const struct nvmf_target *target = &all.server.target;

	printf("On a Linux host with an RDMA device (an RNIC, or: rdma link add rxe0 type rxe netdev eth0):\n"
	       "  modprobe nvme-rdma\n");
	for (uint32_t i = 0; i < target->address_count; i++) {
		const struct nvmf_address *address = &target->addresses[i];

		printf("  nvme discover -t rdma -a %s -s %s\n", address->address, address->service);
		for (uint32_t k = 0; k < target->subsystem_count; k++)
			printf("  nvme connect -t rdma -a %s -s %s -n %s\n", address->address, address->service,
			       target->subsystems[k]->nqn);
	}
	fflush(stdout);
}

static int run_lane(void *argument)
{
	struct lane *lane = argument;
	struct idle idle = { .how = all.settings.idle };

	while (!lane->server->stopped) {
		bool worked = lane_poll(lane);

		idle_rest(&idle, lane, worked, LOOK_NS);
	}
	return 0;
}

/* Starts a thread for each lane but the first. A thread owns its lcore before anything is called for this lcore. */
static void start_threads(void)
{
	all.server.has_threads = true;
	for (uint32_t i = 1; i < all.server.lane_count; i++) {
		int code = rte_eal_remote_launch(run_lane, &all.server.lanes[i], app_eal_worker(i - 1));

		while (code == 0 && all.server.lanes[i].polls == 0)
			usleep(100);
	}
}

/* Ends the threads. After that the calling thread polls all lcores. */
static void stop_threads(void)
{
	all.server.stopped = true;
	for (uint32_t i = 1; i < all.server.lane_count; i++)
		rte_eal_wait_lcore(app_eal_worker(i - 1));
	all.server.has_threads = false;
	server_poll(&all.server);
}

static void run(void)
{
	struct lane *lane = &all.server.lanes[0];
	struct idle idle = { .how = all.settings.idle };
	struct server_counts counts;
	uint64_t looked_ns = 0;

	start_threads();
	while (!app_is_interrupted()) {
		bool worked = server_poll(&all.server);

		if (lane->now_ns - looked_ns >= LOOK_NS) {
			looked_ns = lane->now_ns;
			disks_poll(&all.disks);
			telemetry_poll(&all.server, &all.disks);
			if (all.control)
				control_poll(all.control);
			if (reloading) {
				reloading = 0;
				reload(&all.settings, &all.server, &all.disks);
			}
		}
		idle_rest(&idle, lane, worked, LOOK_NS);
	}
	printf("ending: disconnecting %u queues\n", server_queue_count(&all.server));
	server_end(&all.server, END_SECONDS);
	stop_threads();
	counts = server_counts(&all.server);
	printf("%lu commands, %lu of them completed with an error\n", counts.commands, counts.errors);
}

static int listen_to_control(void)
{
	char error[STORE_ERROR_BYTES];

	all.control = control_open(all.settings.control, &all.server, &all.disks, error);
	return all.control ? APP_EXIT_OK : app_complain(APP_EXIT_ENVIRONMENT, "--control %s", error);
}

static int serve(void)
{
	struct server_config config;
	int code;

	prepare(&config);
	code = server_open(&all.server, &config);
	if (code)
		return code;
	all.disks.server = &all.server;
	code = add_subsystems();
	if (code == APP_EXIT_OK)
		code = add_disks();
	if (code == APP_EXIT_OK)
		code = server_listen(&all.server);
	if (code == APP_EXIT_OK && all.settings.control[0])
		code = listen_to_control();
	if (code == APP_EXIT_OK) {
		print_lines();
		telemetry_open();
		run();
		telemetry_close();
	}
	if (all.control)
		control_close(all.control);
	server_close_queues(&all.server);
	disks_close(&all.disks);
	server_close(&all.server);
	for (uint32_t i = 0; i < all.subsystem_count; i++)
		free(all.subsystems[i]);
	return code;
}

/* The user may have told EAL how many cores there are. */
static int check_cores(void)
{
	struct uroce_eal_info info;

	uroce_eal_query(&info);
	if (info.worker_count + 1 >= all.settings.nb_cores)
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE,
			    "--nb-cores %u: EAL has only %u lcores: list more lcores with -l before --, or omit -l",
			    all.settings.nb_cores, info.worker_count + 1);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = hang_up };
	struct uroce_eal_config config = { .main_is_busy = true };
	struct app_args args;
	const char *device = NULL;
	int code;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	code = settings_read(&all.settings, args.own_count, args.own);
	if (code)
		return code - 1;
	code = plan_check(&all.settings);
	if (code)
		return code;
	for (uint32_t i = 0; i < all.settings.port_count; i++) {
		if (all.settings.ports[i].device[0] == '\0') {
			code = app_eal_choose_device(&args, &device);
			if (code)
				return code;
			snprintf(all.settings.ports[i].device, SETTINGS_TEXT_BYTES, "%s", device);
		}
		config.devices[i] = all.settings.ports[i].device;
	}
	if (all.settings.dry_run)
		return plan_print(&all.settings);
	config.worker_count = all.settings.nb_cores - 1;
	app_stop_when_interrupted();
	sigaction(SIGHUP, &action, NULL);
	code = app_eal_start(&args, &config);
	if (code == APP_EXIT_OK)
		code = check_cores();
	if (code != APP_EXIT_OK)
		return code;
	code = serve();
	uroce_eal_stop();
	return code;
}
