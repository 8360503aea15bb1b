/* postmortem.h - writes the files about one failure */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVERS_POSTMORTEM_H
#define DRIVERS_POSTMORTEM_H

#include <uroce/inspect.h>

#include "drivers/capture/tap.h"

struct postmortem {
	const struct uroce_qp_view *view;   /* the QP when it failed */
	const struct drivers_tap *tap;      /* the tap of the QP's port */
	const struct uroce_addr *addresses; /* the port's addresses */
	uint32_t address_count;
	const char *port_name;
	const char *directory;
	bool is_last; /* no further failures will be written, and the text says so */
};

/* Writes both files. Frames that are gone are left out. If one file cannot be written whole, there is neither. */
void postmortem_write(const struct postmortem *what);

#endif
