/* stack.c - starts the stack of a process as its environment says */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/stack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uroce/log.h>
#include <uroce/port.h>

#include "verbs/signals.h"

#define CORES_BYTES 4096
#define PATIENCE_S 60u
#define LINK_PATIENCE_S 4u
#define TRIES_EACH_S 10u

static struct {
	pthread_mutex_t lock;
	bool tried;
	int error;
	struct stack stack;
	sigset_t mask; /* what the program blocks itself */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int complain(int error, const char *text)
{
	fprintf(stderr, "uroce: %s\n", text);
	return error;
}

/* A verbs application does not print the warnings of the library. */
static void show_warning(void *context, enum uroce_log_level level, const char *text)
{
	(void)context;
	if (level == UROCE_LOG_WARNING)
		complain(0, text);
}

static cpu_set_t allowed_cores(void)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	return allowed;
}

/* Writes "--lcores" for a main lcore and a worker, both of which may run on all cores of the calling thread. */
static void write_lcores(char *out, size_t out_bytes)
{
	char cores[CORES_BYTES / 2 - 16] = "";
	cpu_set_t allowed = allowed_cores();
	size_t at = 0;

	for (unsigned i = 0; i < CPU_SETSIZE && at < sizeof(cores); i++) {
		if (CPU_ISSET(i, &allowed))
			at += (size_t)snprintf(cores + at, sizeof(cores) - at, "%s%u", at ? "," : "", i);
	}
	snprintf(out, out_bytes, "0@(%s),1@(%s)", cores, cores);
}

static int start_eal(const char *port)
{
	char lcores[CORES_BYTES];
	const char *argv[] = { "uroce", "--lcores", lcores, NULL };
	struct uroce_eal_config config = { .argc = 3, .argv = argv, .devices = { port }, .worker_count = 1 };
	struct uroce_error error = { "" };
	int code;

	write_lcores(lcores, sizeof(lcores));
	code = uroce_eal_start(&config, &error);
	return code ? complain(-code, error.text) : 0;
}

/* Splits text at commas, which are overwritten, into at most UROCE_ADDRS_MAX words. */
static void split(char *text, const char *words[UROCE_ADDRS_MAX])
{
	char *rest = NULL;
	unsigned count = 0;

	for (char *word = text ? strtok_r(text, ", ", &rest) : NULL; word && count < UROCE_ADDRS_MAX;
	     word = strtok_r(NULL, ", ", &rest))
		words[count++] = word;
}

static int read_idle(enum uroce_idle *idle)
{
	static const char *const names[] = {
		[UROCE_IDLE_POLL] = "poll", [UROCE_IDLE_YIELD] = "yield", [UROCE_IDLE_SLEEP] = "sleep"
	};
	const char *given = getenv("UROCE_IDLE");

	*idle = UROCE_IDLE_SLEEP;
	if (given == NULL)
		return 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(given, names[i]) == 0) {
			*idle = (enum uroce_idle)i;
			return 0;
		}
	}
	fprintf(stderr, "uroce: UROCE_IDLE is '%s': use poll, yield or sleep\n", given);
	return EINVAL;
}

static int read_mtu(uint32_t *mtu_bytes)
{
	const char *given = getenv("UROCE_MTU");
	char *end;

	*mtu_bytes = 0;
	if (given == NULL || *given == '\0')
		return 0;
	*mtu_bytes = (uint32_t)strtoul(given, &end, 10);
	if (*end == '\0' && *mtu_bytes >= 256 && *mtu_bytes <= 4096)
		return 0;
	fprintf(stderr, "uroce: UROCE_MTU is '%s': use 256, 512, 1024, 2048 or 4096\n", given);
	return EINVAL;
}

static int read_sack_window(uint16_t *packets)
{
	const char *given = getenv("UROCE_SACK_WINDOW");
	unsigned long number;
	char *end;

	*packets = 256;
	if (given == NULL || *given == '\0')
		return 0;
	number = strcmp(given, "off") == 0 ? 0 : strtoul(given, &end, 10);
	*packets = (uint16_t)number;
	if (number == 0 ? strcmp(given, "off") == 0 :
			  *end == '\0' && number >= 256 && number <= 2048 && (number & (number - 1)) == 0)
		return 0;
	fprintf(stderr, "uroce: UROCE_SACK_WINDOW is '%s': use off, 256, 512, 1024 or 2048\n", given);
	return EINVAL;
}

/* The VLAN of all addresses: "ID" or "ID:PRIORITY". */
static int read_vlan(struct uroce_vlan vlans[UROCE_ADDRS_MAX])
{
	const char *given = getenv("UROCE_VLAN");
	unsigned id, priority = 0;
	char more;
	int count;

	if (given == NULL || *given == '\0')
		return 0;
	count = sscanf(given, "%u:%u%c", &id, &priority, &more);
	if ((count != 2 && (count != 1 || strchr(given, ':'))) || id > 4094 || priority > 7) {
		fprintf(stderr,
			"uroce: UROCE_VLAN is '%s': use ID or ID:PRIORITY, with ID from 0 to 4094 and PRIORITY from 0 "
			"to 7\n",
			given);
		return EINVAL;
	}
	for (unsigned i = 0; i < UROCE_ADDRS_MAX; i++)
		vlans[i] = (struct uroce_vlan){ .id = (uint16_t)id, .priority = (uint8_t)priority };
	return 0;
}

/* Packets that take several paths overtake each other, which only SACKs cope with. */
static int read_paths(uint16_t sack_window, uint8_t *paths)
{
	const char *given = getenv("UROCE_PATHS");
	unsigned long number;
	char *end;

	*paths = 0;
	if (given == NULL || *given == '\0')
		return 0;
	number = strtoul(given, &end, 10);
	*paths = (uint8_t)number;
	if (*end == '\0' && number >= 4 && number <= 64 && sack_window)
		return 0;
	fprintf(stderr, "uroce: UROCE_PATHS is '%s': use 4 to 64, which requires SACKs\n", given);
	return EINVAL;
}

/* Signals are unblocked meanwhile, so that the program can be interrupted: no thread begins while we wait. */
static void wait_a_little(void)
{
	sigset_t ours;

	pthread_sigmask(SIG_SETMASK, &process.mask, &ours);
	usleep(1000000 / TRIES_EACH_S);
	pthread_sigmask(SIG_SETMASK, &ours, NULL);
}

/*
 * If the port shares memory with a server, this waits for the server; other errors are returned at once. Then this
 * waits for the link, which needs a moment on a NIC: many programs look at the link only once, and refuse a port
 * without one.
 */
static int open_or_wait(const char *name, const struct uroce_port_config *config, struct stack *stack)
{
	struct uroce_error error = { "" };
	int code = uroce_port_open(name, config, &stack->port, &error);
	time_t end = time(NULL) + (code == -EAGAIN ? PATIENCE_S : stack->serves ? 0 : LINK_PATIENCE_S);

	if (code == -EAGAIN)
		fprintf(stderr, "uroce: %s; waiting up to %u s for it\n", error.text, PATIENCE_S);
	while ((code == -EAGAIN || (code == 0 && !uroce_port_link_is_up(stack->port->port_id))) && time(NULL) < end) {
		wait_a_little();
		if (code == -EAGAIN)
			code = uroce_port_open(name, config, &stack->port, &error);
	}
	return code ? complain(-code, error.text) : 0;
}

static int open_port(struct stack *stack, const char *name, enum uroce_idle idle, uint32_t mtu_bytes)
{
	struct uroce_port_config config = { .mtu_bytes = mtu_bytes };
	char addresses[512], gateways[512];
	struct uroce_engine_config engine = { .lcore_count = 1, .idle = idle };
	struct uroce_eal_info eal;
	int code;

	uroce_eal_query(&eal);
	engine.lcore_ids = eal.worker_ids;
	code = uroce_engine_create(&engine, &stack->engine);
	if (code)
		return complain(-code, uroce_last_error());
	config.engine = stack->engine;
	config.record_path = getenv("UROCE_RECORD") && *getenv("UROCE_RECORD") ? getenv("UROCE_RECORD") : NULL;
	code = read_vlan(config.vlans);
	if (code)
		return code;
	config.no_dad = getenv("UROCE_NO_DAD") && *getenv("UROCE_NO_DAD");
	snprintf(addresses, sizeof(addresses), "%s", getenv("UROCE_IP") ? getenv("UROCE_IP") : "");
	snprintf(gateways, sizeof(gateways), "%s", getenv("UROCE_GATEWAY") ? getenv("UROCE_GATEWAY") : "");
	split(addresses, config.addresses);
	split(gateways, config.gateways);
	stack->serves = strstr(name, "role=server") != NULL;
	code = open_or_wait(name, &config, stack);
	if (code)
		return code;
	stack->device = stack->port->device;
	uroce_device_query(stack->device, &stack->info);
	code = uroce_engine_start(stack->engine);
	return code ? complain(-code, uroce_last_error()) : 0;
}

static int start(struct stack *stack)
{
	const char *port = getenv("UROCE_PORT");
	enum uroce_idle idle;
	cpu_set_t cores = allowed_cores();
	uint32_t mtu_bytes;
	int error;

	stack->one_core = CPU_COUNT(&cores) == 1;
	if (port == NULL || getenv("UROCE_IP") == NULL)
		return complain(ENODEV, "UROCE_PORT and UROCE_IP are not set: start the program with uroce-run");
	error = read_idle(&idle);
	if (error == 0)
		error = read_mtu(&mtu_bytes);
	if (error == 0)
		error = read_sack_window(&stack->sack_window);
	if (error == 0)
		error = read_paths(stack->sack_window, &stack->paths);
	if (error == 0)
		error = start_eal(port);
	if (error)
		return error;
	uroce_guard_install();
	uroce_log_set(show_warning, NULL);
	return open_port(stack, port, idle, mtu_bytes);
}

int stack_get(struct stack **stack)
{
	sigset_t before = signals_block();

	pthread_mutex_lock(&process.lock);
	process.mask = before;
	if (!process.tried)
		process.error = start(&process.stack);
	process.tried = true;
	pthread_mutex_unlock(&process.lock);
	signals_restore(before);
	*stack = process.error ? NULL : &process.stack;
	return process.error;
}
