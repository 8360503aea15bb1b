/* chain.c - a program's handlers of SIGSEGV and SIGBUS stay behind the handler of the stack */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack handles faults in memory that disappears while it is registered (drivers/guard), and passes other faults on
 * to the handler of the program. A program that installs its handler later would replace that of the stack. So this
 * library, which uroce-run preloads, takes the program's calls of sigaction() and signal() for these two signals.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int uroce_chain_signal(int number, const struct sigaction *handler, struct sigaction *chained);
PUBLIC sighandler_t bsd_signal(int number, sighandler_t handler);
PUBLIC sighandler_t __sysv_signal(int number, sighandler_t handler);

/* Where the program's handlers are kept; NULL: its calls take effect. */
static struct sigaction *kept_segv, *kept_bus;

static struct sigaction **kept_for(int number)
{
	return number == SIGSEGV ? &kept_segv : number == SIGBUS ? &kept_bus : NULL;
}

static int real_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	if (real)
		return real(number, new, old);
	errno = ENOSYS;
	return -1;
}

PUBLIC int uroce_chain_signal(int number, const struct sigaction *handler, struct sigaction *chained)
{
	struct sigaction **kept = kept_for(number);
	int result;

	if (chained && *kept)
		return 0; /* it is installed already */
	result = real_sigaction(number, handler, chained);
	if (result == 0)
		*kept = chained;
	return result;
}

PUBLIC int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction **kept = kept_for(number);
	struct sigaction before;

	if (kept == NULL || *kept == NULL)
		return real_sigaction(number, new, old);
	before = **kept;
	if (new)
		**kept = *new;
	if (old)
		*old = before;
	return 0;
}

static sighandler_t set(int number, sighandler_t handler, int flags)
{
	struct sigaction new = { .sa_handler = handler, .sa_flags = flags }, old;

	return sigaction(number, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

PUBLIC sighandler_t signal(int number, sighandler_t handler)
{
	return set(number, handler, SA_RESTART);
}

PUBLIC sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return set(number, handler, SA_RESTART);
}

PUBLIC sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return set(number, handler, SA_RESETHAND | SA_NODEFER);
}

PUBLIC sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set(number, handler, SA_RESETHAND | SA_NODEFER);
}
