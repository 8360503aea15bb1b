/* signals.h - threads of the stack take no signals: those of a process are for the threads of its program */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_SIGNALS_H
#define VERBS_SIGNALS_H

#include <signal.h>

/*
 * Threads that are made until signals_restore() have signals blocked. A program that waits for a signal by signalfd()
 * or sigwait() blocks it in its own threads only; if a thread of ours took the signal it would end the process. Signals
 * that tell of the thread's own errors are not blocked.
 */
static inline sigset_t signals_block(void)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
	sigset_t all, before;

	sigfillset(&all);
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	return before;
}

static inline void signals_restore(sigset_t before)
{
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
