/* tcp.h - a TCP connection, by which two programs tell each other their queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_TCP_H
#define APP_COMMON_TCP_H

#include <stdbool.h>

/* Returns a socket that listens at all addresses, IPv6 and IPv4, for one peer at a time; -1: errno says why. */
int app_tcp_listen(unsigned port);

/*
 * Connects to a host by name or address, and waits for a peer that is just starting. Meanwhile calls rest() (may be
 * NULL) at least each millisecond, for example to poll the lcore; the wait ends if rest() returns false. Returns a
 * socket, or -1: then *why is the reason in words, and *unknown tells whether the host's name is unknown.
 */
int app_tcp_dial(const char *host, unsigned port, double seconds, bool (*rest)(void *argument), void *argument,
		 const char **why, bool *unknown);

#endif
