/* story.h - what was said to connect and disconnect, connection by connection, in lines for people */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_DECODE_STORY_H
#define APP_DECODE_STORY_H

#include "decode/finding.h"

struct decode_story;

/* Ends the program when there is no memory, as the others do. */
struct decode_story *decode_story_open(void);

/* When the first frame was captured: seconds count from there. */
void decode_story_begin(struct decode_story *story, uint64_t time_ns);

/* Keeps its message, if it has one that a receiver would take. */
void decode_story_add(struct decode_story *story, const struct finding *finding);

void decode_story_print(const struct decode_story *story);
void decode_story_close(struct decode_story *story);

#endif
