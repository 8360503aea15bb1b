/* stack.h - the one stack of a process: EAL, an engine with an lcore of its own, a port */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * It starts with the first device that is opened and runs until the process ends, for EAL cannot be started twice. Its
 * lcore is a thread that is bound to no core and sleeps while nothing comes, so that a program needs none to spare.
 * What it is told stands in the environment, which uroce-run writes:
 *   UROCE_PORT     the port, as uroce_port_open() takes it: "eth1", "net_memif0,role=server"
 *   UROCE_IP       its addresses, the first one first: "10.0.0.1/24,fd00::1/64"
 *   UROCE_GATEWAY  of each address, in the same order; optional
 *   UROCE_MTU      the largest path MTU; optional
 *   UROCE_IDLE     poll, yield or sleep; optional
 */
#ifndef VERBS_STACK_H
#define VERBS_STACK_H

#include <uroce/uroce.h>

/* READs and atomics that each queue pair can have outstanding, and answers at a time. */
#define STACK_RD_ATOMIC 16u

struct stack {
	struct uroce_engine *engine;
	struct uroce_port *port;
	struct uroce_device *device;
	struct uroce_device_info info;
};

/*
 * The stack, started by the first call. 0, or a positive errno: one line on standard error has said why, and the next
 * call returns the same.
 */
int stack_get(struct stack **stack);

#endif
