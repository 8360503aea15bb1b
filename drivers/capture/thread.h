/* thread.h - a thread of the library takes no signals: they are the application's */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_CAPTURE_THREAD_H
#define DRIVERS_CAPTURE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(). A pipe that nobody reads any more is an error there, and no end of the program. */
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
