/* story.h - tells for each connection in a capture how it was set up and how it ended */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_DECODE_STORY_H
#define APP_DECODE_STORY_H

#include "decode/finding.h"

struct decode_story;

/* If there is no memory, this function and the functions below end the program. */
struct decode_story *decode_story_open(void);

/* Sets the time of the first frame, from which seconds are counted. */
void decode_story_begin(struct decode_story *story, uint64_t time_ns);

/* Adds the finding's message, if it has one that a receiver would accept. */
void decode_story_add(struct decode_story *story, const struct finding *finding);

/* part: the capture has more than could be read, so nothing is concluded of connections whose end was not seen. */
void decode_story_print(const struct decode_story *story, bool part);
void decode_story_close(struct decode_story *story);

#endif
