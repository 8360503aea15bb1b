/* entry.h - who is told what became of a submission to a ring or to its threads */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_ENTRY_H
#define NVMET_ENTRY_H

/* What a submission completes with: the number of bytes or a negative errno. */
struct ring_entry {
	void (*complete)(struct ring_entry *entry, int result);
};

#endif
