/* eal.h - what every program does about EAL: split the arguments, choose what was not given, start quietly */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. app_eal_split(): EAL's arguments and the program's; parse the latter (getopt_long on own_count, own)
 *   2. app_eal_start(): adds what the user left open (memory, cores, PCI), and says why if EAL does not start
 *   3. app_port_open() (ports.h), then app_eal_speak(): from here on DPDK's messages reach the user
 *   4. app_eal_stop()
 * All that fails is told in one line on standard error: cause, value, what to do.
 */
#ifndef APP_COMMON_EAL_H
#define APP_COMMON_EAL_H

#include <stdbool.h>

/* What programs exit with. */
enum app_exit {
	APP_EXIT_OK,
	APP_EXIT_FAILURE, /* traffic or a check failed */
	APP_EXIT_USAGE,
	APP_EXIT_ENVIRONMENT, /* no port, no memory, no permission */
	APP_EXIT_INTERNAL,
	APP_EXIT_INTERRUPTED = 130 /* by SIGINT or SIGTERM, as shells count */
};

#define APP_EAL_DEVICES_MAX 8

/* argv in two halves, each ended by NULL and with the program's name in front. */
struct app_args {
	int eal_count, own_count;
	char **eal, **own;
};

struct app_eal_config {
	const struct app_args *args;
	const char *devices[APP_EAL_DEVICES_MAX]; /* as ports.h names them; NULL: none more */
	unsigned worker_count;                    /* EAL lcores wanted besides the main one */
	bool main_is_busy;   /* the main thread turns an lcore itself: it gets a core to itself, too */
	bool last_core;      /* takes cores from the other end: of two processes on one machine, one should */
	unsigned memory_mib; /* 0: 256 */
};

/* How it was started. */
struct app_eal_facts {
	bool hugepages;
	bool shared_cores;    /* two busy lcores have one core */
	unsigned lcore_count; /* that are busy */
	unsigned core_count;  /* that the process may use */
};

/* Without "--" all arguments are the program's, with one those before it are EAL's. 0, or -1: no memory. */
int app_eal_split(int argc, char **argv, struct app_args *args);

/* APP_EXIT_OK, or what to exit with; the reason has been printed. Once in a process. */
int app_eal_start(const struct app_eal_config *config);

const struct app_eal_facts *app_eal_facts(void);

/* The EAL lcore id of a worker, from 0. */
unsigned app_eal_worker(unsigned index);

/*
 * Since app_eal_start() DPDK's errors are collected: drivers grumble about what does not matter here. This ends it;
 * errors go to standard error from now on. With show, what was collected is printed first.
 */
void app_eal_speak(bool show);

/* The first --vdev or -a among EAL's arguments: name without its arguments, in out. false: there is none. */
bool app_eal_first_device(const struct app_args *args, char *out, unsigned out_bytes);

void app_eal_stop(void);

/*
 * From now on SIGINT and SIGTERM end the program at once, whatever it or a driver is at: "interrupted", exit 130.
 * What was printed is not lost. For a program that has nothing to finish; also when it was started in the background.
 */
void app_end_when_interrupted(void);

/* "PROGRAM: ..." and a newline on standard error; returns code. */
int app_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* May the file be read? A folder may not, though it can be opened. false: errno says why. */
bool app_is_readable(const char *path);

#endif
