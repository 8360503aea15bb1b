/* stack.h - the one stack of a process: EAL, an engine with one lcore, a port */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack starts with the first device that is opened, and runs until the process ends, because EAL cannot be started
 * twice. Its lcore is a thread that may run on all cores of the thread that opens the device, and sleeps while nothing
 * comes, so that a program needs no core to spare. Its settings are in the environment, where uroce-run writes them:
 *   UROCE_PORT     the port, as uroce_port_open() takes it: "eth1", "net_memif0,role=server"
 *   UROCE_IP       its addresses, the first one first: "10.0.0.1/24,fd00::1/64"
 *   UROCE_GATEWAY  of each address, in the same order; optional
 *   UROCE_MTU      the largest path MTU; optional
 *   UROCE_IDLE     poll, yield or sleep; optional
 *   UROCE_SACK_WINDOW  packets in flight to a peer that agrees to SACKs, 256 ... 2048, or off; optional
 *   UROCE_PATHS    over how many paths to spread requests to such a peer, 4 ... 64; optional
 *   UROCE_NO_DAD   not empty: the network is not asked first whether another station has an address; optional
 */
#ifndef VERBS_STACK_H
#define VERBS_STACK_H

#include <uroce/uroce.h>

/* How many READs and atomics each queue pair can have outstanding, and can answer, at a time. */
#define STACK_RD_ATOMIC 16u

struct stack {
	struct uroce_engine *engine;
	struct uroce_port *port;
	struct uroce_device *device;
	struct uroce_device_info info;
	uint16_t sack_window; /* window of SACKs that this end offers to peers, in packets; 0: no SACKs */
	uint8_t paths;        /* paths of a connection with SACKs; 0: one */
	bool one_core;        /* the program and the thread of the stack share the only core that they may use */
	bool serves;          /* the port is a memif's server: its link comes and goes with its client */
};

/*
 * Sets *stack to the stack of the process, which the first call starts. Returns 0; or a positive errno, which one line
 * on standard error has explained, and which each later call returns again.
 */
int stack_get(struct stack **stack);

#endif
