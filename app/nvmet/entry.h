/* entry.h - the function that is called when a submission to a ring has completed */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_ENTRY_H
#define NVMET_ENTRY_H

/* A submission. It completes with a number of bytes or a negative errno. */
struct ring_entry {
	void (*complete)(struct ring_entry *entry, int result);
};

#endif
