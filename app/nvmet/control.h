/* control.h - the control socket: a client sends a line of words to a running target and gets lines as the answer */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request is one line; the answer is any number of lines, the last of which is "ok" or begins with "error: ". Clients
 * are served one after the other; a client that sends nothing is disconnected.
 */
#ifndef NVMET_CONTROL_H
#define NVMET_CONTROL_H

#include "nvmet/disk.h"

#define CONTROL_PATH "/run/uroce-nvmet.sock"
#define CONTROL_LINE_BYTES 2048u

struct control;

/* Returns NULL if it fails; error says why. Replaces a socket at which no process listens any more. */
struct control *control_open(const char *path, struct server *server, struct disks *disks,
			     char error[STORE_ERROR_BYTES]);
/* To be called now and then: accepts clients, and answers their requests. */
void control_poll(struct control *control);
void control_close(struct control *control);

#endif
