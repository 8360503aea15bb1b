/* eal.c - EAL's arguments, chosen where the user gave none, and its messages kept until they matter */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "common/eal.h"

#define ARGUMENTS_MAX 64
#define ARGUMENT_BYTES 512
#define LCORES_BYTES 1024
#define MEMORY_MIB 256u
#define COMPLAINT_BYTES 4096u
#define MESSAGES_BYTES 4096u
#define PAGE_BYTES (2u << 20)
/* net_af_packet cuts frames that do not fit its ring without a word: room for PMTU 4096. */
#define AF_PACKET_RING ",framesz=4608,blocksz=36864,framecnt=512"
/* One buffer for a frame of PMTU 4096 instead of three. */
#define MEMIF_BUFFER ",bsize=8192"

static struct {
	struct app_eal_facts facts;
	const char *program;
	char messages[MESSAGES_BYTES]; /* DPDK's complaints so far, the oldest */
	size_t messages_bytes;
	FILE *stream;
	bool started;
	bool may_leave_files;
} state = { .program = "uroce" };

/* Arguments being put together for rte_eal_init(). */
struct command_line {
	int count;
	char *words[ARGUMENTS_MAX + 1];
	char storage[ARGUMENTS_MAX][ARGUMENT_BYTES];
};

/* Options that mean the user has decided about a topic himself. */
static const char *const memory_options[] = {
	"--no-huge",     "--socket-mem", "--huge-dir",  "--in-memory",   "--no-shconf",
	"--file-prefix", "--legacy-mem", "--proc-type", "--huge-unlink", NULL
};
static const char *const core_options[] = { "-l", "-c", "-s", "-S", "--lcores", NULL };
static const char *const pci_options[] = { "--no-pci", "-a", "--allow", "-b", "--block", NULL };
static const char *const log_options[] = { "--log-level", NULL };
static const char *const help_options[] = { "-h", "--help", NULL };

int app_complain(int code, const char *format, ...)
{
	char line[COMPLAINT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	/* It may cite a file or a peer: no terminal shall obey those. */
	for (char *c = line; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	fprintf(stderr, "%s: %s\n", state.program, line);
	return code;
}

static void end_interrupted(int number)
{
	static const char text[] = ": interrupted\n";

	(void)number;
	if (write(STDERR_FILENO, state.program, strlen(state.program)) < 0 ||
	    write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(APP_EXIT_INTERRUPTED);
	_exit(APP_EXIT_INTERRUPTED);
}

void app_end_when_interrupted(void)
{
	struct sigaction action = { .sa_handler = end_interrupted };

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool app_is_readable(const char *path)
{
	struct stat status;

	if (access(path, R_OK) != 0 || stat(path, &status) != 0)
		return false;
	if (S_ISDIR(status.st_mode))
		errno = EISDIR;
	return !S_ISDIR(status.st_mode);
}

/* ---- splitting ---- */

static const char *name_of_program(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int app_eal_split(int argc, char **argv, struct app_args *args)
{
	int divide = 0;

	if (argc > 0)
		state.program = name_of_program(argv[0]);
	for (int i = 1; i < argc && divide == 0; i++) {
		if (strcmp(argv[i], "--") == 0)
			divide = i;
	}
	args->eal = calloc((size_t)argc + 2, sizeof(char *));
	args->own = calloc((size_t)argc + 2, sizeof(char *));
	if (args->eal == NULL || args->own == NULL)
		return -1;
	args->eal_count = args->own_count = 0;
	args->eal[args->eal_count++] = args->own[args->own_count++] = argc > 0 ? argv[0] : (char *)(uintptr_t) "uroce";
	for (int i = 1; i < argc; i++) {
		if (i < divide)
			args->eal[args->eal_count++] = argv[i];
		else if (i > divide)
			args->own[args->own_count++] = argv[i];
	}
	return 0;
}

/* Does word give the option? -m512, -m 512, --lcores=..., --lcores ... */
static bool word_gives(const char *word, const char *option)
{
	size_t bytes = strlen(option);

	if (strncmp(word, option, bytes) != 0)
		return false;
	return option[1] != '-' || word[bytes] == '\0' || word[bytes] == '=';
}

static bool user_gave(const struct app_args *args, const char *const *options)
{
	for (int i = 1; i < args->eal_count; i++) {
		for (const char *const *option = options; *option; option++) {
			if (word_gives(args->eal[i], *option))
				return true;
		}
	}
	return false;
}

/* The value of option at args->eal[i], in the same word or the next, or NULL. */
static const char *value_at(const struct app_args *args, int i, const char *option)
{
	const char *word = args->eal[i];
	size_t bytes = strlen(option);

	if (!word_gives(word, option))
		return NULL;
	if (word[bytes] == '\0')
		return i + 1 < args->eal_count ? args->eal[i + 1] : NULL;
	return word + bytes + (word[bytes] == '=');
}

/* The value of an option wherever it stands, or NULL. */
static const char *value_of(const struct app_args *args, const char *option)
{
	const char *value = NULL;

	for (int i = 1; i < args->eal_count && value == NULL; i++)
		value = value_at(args, i, option);
	return value;
}

static void copy_name(char *out, size_t out_bytes, const char *device)
{
	snprintf(out, out_bytes, "%.*s", (int)strcspn(device, ","), device);
}

bool app_eal_first_device(const struct app_args *args, char *out, unsigned out_bytes)
{
	static const char *const options[] = { "--vdev", "-a", "--allow" };

	for (int i = 1; i < args->eal_count; i++) {
		for (unsigned o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
			const char *value = value_at(args, i, options[o]);

			if (value) {
				copy_name(out, out_bytes, value);
				return true;
			}
		}
	}
	return false;
}

/* ---- choosing ---- */

static void add(struct command_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct command_line *line, const char *format, ...)
{
	va_list arguments;

	if (line->count == ARGUMENTS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(line->storage[line->count], ARGUMENT_BYTES, format, arguments);
	va_end(arguments);
	line->words[line->count] = line->storage[line->count];
	line->count++;
}

/* Decided before rte_eal_init(), which cannot be tried a second time. */
static bool hugepages_suffice(unsigned memory_mib)
{
	FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned long free_pages = 0;
	void *page;

	if (file) {
		if (fscanf(file, "%lu", &free_pages) != 1)
			free_pages = 0;
		fclose(file);
	}
	if (free_pages * (PAGE_BYTES >> 20) < memory_mib)
		return false;
	/* There may be a limit on this group of processes. */
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (page == MAP_FAILED)
		return false;
	munmap(page, PAGE_BYTES);
	return true;
}

static void choose_memory(const struct app_eal_config *config, struct command_line *line)
{
	unsigned memory_mib = config->memory_mib ? config->memory_mib : MEMORY_MIB;
	const char *given = value_of(config->args, "-m");

	if (given)
		memory_mib = (unsigned)strtoul(given, NULL, 0);
	state.may_leave_files = user_gave(config->args, memory_options);
	if (state.may_leave_files)
		return;
	if (hugepages_suffice(memory_mib)) {
		add(line, "--in-memory");
		return;
	}
	add(line, "--no-huge");
	add(line, "--no-shconf");
	if (given == NULL) {
		add(line, "-m");
		add(line, "%u", memory_mib);
	}
}

/* Busy lcores get cores of their own as far as they go; a main thread that only waits takes what is left. */
static void choose_cores(const struct app_eal_config *config, const cpu_set_t *allowed, struct command_line *line)
{
	unsigned cores[CPU_SETSIZE], count = 0, main_core, first_worker = config->main_is_busy;
	char text[LCORES_BYTES];
	size_t at;

	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		unsigned core = config->last_core ? CPU_SETSIZE - 1 - i : i;

		if (CPU_ISSET(core, allowed))
			cores[count++] = core;
	}
	state.facts.core_count = count;
	if (user_gave(config->args, core_options) || count == 0)
		return;
	main_core = cores[config->main_is_busy ? 0 : config->worker_count % count];
	at = (size_t)snprintf(text, sizeof(text), "0@%u", main_core);
	for (unsigned i = 0; i < config->worker_count && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, ",%u@%u", i + 1,
				       cores[(first_worker + i) % count]);
	add(line, "--lcores");
	add(line, "%s", text);
}

static bool user_gave_device(const struct app_args *args, const char *device)
{
	size_t bytes = strcspn(device, ",");

	for (int i = 1; i < args->eal_count; i++) {
		const char *value = value_at(args, i, "--vdev");

		if (value && strcspn(value, ",") == bytes && strncmp(value, device, bytes) == 0)
			return true;
	}
	return false;
}

static void choose_devices(const struct app_eal_config *config, struct command_line *line)
{
	bool pci = false;

	for (unsigned i = 0; i < APP_EAL_DEVICES_MAX && config->devices[i]; i++) {
		const char *device = config->devices[i], *more = "";

		if (strcmp(device, "loop") == 0 || user_gave_device(config->args, device))
			continue;
		if (strchr(device, ':') && strncmp(device, "net_", 4) != 0) {
			pci = true;
			if (!user_gave(config->args, pci_options)) {
				add(line, "-a");
				add(line, "%s", device);
			}
			continue;
		}
		if (strncmp(device, "net_af_packet", 13) == 0 && !strstr(device, "framesz=") &&
		    !strstr(device, "blocksz=") && !strstr(device, "framecnt="))
			more = AF_PACKET_RING;
		else if (strncmp(device, "net_memif", 9) == 0 && !strstr(device, "bsize="))
			more = MEMIF_BUFFER;
		add(line, "--vdev");
		add(line, "%s%s", device, more);
	}
	if (!pci && !user_gave(config->args, pci_options))
		add(line, "--no-pci");
}

/* ---- starting ---- */

/* Takes what DPDK logs. Everything but errors is forgotten. */
static ssize_t keep_message(void *cookie, const char *text, size_t bytes)
{
	size_t room = sizeof(state.messages) - 1 - state.messages_bytes;

	(void)cookie;
	if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_ERR) {
		room = bytes < room ? bytes : room;
		memcpy(state.messages + state.messages_bytes, text, room);
		state.messages_bytes += room;
	}
	return (ssize_t)bytes;
}

/* DPDK prints 100 lines of help about a wrong option, and getopt a line: what goes to a stream while EAL starts. */
struct diversion {
	FILE *stream;
	int saved, kept; /* descriptors; -1: it is left alone */
};

static void divert(struct diversion *diversion, FILE *stream)
{
	fflush(stream);
	diversion->stream = stream;
	diversion->saved = dup(fileno(stream));
	diversion->kept = memfd_create("uroce-eal", MFD_CLOEXEC);
	if (diversion->saved >= 0 && diversion->kept >= 0)
		dup2(diversion->kept, fileno(stream));
}

/* From now on the stream is the user's again. What went to it is shown, or put into out as far as there is room. */
static void end_diversion(struct diversion *diversion, bool show, char *out, size_t room)
{
	char text[512];
	ssize_t got;

	fflush(diversion->stream);
	if (diversion->saved >= 0 && diversion->kept >= 0) {
		dup2(diversion->saved, fileno(diversion->stream));
		lseek(diversion->kept, 0, SEEK_SET);
		while (show && (got = read(diversion->kept, text, sizeof(text))) > 0)
			fwrite(text, 1, (size_t)got, diversion->stream);
		if (!show && out && (got = read(diversion->kept, out, room - 1)) >= 0)
			out[got] = '\0';
	}
	close(diversion->saved);
	close(diversion->kept);
}

static bool tells_nothing(const char *line)
{
	return strstr(line, "Invalid 'command line' arguments") || strstr(line, "FATAL") || *line == '\0';
}

/* DPDK's complaints and getopt's as one line, without its prefix and without what says nothing or says it again. */
static const char *reasons(char *complaints)
{
	static char text[COMPLAINT_BYTES / 2];
	char *lists[2] = { complaints, state.messages }, *rest = NULL;
	size_t at = 0;

	state.messages[state.messages_bytes] = '\0';
	for (unsigned i = 0; i < 2; i++) {
		for (char *line = strtok_r(lists[i], "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			const char *option = strstr(line, ": unrecognized option");

			line = option ? (char *)(uintptr_t)option + 2 : line;
			line += strncmp(line, "EAL: ", 5) == 0 ? 5 : 0;
			if (tells_nothing(line) || strstr(text, line) || at + strlen(line) + 3 > sizeof(text))
				continue;
			at += (size_t)sprintf(text + at, "%s%s", at ? "; " : "", line);
		}
	}
	return at ? text : "no reason given; --log-level=8 before -- may tell one";
}

/* What a person can do about it; "" when nothing is known. */
static const char *remedy(const char *reason)
{
	if (rte_errno == EINVAL)
		return " (-h before -- lists EAL's options)";
	if (strcasestr(reason, "hugepage"))
		return ": set hugepages aside as root (echo 512 > /proc/sys/vm/nr_hugepages), or leave EAL's memory "
		       "options out, then none are needed";
	if (rte_errno == EACCES || rte_errno == EPERM)
		return ": run it as root";
	return "";
}

static bool cores_are_shared(const struct app_eal_config *config)
{
	unsigned lcore, others = 0, seen = 0;
	rte_cpuset_t used, both;

	CPU_ZERO(&used);
	if (config->main_is_busy)
		used = rte_lcore_cpuset(rte_get_main_lcore());
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		rte_cpuset_t own = rte_lcore_cpuset(lcore);

		if (seen++ == config->worker_count)
			break;
		CPU_AND(&both, &used, &own);
		others += (unsigned)CPU_COUNT(&both);
		CPU_OR(&used, &used, &own);
	}
	return others > 0;
}

static int check_start(const struct app_eal_config *config, int parsed, const struct command_line *line)
{
	if (parsed < line->count - 1)
		return app_complain(APP_EXIT_USAGE,
				    "EAL does not know the argument '%s': before -- stand EAL's options "
				    "only, behind it the program's",
				    line->words[parsed + 1]);
	if (rte_lcore_count() < config->worker_count + 1)
		return app_complain(APP_EXIT_USAGE,
				    "EAL has %u lcores and %u are needed: name more with -l, or several on "
				    "one core with --lcores 0@0,1@0,2@1",
				    rte_lcore_count(), config->worker_count + 1);
	return APP_EXIT_OK;
}

static int init_eal(const struct app_eal_config *config, struct command_line *line)
{
	bool quiet = !user_gave(config->args, log_options), help = user_gave(config->args, help_options);
	struct diversion output, errors;
	char complaints[512] = "";
	const char *reason;
	int parsed;

	if (quiet) {
		state.stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = keep_message });
		rte_openlog_stream(state.stream);
	}
	if (!help)
		divert(&output, stdout);
	if (quiet)
		divert(&errors, stderr);
	parsed = rte_eal_init(line->count, line->words);
	if (!help)
		end_diversion(&output, parsed >= 0, NULL, 0);
	if (quiet)
		end_diversion(&errors, parsed >= 0, complaints, sizeof(complaints));
	if (parsed < 0) {
		reason = reasons(complaints);
		return app_complain(rte_errno == EINVAL ? APP_EXIT_USAGE : APP_EXIT_ENVIRONMENT,
				    "EAL does not start (%s): %s%s", rte_strerror(rte_errno), reason, remedy(reason));
	}
	state.started = true;
	return check_start(config, parsed, line);
}

int app_eal_start(const struct app_eal_config *config)
{
	static struct command_line line;
	cpu_set_t allowed;
	int code;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	line.count = 0;
	for (int i = 0; i < config->args->eal_count; i++)
		add(&line, "%s", config->args->eal[i]);
	choose_memory(config, &line);
	choose_cores(config, &allowed, &line);
	choose_devices(config, &line);
	if (line.count == ARGUMENTS_MAX)
		return app_complain(APP_EXIT_USAGE, "%d arguments for EAL are too many: at most %d", line.count,
				    ARGUMENTS_MAX - 1);
	code = init_eal(config, &line);
	if (code)
		return code;
	/* EAL pins the thread that starts it; one that only waits shall not stand in a worker's way. */
	if (!config->main_is_busy)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	state.facts.hugepages = rte_eal_has_hugepages();
	state.facts.lcore_count = config->worker_count + config->main_is_busy;
	state.facts.shared_cores = cores_are_shared(config);
	return APP_EXIT_OK;
}

const struct app_eal_facts *app_eal_facts(void)
{
	return &state.facts;
}

unsigned app_eal_worker(unsigned index)
{
	unsigned lcore;

	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (index-- == 0)
			return lcore;
	}
	return LCORE_ID_ANY;
}

void app_eal_speak(bool show)
{
	if (state.stream == NULL)
		return;
	fflush(state.stream);
	if (show)
		fwrite(state.messages, 1, state.messages_bytes, stderr);
	rte_log_set_global_level(RTE_LOG_ERR);
	rte_openlog_stream(stderr);
	fclose(state.stream);
	state.stream = NULL;
}

/*
 * Where the user chose EAL's memory, it may have left files. Otherwise the end of the process removes everything, and
 * rte_eal_cleanup() (22.11) would unmap what its thread for interrupts may still read, when a memif has just gone.
 */
void app_eal_stop(void)
{
	if (state.started && state.may_leave_files)
		rte_eal_cleanup();
	state.started = false;
}
