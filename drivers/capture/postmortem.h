/* postmortem.h - the files of one failure */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_POSTMORTEM_H
#define DRIVERS_POSTMORTEM_H

#include <uroce/inspect.h>

#include "drivers/capture/tap.h"

struct postmortem {
	const struct uroce_qp_view *view;   /* of the QP when it failed */
	const struct drivers_tap *tap;      /* of its port */
	const struct uroce_addr *addresses; /* of the port */
	uint32_t address_count;
	const char *port_name;
	const char *directory;
	bool is_last; /* nothing will be written of the failures behind it, and this one says so */
};

/* A frame that cannot be had is left out. When a file cannot be written whole there is neither. */
void postmortem_write(const struct postmortem *what);

#endif
