/* check.c - checks one by one what a program needs to run */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/exit.h"

int check_library(void)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "libibverbs.so.1 is missing (%s): install libibverbs1",
				    dlerror());
	if (dlvsym(library, "verbs_register_driver_34", "IBVERBS_PRIVATE_34"))
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_ENVIRONMENT, "libibverbs.so.1 does not have private ABI 34 (rdma-core 34 to 56): "
						  "use the library of Debian 12 or 13, or Ubuntu 24.04");
}

/*
 * Opens the port as the provider would; the provider itself prints what is wrong. The environment is set as for a
 * program.
 */
static int open_port(const char *folder)
{
	int (*stack_get)(void **stack) = NULL;
	char path[1024];
	void *library, *stack;

	snprintf(path, sizeof(path), "%s/liburoce-verbs.so", folder);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&stack_get = dlsym(library, "stack_get");
	if (stack_get == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s", dlerror());
	return stack_get(&stack) == 0 ? APP_EXIT_OK : APP_EXIT_ENVIRONMENT;
}

/* Runs a step in a child process, because a process cannot leave a namespace or EAL. */
static int try(const char *what, int (*step)(const char *argument), const char *argument)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		fflush(stdout);
		_exit(step(argument));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		status = APP_EXIT_INTERNAL << 8;
	if (WEXITSTATUS(status) == APP_EXIT_OK)
		printf("ok: %s\n", what);
	else
		printf("missing: %s\n", what);
	return WEXITSTATUS(status);
}

static int try_library(const char *unused)
{
	(void)unused;
	return check_library();
}

static int try_place(const char *address)
{
	char root[PLACE_BYTES];

	return place_enter(address, root);
}

static int try_libraries(const char *folder)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/liburoce-rdmav34.so", folder);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL) ? APP_EXIT_OK : app_complain(APP_EXIT_ENVIRONMENT, "%s", dlerror());
}

int check_all(const char *libraries)
{
	int worst = APP_EXIT_OK, code;

	code = try("the system's libibverbs is compatible", try_library, NULL);
	worst = code ? code : worst;
	code = try("the provider can be loaded", try_libraries, libraries);
	worst = code ? code : worst;
	code = try("a private directory for the device can be mounted", try_place, "check");
	worst = code ? code : worst;
	code = try("the port can be opened", open_port, libraries);
	return code ? code : worst;
}
