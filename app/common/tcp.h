/* tcp.h - the TCP connection over which two programs tell each other who they are before they speak RoCE */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_TCP_H
#define APP_COMMON_TCP_H

#include <stdbool.h>

/* A socket that listens at all addresses, IPv6 and IPv4, for one peer at a time; -1: errno says why. */
int app_tcp_listen(unsigned port);

/*
 * A connection to a host by name or address, for which a peer that is just starting is waited for. rest() is called
 * between two looks, at least each millisecond while a connection is being made: it polls the lcore, say; false ends
 * the wait. -1: *why is a reason for people, and *unknown tells whether it is of the host's name.
 */
int app_tcp_dial(const char *host, unsigned port, double seconds, bool (*rest)(void *argument), void *argument,
		 const char **why, bool *unknown);

#endif
