/* reload.h - reads the file of --config again, and changes hosts and namespaces while the target runs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_RELOAD_H
#define NVMET_RELOAD_H

#include "nvmet/disk.h"

/*
 * Applies the differences between *settings and the file: hosts that may connect (others are disconnected), and
 * namespaces that are new, gone, or of another size. Prints a line for each change, and for each changed value that
 * needs a restart: of [target], ports, subsystems. A file with an error changes nothing; a namespace that cannot be
 * opened is skipped with a complaint. Called on the main lcore. Afterwards *settings contains the settings in use.
 */
void reload(struct settings *settings, struct server *server, struct disks *disks);

#endif
