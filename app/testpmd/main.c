/* main.c - uroce-testpmd: long-running RC traffic between two ports, towards a peer, or serving one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dry.h"
#include "testpmd/capture.h"
#include "testpmd/deaths.h"
#include "testpmd/inject.h"
#include "testpmd/json.h"
#include "testpmd/link.h"
#include "testpmd/meet.h"
#include "testpmd/prompt.h"
#include "testpmd/show.h"
#include "testpmd/terms.h"
#include "testpmd/verbose.h"

#define TICK_MS 100

static struct settings settings;
static struct traffic traffic;
static struct app_port ports[2];
static struct app_json json;

/* ---- a target serves one peer at a time ---- */

/* Accepts a new peer if there is none; notices when the present one has left. */
static void look_after_peer(int listener, struct app_control *peer)
{
	struct pollfd waiting = { .fd = listener, .events = POLLIN };

	if (peer->fd < 0 && poll(&waiting, 1, 0) > 0) {
		if (app_control_accept(peer, &terms_control, listener) == 0 && !terms_serve(&traffic, peer))
			app_control_close(peer);
	} else if (peer->fd >= 0 && app_control_is_over(peer)) {
		printf("the peer has left\n");
		show_port_stats(&traffic, SHOW_ALL);
		fflush(stdout);
		traffic_drop_flows(&traffic);
		app_control_close(peer);
	}
}

/*
 * The initiator's side: tells the user once that the target has closed its end of the connection. If the target was
 * killed, the kernel has closed that end.
 */
static void watch_target(struct app_control *target)
{
	if (!target->closed && app_control_is_over(target))
		prompt_notice("the peer's program ended: its TCP connection is closed\n", stderr);
}

static void tell_rate(FILE *out)
{
	show_rate(&traffic, out);
}

static void tell_links(FILE *out)
{
	link_tell(&traffic, out);
}

static void tell_deaths(FILE *out)
{
	deaths_tell(&traffic, out);
}

/* Prints at once what write() writes, but not into the line that is being typed. */
static void tell(void (*write)(FILE *), FILE *where)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL)
		return;
	write(out);
	fclose(out);
	if (bytes > 0)
		prompt_notice(text, where);
	free(text);
}

struct house {
	int listener;               /* a target's listening socket; -1: none */
	struct app_control *target; /* an initiator's connection to its target */
};

/* Runs besides the prompt until the end: prints statistics and deaths, and serves peers. */
static void *keep_house(void *argument)
{
	const struct house *house = argument;
	struct app_control peer = { .fd = -1 };
	uint64_t told_ms = app_now_ms();

	show_rate(&traffic, NULL);
	while (!app_is_interrupted()) {
		uint64_t period_ms;
		double period_s;

		usleep(TICK_MS * 1000);
		__atomic_load(&settings.stats_period_s, &period_s, __ATOMIC_RELAXED);
		period_ms = (uint64_t)(1000 * period_s);
		if (period_ms == 0) {
			show_rate(&traffic, NULL);
			told_ms = app_now_ms();
		} else if (app_now_ms() - told_ms >= period_ms) {
			tell(tell_rate, stdout);
			told_ms += period_ms;
		}
		tell(verbose_tell, stdout);
		tell(tell_links, stdout);
		tell(tell_deaths, stderr);
		if (house->listener >= 0)
			look_after_peer(house->listener, &peer);
		if (house->target->fd >= 0)
			watch_target(house->target);
	}
	app_control_close(&peer);
	return NULL;
}

/* ---- setting up ---- */

/* The settings that hold for every port. */
static struct uroce_port_config port_config(uint16_t queues, uint16_t first_lcore)
{
	return (struct uroce_port_config){
		.engine = traffic.engine,
		.queue_count = queues,
		.first_lcore = first_lcore,
		.rx_desc = (uint16_t)settings.rxd,
		.tx_desc = (uint16_t)settings.txd,
		.mbuf_bytes = settings.mbuf_size,
		.mbuf_count = settings.mbufs,
		.record_path = settings.record[0] ? settings.record : NULL,
		.no_dad = settings.no_dad,
	};
}

/* Sets the addresses of a named port, each with its gateway and the port's VLAN. */
static void take_addresses(struct uroce_port_config *config, const struct settings_port *port)
{
	config->mtu_bytes = port->mtu;
	config->no_dad |= port->no_dad != 0;
	for (uint32_t i = 0; i < port->address_count; i++) {
		config->addresses[i] = port->addresses[i];
		config->gateways[i] = port->gateways[i][0] ? port->gateways[i] : NULL;
		config->vlans[i] = port->vlan;
	}
}

/* The number of queues of a port by default: one for each lcore that polls the port. */
static uint16_t queues_of_a_port(void)
{
	bool looped = settings.port_count == 0;

	return (uint16_t)(looped && settings.nb_cores > 1 ? settings.nb_cores / 2 :
			  settings.port_count == 2        ? 1 :
							    settings.nb_cores);
}

/* For --dry-run: prints what follows from the settings. */
static void print_plan(void)
{
	uint16_t queues = (uint16_t)(settings.rxq ? settings.rxq : settings.txq ? settings.txq : queues_of_a_port());
	unsigned port_count = settings.port_count == 1 ? 1 : 2;

	printf("plan\n  %u lcore%s, %u port%s with %u queue%s each, %lu bytes for the messages of each port\n",
	       settings.nb_cores, settings.nb_cores > 1 ? "s" : "", port_count, port_count > 1 ? "s" : "", queues,
	       queues > 1 ? "s" : "", traffic_memory_bytes(&settings));
	if (settings.target)
		printf("  serves a peer that connects to TCP port %u\n", settings.tcp_port);
	else if (settings.peer[0])
		printf("  %u queue pairs to the target at %s, TCP port %u\n", settings.qps, settings.peer,
		       settings.tcp_port);
	else if (port_count == 2)
		printf("  %u queue pairs from port 0 to port 1%s\n", settings.qps, settings.both ? ", and back" : "");
	else
		printf("  no queue pairs before \"connect\" or \"listen\"\n");
}

static int dry_run(void)
{
	const struct uroce_port_config loop = port_config(0, 0);
	int code = app_dry_write("--json", settings.json);

	if (code == APP_EXIT_OK && settings.port_count == 0)
		code = app_dry_port("loop", &loop);
	for (unsigned i = 0; i < settings.port_count && code == APP_EXIT_OK; i++) {
		struct uroce_port_config config = port_config(0, 0);

		take_addresses(&config, &settings.ports[i]);
		code = app_dry_port(settings.ports[i].device, &config);
	}
	if (code == APP_EXIT_OK && settings.target)
		code = app_control_check_port(terms_control.port_option, settings.tcp_port);
	if (code)
		return code;
	settings_print(&settings);
	print_plan();
	return APP_EXIT_OK;
}

/* A NIC may have fewer queue pairs than there are lcores; the remaining lcores serve other ports, or none. */
static void tell_fewer_queues(const struct app_port *port, unsigned wanted)
{
	const struct drivers_ethdev *ethdev = port->ethdev;

	if (ethdev->queue_count < wanted)
		printf("port %s: the driver offers %u rx/tx queue pair%s instead of %u, so only %u of the %u lcores "
		       "poll this port\n",
		       ethdev->name, ethdev->queues_offered, ethdev->queues_offered == 1 ? "" : "s", wanted,
		       ethdev->queue_count, settings.nb_cores);
}

static int open_looped_ports(uint16_t queues)
{
	struct app_port_config config = { .port = port_config(queues, 0), .two_addresses = true };
	uint16_t second = settings.nb_cores > 1 ? queues : 0;

	config.port.mtu_bytes = settings.mtu;
	traffic.ports[0].port = &ports[0];
	traffic.ports[1] = (struct traffic_port){ .port = &ports[1], .first_worker = second };
	traffic.port_count = 2;
	return app_loop_open(&config, second, ports);
}

/* Opens the named ports. Each of two ports begins at an lcore of its own, if there are several lcores. */
static int open_named_ports(uint16_t queues)
{
	int code = APP_EXIT_OK;

	for (unsigned i = 0; i < settings.port_count && code == APP_EXIT_OK; i++) {
		uint16_t first = settings.nb_cores > 1 ? (uint16_t)i : 0;
		struct app_port_config config = { .device = settings.ports[i].device,
						  .port = port_config(queues, first) };

		take_addresses(&config.port, &settings.ports[i]);
		code = app_port_open(&config, &ports[i]);
		if (code == APP_EXIT_OK)
			tell_fewer_queues(&ports[i], queues);
		traffic.ports[i] = (struct traffic_port){ .port = &ports[i], .first_worker = first };
		traffic.port_count = i + 1;
	}
	return code;
}

static int open_ports(void)
{
	uint16_t queues = queues_of_a_port(), wanted = (uint16_t)(settings.rxq ? settings.rxq : settings.txq);
	int code;

	if (wanted > queues)
		return app_complain(APP_EXIT_USAGE,
				    "%u queues per port: %u lcores serve only %u queues: raise --nb-cores", wanted,
				    settings.nb_cores, queues);
	if (wanted)
		queues = wanted;
	code = settings.port_count ? open_named_ports(queues) : open_looped_ports(queues);
	for (unsigned i = 0; i < traffic.port_count && code == APP_EXIT_OK; i++)
		traffic.ports[i].worker_count = ports[i].ethdev->queue_count;
	return code;
}

/* The initiator's side: tells the target about our queue pairs and connects them. Returns 0 or -1. */
static int meet_target(struct app_control *target)
{
	if (app_control_dial(target, &terms_control, settings.peer, settings.tcp_port) != 0)
		return -1;
	if (terms_ask(&traffic, target) == 0)
		return 0;
	app_control_close(target);
	return -1;
}

/* ---- running ---- */

/* Prints the ports, the lcores that poll them, and the traffic. */
static void print_banner(void)
{
	struct uroce_eal_info eal;

	uroce_eal_query(&eal);
	printf("uroce-testpmd %s, process %d, %s\n", uroce_version(), (int)getpid(),
	       eal.hugepages ? "hugepages" : "no hugepages");
	show_port_info(&traffic, SHOW_ALL);
	for (unsigned i = 0; i < traffic.worker_count; i++) {
		printf("lcore %u:", i);
		for (unsigned p = 0; p < traffic.port_count; p++) {
			const struct traffic_port *port = &traffic.ports[p];

			if (i >= port->first_worker && i < port->first_worker + port->worker_count)
				printf(" port %u queue %u", p, i - port->first_worker);
		}
		if (settings.idle == UROCE_IDLE_SLEEP)
			printf(uroce_lcore_wakes(traffic.workers[i].lcore) ? "; frames wake it" :
									     "; frames do not wake it");
		printf("\n");
	}
	if (settings.target)
		printf("serving peers that connect to TCP port %u, one at a time", settings.tcp_port);
	else if (settings.peer[0])
		printf("%u queue pairs to %s: %s, %u bytes, %u outstanding requests per queue pair", settings.qps,
		       settings.peer, settings.mix, settings.size, settings.depth);
	else if (traffic.port_count == 2)
		printf("%u queue pairs from port 0 to port 1: %s, %u bytes, %u outstanding requests per queue pair",
		       settings.qps, settings.mix, settings.size, settings.depth);
	else
		printf("no queue pairs yet: enter \"connect\" or \"listen\"");
	if (settings.interactive)
		printf("; \"help\" lists the commands\n");
	else if (settings.duration_s > 0)
		printf("; for %g s\n", settings.duration_s);
	else
		printf("; until Ctrl-C\n");
	fflush(stdout);
}

static void wait_until(double end)
{
	while (!app_is_interrupted() && app_now_seconds() < end)
		usleep(TICK_MS * 1000);
}

static int run_commands(void)
{
	double began = app_now_seconds();
	int code = APP_EXIT_OK;

	if (settings.auto_start || settings.duration_s > 0 || (!settings.interactive && !settings.cmdline_file[0]))
		traffic_start(&traffic);
	if (settings.cmdline_file[0])
		code = prompt_run_file(&traffic, settings.cmdline_file);
	if (code != APP_EXIT_OK)
		return code;
	if (settings.interactive && !app_is_interrupted())
		prompt_interact(&traffic);
	if (settings.duration_s > 0)
		wait_until(began + settings.duration_s);
	/* Commands that started nothing and serve nobody leave nothing to wait for. */
	while (!settings.interactive && settings.duration_s == 0 && !app_is_interrupted() &&
	       (traffic.running || settings.target || meet_serves() || !settings.cmdline_file[0]))
		usleep(TICK_MS * 1000);
	return APP_EXIT_OK;
}

static int run_traffic(void)
{
	struct house house;
	pthread_t keeper;
	struct app_control target = { .fd = -1 };
	int listener = -1, code;
	uint32_t dead;

	if (traffic_open(&traffic) != 0 || traffic_launch(&traffic) != 0)
		return APP_EXIT_INTERNAL;
	if (settings.target)
		listener = app_control_listen(&terms_control, settings.tcp_port);
	else if (settings.peer[0])
		meet_target(&target);
	else if (traffic.port_count == 2 && traffic_connect_ports(&traffic) != 0)
		return APP_EXIT_INTERNAL;
	if ((settings.target && listener < 0) || (settings.peer[0] && target.fd < 0))
		return app_is_interrupted() ? APP_EXIT_INTERRUPTED : APP_EXIT_ENVIRONMENT;
	house = (struct house){ .listener = listener, .target = &target };
	if (pthread_create(&keeper, NULL, keep_house, &house) != 0)
		return APP_EXIT_INTERNAL;
	print_banner();
	code = run_commands();
	app_stop(); /* ends keep_house(), too */
	pthread_join(keeper, NULL);
	traffic_stop(&traffic);
	verbose_tell(stdout);
	dead = deaths_tell(&traffic, stderr);
	printf("\nfinal statistics\n");
	show_qps(&traffic);
	show_port_stats(&traffic, SHOW_ALL);
	if (json_close(&json, &traffic) != APP_EXIT_OK && code == APP_EXIT_OK)
		code = APP_EXIT_ENVIRONMENT;
	dead = settings.target || meet_serves() ? 0 : dead; /* deaths of a peer's queue pairs are no failure */
	meet_end();
	app_control_close(&target);
	if (listener >= 0)
		close(listener);
	return code ? code : dead ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

static int run_ports(void)
{
	int code = open_ports();

	if (code == APP_EXIT_OK)
		code = inject_open(&traffic);
	if (code == APP_EXIT_OK)
		code = verbose_open();
	if (code == APP_EXIT_OK) {
		code = run_traffic();
		traffic_close(&traffic);
	}
	verbose_close();
	if (capture_end(false) != APP_EXIT_OK && code == APP_EXIT_OK)
		code = APP_EXIT_ENVIRONMENT;
	inject_close();
	app_port_close(&ports[1]);
	app_port_close(&ports[0]);
	return code;
}

/* Takes EAL's own arguments from the file, if the command line has none; else keeps them for "save config". */
static void take_eal_args(struct app_args *args)
{
	static char *list[64];
	static char copy[SETTINGS_TEXT_BYTES];
	char *rest = copy, *word;

	if (args->eal_count > 1) {
		settings_keep_eal_args(&settings, args);
		return;
	}
	if (settings.eal_args[0] == '\0')
		return;
	strcpy(copy, settings.eal_args);
	list[0] = args->eal[0];
	args->eal_count = 1;
	while ((word = strsep(&rest, " ")) != NULL && args->eal_count < 63) {
		if (*word)
			list[args->eal_count++] = word;
	}
	args->eal = list;
}

int main(int argc, char **argv)
{
	struct app_args args;
	struct uroce_eal_config eal = { 0 };
	struct uroce_engine_config engine = { 0 };
	int code;

	setvbuf(stdout, NULL, _IOLBF, 0); /* before anything is printed, because setvbuf() may have no effect later */
	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	code = settings_read(&settings, args.own_count, args.own);
	if (code)
		return code - 1;
	take_eal_args(&args);
	engine.idle = settings.idle;
	if (settings.dry_run)
		return dry_run();
	if (app_json_open(&json, settings.json) != APP_EXIT_OK)
		return APP_EXIT_ENVIRONMENT;
	eal.worker_count = settings.nb_cores;
	/* a client uses the last cores, because a server on this machine uses the first ones */
	eal.last_core = settings.peer[0] != 0;
	for (uint32_t i = 0; i < settings.port_count; i++)
		eal.devices[i] = settings.ports[i].device;
	app_stop_when_interrupted();
	code = app_eal_start(&args, &eal);
	if (code != APP_EXIT_OK)
		return code;
	capture_serve_others();
	engine.lcore_count = settings.nb_cores;
	engine.max_qps = settings.limit_qps;
	/* limit_mrs counts regions only, and windows need entries, too */
	engine.max_mrs = settings.limit_mrs + KEYS_PORT_MRS;
	traffic.settings = &settings;
	traffic.worker_count = settings.nb_cores;
	if (uroce_engine_create(&engine, &traffic.engine) != 0)
		return app_complain(APP_EXIT_INTERNAL, "the engine could not be created: no memory");
	code = run_ports();
	uroce_engine_destroy(traffic.engine);
	uroce_eal_stop();
	return code;
}
