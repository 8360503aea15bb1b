/* thread.h - makes threads that take no signals, which are the application's */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_CAPTURE_THREAD_H
#define DRIVERS_CAPTURE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(). In the thread writing to a pipe without a reader is an error, and does not end the program. */
static inline int capture_thread_create(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

#endif
