/* ports.h - opens ports for programs, with error messages, both ends of a loop in one call, and reports drops */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_PORTS_H
#define APP_COMMON_PORTS_H

#include <uroce/uroce.h>

#include "common/number.h"
#include "common/words.h"
#include "drivers/port/port.h"

struct app_port_config {
	const char *device; /* as uroce_port_open() takes it */
	struct uroce_port_config port;
	bool two_addresses; /* each end of a loop has a second address: 10.0.1.1/24 and 10.0.1.2/24 */
};

struct app_port {
	struct uroce_port *port; /* NULL: not open */
	const struct drivers_ethdev *ethdev;
	struct uroce_device *device;
	struct uroce_addr addr; /* the first one */
};

/* Each returns APP_EXIT_OK; or the exit code after a complaint, and then nothing is open. */
int app_port_open(const struct app_port_config *config, struct app_port *port);

/*
 * Opens both ends of a loop. addresses[0] is for the first, addresses[1] for the second; NULL: 10.0.0.1/24 and
 * 10.0.0.2/24. The queues of the second begin at lcore first_lcore + second_lcore_offset.
 */
int app_loop_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct app_port ports[2]);

/*
 * Destroys the device and closes the port. Everything that uses the device must be gone. Ignores a port that is not
 * open.
 */
void app_port_close(struct app_port *port);
void app_loop_close(struct app_port ports[2]);

/*
 * "No answer" and "answers that are thrown away" need different remedies. A program that waits calls app_drops_tell()
 * now and then, always with the same struct, which is zeroed at first.
 */
struct app_drops {
	struct uroce_stats told; /* the counters when the last line was printed */
};

/* Prints on standard error a line for each reason for which frames were dropped since the last call. */
void app_drops_tell(struct app_drops *drops, const struct app_port *port);

/* Rows for settings with a vlan and a no_dad. */
/* clang-format off */
#define APP_VLAN_ROW(type)                                                                                    \
	{ WORD_OF(VLAN), OPTION_AT(type, vlan), .parse = app_vlan_expect,                                     \
	  .usual = "none; use the same VLAN at both ends" }
#define APP_NO_DAD_ROW(type) { WORD_OF(NO_DAD), OPTION_AT(type, no_dad) }
/* clang-format on */

#endif
