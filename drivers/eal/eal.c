/* eal.c - completes EAL's arguments where the user has given none, and starts EAL */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/eal/eal.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_trace.h>

#include "drivers/eal/log.h"
#include "drivers/eal/runtime.h"
#include "drivers/ethdev/ethdev.h"

#define ARGUMENTS_MAX 64
#define ARGUMENT_BYTES 512
#define LCORES_BYTES 1024
#define MEMORY_MIB 256u
#define PAGE_BYTES (2u << 20)

static struct {
	struct uroce_eal_info info;
	char complaints[400]; /* what DPDK complained about while EAL started */
	bool started;
	bool may_leave_files;
} state;

/* The arguments that are being put together for rte_eal_init(). */
struct command_line {
	int count;
	char *words[ARGUMENTS_MAX + 1];
	char storage[ARGUMENTS_MAX][ARGUMENT_BYTES];
};

/* With one of these options the user has decided himself about memory; the lists below are about other topics. */
static const char *const memory_options[] = {
	"--no-huge",     "--socket-mem", "--huge-dir",  "--in-memory",   "--no-shconf",
	"--file-prefix", "--legacy-mem", "--proc-type", "--huge-unlink", NULL
};
static const char *const core_options[] = { "-l", "-c", "-s", "-S", "--lcores", NULL };
static const char *const pci_options[] = { "--no-pci", "-a", "--allow", "-b", "--block", NULL };
static const char *const log_options[] = { "--log-level", NULL };
static const char *const help_options[] = { "-h", "--help", NULL };

/* Does the word give the option? -m512, -m 512, --lcores=..., --lcores ... */
static bool word_gives(const char *word, const char *option)
{
	size_t bytes = strlen(option);

	if (word == NULL || strncmp(word, option, bytes) != 0)
		return false;
	return option[1] != '-' || word[bytes] == '\0' || word[bytes] == '=';
}

static bool user_gave(const struct uroce_eal_config *config, const char *const *options)
{
	for (int i = 1; i < config->argc; i++) {
		for (const char *const *option = options; *option; option++) {
			if (word_gives(config->argv[i], *option))
				return true;
		}
	}
	return false;
}

/* The value of the option, from word i or the next word; NULL: word i is not this option. */
static const char *value_at(const struct uroce_eal_config *config, int i, const char *option)
{
	const char *word = config->argv[i];
	size_t bytes = strlen(option);

	if (!word_gives(word, option))
		return NULL;
	if (word[bytes] == '\0')
		return i + 1 < config->argc ? config->argv[i + 1] : NULL;
	return word + bytes + (word[bytes] == '=');
}

/* The value of the option in any word, or NULL. */
static const char *value_of(const struct uroce_eal_config *config, const char *option)
{
	const char *value = NULL;

	for (int i = 1; i < config->argc && value == NULL; i++)
		value = value_at(config, i, option);
	return value;
}

/* ---- choosing arguments ---- */

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

/* Are there enough free huge pages? This is asked before rte_eal_init(), which cannot be called a second time. */
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
	/* The cgroup of the process may have a limit of its own. */
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (page == MAP_FAILED)
		return false;
	munmap(page, PAGE_BYTES);
	return true;
}

static void choose_memory(const struct uroce_eal_config *config, struct command_line *line)
{
	unsigned memory_mib = config->memory_mib ? config->memory_mib : MEMORY_MIB;
	const char *given = value_of(config, "-m");

	if (given)
		memory_mib = (unsigned)strtoul(given, NULL, 0);
	state.may_leave_files = user_gave(config, memory_options);
	if (state.may_leave_files)
		return;
	add(line, "--file-prefix");
	add(line, RUNTIME_PREFIX "%d", getpid()); /* each process has a telemetry socket of its own */
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

/*
 * Busy lcores get cores of their own as long as there are enough; a main thread that only waits gets a remaining core.
 */
static void choose_cores(const struct uroce_eal_config *config, const cpu_set_t *allowed, struct command_line *line)
{
	unsigned cores[CPU_SETSIZE], count = 0, main_core, first_worker = config->main_is_busy;
	char text[LCORES_BYTES];
	size_t at;

	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		unsigned core = config->last_core ? CPU_SETSIZE - 1 - i : i;

		if (CPU_ISSET(core, allowed))
			cores[count++] = core;
	}
	state.info.core_count = count;
	if (user_gave(config, core_options) || count == 0)
		return;
	main_core = cores[config->main_is_busy ? 0 : config->worker_count % count];
	at = (size_t)snprintf(text, sizeof(text), "0@%u", main_core);
	for (unsigned i = 0; i < config->worker_count && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, ",%u@%u", i + 1,
				       cores[(first_worker + i) % count]);
	add(line, "--lcores");
	add(line, "%s", text);
}

static void choose_devices(const struct uroce_eal_config *config, struct command_line *line)
{
	bool pci = false;

	if (user_gave(config, pci_options))
		return;
	for (unsigned i = 0; i < UROCE_EAL_DEVICES_MAX && config->devices[i]; i++) {
		if (!drivers_eal_is_pci(config->devices[i]))
			continue;
		pci = true;
		add(line, "-a");
		add(line, "%s", config->devices[i]);
	}
	if (!pci)
		add(line, "--no-pci");
}

/* ---- starting EAL ---- */

/*
 * While EAL starts, output to a stream is written to a file: for a wrong option DPDK prints 100 lines of help, and
 * getopt one line.
 */
struct diversion {
	FILE *stream;
	int saved, kept; /* descriptors; -1: the stream was not diverted */
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

/* Ends the diversion. What was written is shown, or copied to out as far as there is room. */
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

/* What a person can do about the reason; "" if nothing is known. */
static const char *remedy(const char *reason, int error)
{
	if (strcasestr(reason, "hugepage"))
		return ": reserve hugepages as root (echo 512 > /proc/sys/vm/nr_hugepages), or omit EAL's memory "
		       "options to run without hugepages";
	if (error == EACCES || error == EPERM)
		return ": run it as root";
	return "";
}

static bool cores_are_shared(const struct uroce_eal_config *config)
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

static int check_start(const struct uroce_eal_config *config, int parsed, const struct command_line *line,
		       struct uroce_error *error)
{
	if (parsed < line->count - 1)
		return drivers_error_set(error, -EINVAL, "unknown EAL argument '%s'", line->words[parsed + 1]);
	if (rte_lcore_count() < config->worker_count + 1)
		return drivers_error_set(error, -EINVAL,
					 "EAL has %u lcores, but %u are required: add lcores with -l, or place several "
					 "lcores on one core with --lcores 0@0,1@0,2@1",
					 rte_lcore_count(), config->worker_count + 1);
	return 0;
}

static int init_eal(const struct uroce_eal_config *config, struct command_line *line, struct uroce_error *error)
{
	bool quiet = !user_gave(config, log_options), help = user_gave(config, help_options);
	struct diversion output, errors;
	char printed[512] = "";
	const char *reason;
	int parsed, code;

	if (!quiet)
		drivers_log_leave();
	drivers_log_start();
	if (!help)
		divert(&output, stdout);
	if (quiet)
		divert(&errors, stderr);
	parsed = rte_eal_init(line->count, line->words);
	code = rte_errno;
	if (!help)
		end_diversion(&output, parsed >= 0, NULL, 0);
	if (quiet)
		end_diversion(&errors, parsed >= 0, printed, sizeof(printed));
	drivers_log_stop();
	reason = drivers_log_reasons(printed);
	if (parsed < 0)
		return drivers_error_set(error, code ? -code : -EIO, "EAL does not start (%s): %s%s",
					 rte_strerror(code),
					 *reason ? reason : "EAL gave no reason; --log-level=8 may show the reason",
					 remedy(reason, code));
	snprintf(state.complaints, sizeof(state.complaints), "%s", reason);
	if (quiet) {
		rte_log_set_global_level(RTE_LOG_ERR);
		rte_openlog_stream(stderr);
	}
	state.started = true;
	return check_start(config, parsed, line, error);
}

static void collect_info(const struct uroce_eal_config *config)
{
	struct uroce_eal_info *info = &state.info;
	unsigned lcore;

	info->hugepages = rte_eal_has_hugepages();
	info->shared_cores = cores_are_shared(config);
	info->worker_count = 0;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (info->worker_count < UROCE_LCORES_MAX)
			info->worker_ids[info->worker_count++] = lcore;
	}
}

int uroce_eal_start(const struct uroce_eal_config *config, struct uroce_error *error)
{
	static struct command_line line;
	cpu_set_t allowed;
	int code;

	if (drivers_eal_is_started())
		return drivers_error_set(error, -EALREADY,
					 "EAL was already started in this process: it can be started only once");
	sched_getaffinity(0, sizeof(allowed), &allowed);
	line.count = 0;
	add(&line, "%s", config->argc > 0 ? config->argv[0] : "uroce");
	for (int i = 1; i < config->argc; i++)
		add(&line, "%s", config->argv[i]);
	choose_memory(config, &line);
	choose_cores(config, &allowed, &line);
	choose_devices(config, &line);
	if (line.count == ARGUMENTS_MAX)
		return drivers_error_set(error, -EINVAL, "too many EAL arguments: %d (up to %d)", line.count,
					 ARGUMENTS_MAX - 1);
	code = init_eal(config, &line, error);
	if (code)
		return code;
	/* EAL pins the thread that starts it; a thread that only waits should not share a worker's core. */
	if (!config->main_is_busy)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	collect_info(config);
	if (!state.may_leave_files)
		drivers_runtime_sweep();
	return 0;
}

void uroce_eal_query(struct uroce_eal_info *info)
{
	*info = state.info;
}

bool drivers_eal_is_started(void)
{
	return rte_lcore_count() > 0;
}

const char *drivers_eal_complaints(void)
{
	return state.complaints;
}

bool drivers_eal_is_pci(const char *device)
{
	return strncmp(device, "net_", 4) != 0 && device[strcspn(device, ":,")] == ':';
}

/*
 * If the user chose EAL's memory it may have left files, which rte_eal_cleanup() removes. Otherwise the end of the
 * process frees everything, and rte_eal_cleanup() (22.11) would unmap memory that its interrupt thread may still read,
 * if a memif has just gone.
 */
void uroce_eal_stop(void)
{
	if (!state.started)
		return;
	state.started = false;
	if (state.may_leave_files) {
		rte_eal_cleanup(); /* also saves the trace */
	} else {
		rte_trace_save(); /* does nothing without --trace */
		drivers_runtime_remove();
	}
}
