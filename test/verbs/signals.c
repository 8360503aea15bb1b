/* signals.c - signals of a process reach the program that waits for them, whatever threads the stack has */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: verbs-signals. Exit 1: one was taken by another thread, or lost. */
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TIMES 100

/* After the device is open, as tgtd does it: what is blocked then is blocked in our one thread alone. */
int main(void)
{
	static const int waited[] = { SIGUSR1, SIGUSR2, SIGTERM, SIGHUP };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct timespec patience = { .tv_sec = 5 };
	sigset_t set;

	if (list == NULL || list[0] == NULL || ibv_open_device(list[0]) == NULL)
		return 1;
	for (unsigned i = 0; i < TIMES * 4; i++) {
		int number = waited[i % 4];

		sigemptyset(&set);
		sigaddset(&set, number);
		if (sigprocmask(SIG_BLOCK, &set, NULL) != 0 || kill(getpid(), number) != 0 ||
		    sigtimedwait(&set, NULL, &patience) != number) {
			printf("signal %d did not come\n", number);
			return 1;
		}
	}
	printf("%d signals, all came\n", TIMES * 4);
	return 0;
}
