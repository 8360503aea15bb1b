/* rsocket.c - sockets over RDMA: all are refused, but programs that link to them can be loaded */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "rdmacm/cma.h"

static long refuse_socket(const char *name)
{
	static _Atomic bool told;

	if (!atomic_exchange(&told, true))
		fprintf(stderr, "uroce: %s(): rsockets are not supported (EOPNOTSUPP)\n", name);
	errno = EOPNOTSUPP;
	return -1;
}

/* Defines a function that is refused, whatever its arguments are. */
#define REFUSED(name)                        \
	CMA_API long name(void);             \
	CMA_API long name(void)              \
	{                                    \
		return refuse_socket(#name); \
	}

REFUSED(raccept)
REFUSED(rbind)
REFUSED(rclose)
REFUSED(rconnect)
REFUSED(rfcntl)
REFUSED(rgetpeername)
REFUSED(rgetsockname)
REFUSED(rgetsockopt)
REFUSED(riomap)
REFUSED(riounmap)
REFUSED(riowrite)
REFUSED(rlisten)
REFUSED(rpoll)
REFUSED(rread)
REFUSED(rreadv)
REFUSED(rrecv)
REFUSED(rrecvfrom)
REFUSED(rrecvmsg)
REFUSED(rselect)
REFUSED(rsend)
REFUSED(rsendmsg)
REFUSED(rsendto)
REFUSED(rsetsockopt)
REFUSED(rshutdown)
REFUSED(rsocket)
REFUSED(rwrite)
REFUSED(rwritev)
