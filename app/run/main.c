/* main.c - uroce-run: runs unchanged programs that were written for RDMA on uroce */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/exit.h"
#include "common/ini.h"
#include "common/names.h"
#include "common/number.h"
#include "common/words.h"
#include "run/run.h"

#define LIST_BYTES 512
#define SECTION "port"
#define USUAL_CONFIG "/etc/uroce/run.ini"

struct settings {
	const char *config, *device;
	char ip[LIST_BYTES], gateway[LIST_BYTES]; /* lists separated by commas */
	uint32_t mtu_bytes;
	uint32_t idle, sack_window; /* of app_idle_names and app_sack_windows */
	uint32_t paths;             /* 0: one */
	struct uroce_vlan vlan;
	const char *record;
	bool print_env, explain, check, no_dad;
};

static int parse_more(const char *name, const char *text, void *place)
{
	char *list = place;
	size_t bytes = strlen(list);

	if (bytes + strlen(text) + 2 > LIST_BYTES)
		return app_complain(APP_EXIT_USAGE, "%s: too many values: remove %s", name, text);
	snprintf(list + bytes, LIST_BYTES - bytes, "%s%s", bytes ? "," : "", text);
	return APP_EXIT_OK;
}

#define AT(member) OPTION_AT(struct settings, member)

#define IN_FILE .section = SECTION

/* clang-format off */
static const struct option_row rows[] = {
	{ WORD_OF(CONFIG), AT(config), .more = "section [port]", .usual = USUAL_CONFIG ", if it exists" },
	{ WORD_OF(DEVICE), AT(device), IN_FILE },
	{ WORD_OF(IP), AT(ip), .parse = parse_more, IN_FILE,
	  .more = "must not be an address of a kernel interface; repeatable",
	  .usual = "the first free address of 10.0.0.1-10.0.0.9/24" },
	{ WORD_OF(GATEWAY), AT(gateway), .parse = parse_more, IN_FILE,
	  .more = "the Nth gateway applies to the Nth --ip" },
	{ WORD_OF(MTU), AT(mtu_bytes), IN_FILE, .usual = "the largest that passes", .more = "the largest" },
	{ WORD_OF(IDLE), AT(idle), IN_FILE },
	{ WORD_OF(SACK_WINDOW), AT(sack_window), IN_FILE, .more = "for rdma_cm connections between uroce programs" },
	{ WORD_OF(PATHS), AT(paths), .low = 4, .high = 64, IN_FILE, .usual = "",
	  .more = "for rdma_cm connections, if both ends use this option" },
	{ WORD_OF(VLAN), AT(vlan), .parse = app_vlan_expect, .usual = "none", IN_FILE },
	{ WORD_OF(NO_DAD), AT(no_dad), IN_FILE },
	{ WORD_OF(RECORD), AT(record), IN_FILE },
	{ WORD_OF(EXPLAIN), AT(explain), IN_FILE },
	{ WORD_OF(CHECK), AT(check) },
	{ WORD_OF(PRINT_ENV), AT(print_env) },
};
/* clang-format on */

static const struct settings usual = { .idle = 2, .sack_window = 1 };

static enum option_origin origins[sizeof(rows) / sizeof(rows[0])];

static const struct option_set set = {
	.program = "uroce-run",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.head = "usage: uroce-run [OPTIONS] PROGRAM [ARGUMENTS]\n"
		"\n"
		"Runs an unmodified RDMA application over uroce. The application finds an RDMA device uroce0,\nwithout "
		"a kernel driver "
		"or RDMA NIC.\n\n",
	.tail = "\n  uroce-run -d eth1 --ip 10.0.0.9/24 ibv_rc_pingpong -g 0 10.0.0.2\n",
	.usual = &usual,
	.origins = origins,
	.ends_at_word = true,
};

static int parse_section(void *argument, const char *where, const char *section)
{
	(void)argument;
	if (strcmp(section, SECTION) == 0)
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE, "%s: unknown section; use [" SECTION "]", where);
}

static int parse_key(void *settings, const char *where, const char *section, const char *key, const char *value)
{
	return app_option_parse_key(&set, section, key, where, value, settings);
}

static bool may_repeat(const char *section, const char *key)
{
	(void)section;
	return strcmp(key, "ip") == 0 || strcmp(key, "gateway") == 0;
}

static int read_config(struct settings *settings)
{
	const struct app_ini_reader reader = { parse_section, parse_key, may_repeat, settings };

	if (settings->config == NULL && access(USUAL_CONFIG, F_OK) == 0)
		settings->config = USUAL_CONFIG;
	return settings->config ? app_ini_read(settings->config, &reader) : APP_EXIT_OK;
}

/* Reads one address of the list, claims it, and adds it to settings->ip. */
static int read_address(struct settings *settings, const char *word, const char *program, struct tree_port *port)
{
	struct uroce_addr *address = &port->addrs[port->addr_count];
	char text[64];
	int code = APP_EXIT_OK;

	if (port->addr_count == UROCE_ADDRS_MAX)
		return app_complain(APP_EXIT_USAGE, "--ip: give up to %u addresses", UROCE_ADDRS_MAX);
	snprintf(text, sizeof(text), "%s", word);
	if (!settings->check)
		code = claim_address(word, program, text, sizeof(text), address);
	if (code == APP_EXIT_OK) {
		port->addr_count++;
		code = parse_more("--ip", text, settings->ip);
	}
	return code;
}

static int read_addresses(struct settings *settings, const char *program, struct tree_port *port)
{
	char list[LIST_BYTES], *rest = NULL;
	int code = APP_EXIT_OK;

	snprintf(list, sizeof(list), "%s", settings->ip);
	settings->ip[0] = '\0';
	for (char *word = strtok_r(list, ",", &rest); word && code == APP_EXIT_OK; word = strtok_r(NULL, ",", &rest))
		code = read_address(settings, word, program, port);
	if (code == APP_EXIT_OK && (settings->device == NULL || port->addr_count == 0))
		return app_complain(
			APP_EXIT_USAGE,
			"%s is missing: set the port with --device and --ip, on the command line or in %s%s",
			settings->device ? "--ip" : "--device",
			settings->config ? "[port] of " : "the file of --config",
			settings->config ? settings->config : "");
	return code;
}

/* The kernel's interface under a port; NULL: not known. */
static const char *interface_of(const char *device, char *name, size_t room)
{
	const char *given = strstr(device, ",iface=");

	if (given == NULL && strchr(device, ',') == NULL && strchr(device, ':') == NULL)
		return device;
	if (given == NULL)
		return NULL;
	snprintf(name, room, "%.*s", (int)strcspn(given + 7, ","), given + 7);
	return name;
}

/* ---- the environment ---- */

static void say(const struct settings *settings, const char *name, const char *value)
{
	if (settings->print_env)
		printf("export %s='%s'\n", name, value);
	else
		setenv(name, value, 1);
}

/*
 * Sets a variable that the stack reads. The command line has precedence over the value that the user has given the
 * variable; that value has precedence over the file and the default.
 */
static void say_setting(const struct settings *settings, const char *option, const char *name, const char *value)
{
	const char *given = getenv(name);

	if (given == NULL || *given == '\0' || app_option_is_given(&set, option))
		say(settings, name, value);
}

/* Sets an environment variable to `more` in front of its present value. */
static void say_first(const struct settings *settings, const char *name, const char *more)
{
	const char *before = getenv(name);
	char text[2048];

	snprintf(text, sizeof(text), "%s%s%s", more, before && *before ? ":" : "", before ? before : "");
	say(settings, name, text);
}

static void set_environment(const struct settings *settings, const char *libraries, const char *root)
{
	char text[1024];

	say(settings, "SYSFS_PATH", root);
	snprintf(text, sizeof(text), "%s/liburoce", libraries);
	say(settings, "RDMAV_DRIVERS", text);
	snprintf(text, sizeof(text), "%s/liburoce-preload.so", libraries);
	say_first(settings, "LD_PRELOAD", text);
	/* Programs may share an interface: with qdisc_bypass=0 each also receives the frames that the others send. */
	snprintf(text, sizeof(text), "%s%s", settings->device,
		 if_nametoindex(settings->device) ? ",qdisc_bypass=0" : "");
	say(settings, "UROCE_PORT", text);
	/* librdmacm.so.1 lies beside the provider, or where it was built. */
	snprintf(text, sizeof(text), "%s/librdmacm.so.1", libraries);
	snprintf(text, sizeof(text), "%s%s", libraries, access(text, R_OK) == 0 ? "" : "/../rdmacm");
	say_first(settings, "LD_LIBRARY_PATH", text);
	say(settings, "UROCE_IP", settings->ip);
	say_setting(settings, "idle", "UROCE_IDLE", app_idle_names[settings->idle]);
	say_setting(settings, "sack-window", "UROCE_SACK_WINDOW", app_sack_windows[settings->sack_window]);
	if (settings->gateway[0])
		say_setting(settings, "gateway", "UROCE_GATEWAY", settings->gateway);
	if (settings->mtu_bytes) {
		snprintf(text, sizeof(text), "%u", settings->mtu_bytes);
		say_setting(settings, "mtu", "UROCE_MTU", text);
	}
	if (settings->paths) {
		snprintf(text, sizeof(text), "%u", settings->paths);
		say_setting(settings, "paths", "UROCE_PATHS", text);
	}
	if (settings->vlan.id || settings->vlan.priority) {
		snprintf(text, sizeof(text), "%u:%u", settings->vlan.id, settings->vlan.priority);
		say_setting(settings, "vlan", "UROCE_VLAN", text);
	}
	if (settings->record)
		say_setting(settings, "record", "UROCE_RECORD", settings->record);
	if (settings->no_dad)
		say_setting(settings, "no-dad", "UROCE_NO_DAD", "1");
	if (settings->explain)
		say_setting(settings, "explain", "UROCE_EXPLAIN", "1");
}

/*
 * The folder in which the provider was built, if this program was built beside it: then that provider is used, whatever
 * is installed.
 */
static void built_libraries(char *out, size_t room)
{
	char self[512] = "", *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		self[0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(out, room, "%s/../lib/verbs", self);
}

static int find_libraries(char *out, size_t room)
{
	char built[600], path[1024];
	const char *const folders[] = { built, LIBRARIES };

	built_libraries(built, sizeof(built));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/liburoce-rdmav34.so", folders[i]);
		if (access(path, R_OK) != 0)
			continue;
		snprintf(out, room, "%s", folders[i]);
		return APP_EXIT_OK;
	}
	return app_complain(APP_EXIT_ENVIRONMENT,
			    "liburoce-rdmav34.so was found neither in %s nor in %s: install uroce", LIBRARIES, built);
}

int main(int argc, char **argv)
{
	struct settings settings = usual;
	struct tree_port port = { NULL };
	char libraries[600], name[64], root[PLACE_BYTES];
	int code;

	app_begin(argc, argv);
	code = app_option_parse(&set, argc, argv, &settings);
	if (code)
		return code - 1;
	code = read_config(&settings);
	if (code == APP_EXIT_OK)
		code = read_addresses(&settings, optind < argc ? basename(argv[optind]) : "uroce-run", &port);
	if (code == APP_EXIT_OK && optind == argc && !settings.print_env && !settings.check)
		code = app_complain(APP_EXIT_USAGE, "the program is missing: uroce-run [OPTIONS] PROGRAM [ARGUMENTS]");
	if (code == APP_EXIT_OK)
		code = find_libraries(libraries, sizeof(libraries));
	if (code == APP_EXIT_OK && settings.check) {
		set_environment(&settings, libraries, "");
		return check_all(libraries);
	}
	if (code == APP_EXIT_OK)
		code = check_library();
	if (code == APP_EXIT_OK && settings.print_env && !place_has_node())
		code = app_complain(APP_EXIT_ENVIRONMENT,
				    "--print-env: the container lacks /dev/infiniband/" TREE_NODE
				    "; start the container with --device /dev/null:/dev/infiniband/" TREE_NODE);
	if (code == APP_EXIT_OK)
		code = place_enter(settings.ip, root);
	if (code != APP_EXIT_OK)
		return code;
	port.interface = interface_of(settings.device, name, sizeof(name));
	code = tree_write(root, &port);
	if (code)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", root, strerror(-code));
	set_environment(&settings, libraries, root);
	if (settings.print_env)
		return APP_EXIT_OK;
	execvp(argv[optind], &argv[optind]);
	return app_complain(errno == ENOENT ? APP_EXIT_USAGE : APP_EXIT_ENVIRONMENT, "%s: %s", argv[optind],
			    strerror(errno));
}
