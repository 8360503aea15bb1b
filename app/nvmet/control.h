/* control.h - what a running target is asked and told over a socket: a line of words, lines back */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request is one line; the answer is any number of lines, the last of which is "ok" or begins with "error: ". One
 * after the other; whoever says nothing is hung up on.
 */
#ifndef NVMET_CONTROL_H
#define NVMET_CONTROL_H

#include "nvmet/disk.h"

#define CONTROL_PATH "/run/uroce-nvmet.sock"
#define CONTROL_LINE_BYTES 2048u

struct control;

/* NULL: error says why. A socket that nobody listens at any more is taken over. */
struct control *control_open(const char *path, struct server *server, struct disks *disks,
			     char error[STORE_ERROR_BYTES]);
/* Now and then: takes who has come, and answers. */
void control_poll(struct control *control);
void control_close(struct control *control);

#endif
