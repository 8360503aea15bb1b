/* finding.h - judges why a peer did not answer, by what happened at our port, our lcore and our questions */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_FINDING_H
#define ENGINE_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "engine/history.h"
#include "engine/pings.h"

/* What happened between the last success of a queue pair and its failure. */
struct engine_facts {
	enum uroce_cause cause;
	bool link_is_down;         /* now */
	bool frames_wait;          /* frames wait for the port now */
	uint64_t silence_ns;       /* since the last success */
	struct engine_moment then; /* at the last success */
	struct engine_moment now;
	enum engine_ping ping;
};

/*
 * What explains the failure best. What is certain comes before what is likely: our own port and lcore, frames that our
 * port dropped, echoes of the peer. UROCE_FINDING_NONE if the cause says all, or if nothing was found.
 */
enum uroce_finding engine_finding_judge(const struct engine_facts *facts);

#endif
