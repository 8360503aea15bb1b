/* objects.h - prints tables of completion queues, memory regions and shared receive queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_OBJECTS_H
#define APP_TESTPMD_OBJECTS_H

#include <stdio.h>

#include "testpmd/traffic.h"

void objects_show_cqs(const struct traffic *traffic, FILE *out);
void objects_show_mrs(const struct traffic *traffic, FILE *out);
void objects_show_srqs(const struct traffic *traffic, FILE *out);

#endif
