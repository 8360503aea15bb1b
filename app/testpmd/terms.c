/* terms.c - two programs agree on the queue pairs of their traffic: number, message size, path MTU, SACKs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include <rte_common.h>

#include "common/exit.h"
#include "testpmd/terms.h"

/* The peer decides everything but the SACKs, for which the smaller of both windows is taken; paths need SACKs. */
static void answer(const struct traffic *traffic, const struct exchange *theirs, struct exchange *ours)
{
	ours->qps = theirs->qps;
	ours->size = theirs->size;
	ours->mtu = theirs->mtu;
	ours->sack_window = RTE_MIN(theirs->sack_window, traffic_sack_window(traffic));
	ours->paths = ours->sack_window ? theirs->paths : 0;
	ours->pkey = traffic->settings->pkey;
}

/* Returns 0; or -1 with the reason in traffic->trouble: the two ends would drop what the other one sends. */
static int check_pkeys(struct traffic *traffic, uint32_t theirs)
{
	uint32_t own = traffic->settings->pkey;

	if (!settings_pkeys_are_limited(own, theirs))
		return 0;
	snprintf(traffic->trouble, sizeof(traffic->trouble),
		 "P_Key 0x%04x of the target and of the peer: both are limited members, which receive from full "
		 "members only; use 0x%04x at one end",
		 own, own | SETTINGS_PKEY_FULL);
	app_complain(APP_EXIT_FAILURE, "%s", traffic->trouble);
	return -1;
}

bool terms_serve(struct traffic *traffic, const struct exchange_line *line)
{
	struct exchange *theirs = calloc(1, sizeof(*theirs)), *ours = calloc(1, sizeof(*ours));
	bool served = false;

	traffic->trouble[0] = '\0';
	if (theirs && ours && exchange_receive(line, theirs) == 0) {
		answer(traffic, theirs, ours);
		if (check_pkeys(traffic, theirs->pkey) != 0 || traffic_offer(traffic, false, ours) != 0 ||
		    traffic_accept(traffic, theirs) != 0) {
			exchange_refuse(line, traffic->trouble[0] ? traffic->trouble :
								    "the target could not set up its queue pairs");
			traffic_drop_flows(traffic);
		} else if (exchange_send(line, ours) == 0) {
			printf("serving %u queue pairs\n", theirs->qps);
			fflush(stdout);
			served = true;
		}
	}
	free(theirs);
	free(ours);
	return served;
}

int terms_ask(struct traffic *traffic, const struct exchange_line *line)
{
	const struct settings *settings = traffic->settings;
	struct exchange *theirs = calloc(1, sizeof(*theirs)), *ours = calloc(1, sizeof(*ours));
	int error = theirs == NULL || ours == NULL;

	if (!error)
		*ours = (struct exchange){
			.qps = settings->qps,
			.size = settings->size,
			.mtu = settings->mtu,
			.sack_window = traffic_sack_window(traffic),
			.paths = settings->paths,
			.pkey = settings->pkey,
		};
	error = error || traffic_offer(traffic, true, ours) || exchange_send(line, ours) ||
		exchange_receive(line, theirs) || traffic_accept(traffic, theirs);
	free(theirs);
	free(ours);
	return error ? -1 : 0;
}
