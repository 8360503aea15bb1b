/* json.h - prints findings as JSON objects, one a line */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_DECODE_JSON_H
#define APP_DECODE_JSON_H

#include "decode/finding.h"

struct decode_totals {
	uint64_t frames;
	uint64_t roce;
	uint64_t bad;
	uint64_t cut;
	const struct capture_passed *passed; /* packets of other link types */
	uint32_t passed_count;
};

void decode_json_frame(const struct finding *finding);
void decode_json_totals(const struct decode_totals *totals);

#endif
