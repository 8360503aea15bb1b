/* terms.c - two programs agree on the queue pairs of their traffic: number, message size, path MTU, SACKs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "testpmd/terms.h"

#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>

#include "common/exit.h"
#include "common/fields.h"

#define PKEY_DEFAULT 0xFFFFu
#define PATIENCE_S 10.0
#define REST_US 1000
#define AT(member) offsetof(struct exchange, member)

static const struct app_field fields[] = {
	{ "qps", APP_FIELD_U32, AT(qps), 1, EXCHANGE_QPS_MAX },
	{ "size", APP_FIELD_U32, AT(size), 1, UINT32_MAX },
	{ "mtu", APP_FIELD_U32, AT(mtu), 256, 4096 },
	{ "addr", APP_FIELD_ADDR, AT(addr) },
	{ "rkey", APP_FIELD_U32, AT(rkey), 0, UINT32_MAX },
	{ "va", APP_FIELD_U64, AT(va), 0, (double)INT64_MAX },
	{ "sack_window", APP_FIELD_U32, AT(sack_window), 0, 2048, .optional = true },
	{ "paths", APP_FIELD_U32, AT(paths), 0, 255, .optional = true },
	{ "pkey", APP_FIELD_U32, AT(pkey), 0, 0xFFFF, .optional = true },
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static bool rest(void *unused)
{
	(void)unused;
	usleep(REST_US);
	return !app_is_interrupted();
}

const struct app_control_config terms_control = {
	.program = "uroce-testpmd",
	.protocol = 2,
	.port_option = "--port",
	.host_option = "--peer",
	.rest = rest,
};

static int send_terms(struct app_control *control, const char *type, const struct exchange *ours)
{
	json_t *message = json_pack("{s:s}", "type", type);

	app_fields_put(message, fields, FIELDS, ours);
	app_numbers_put(message, "qp_nums", ours->qpn, ours->qps);
	app_numbers_put(message, "psns", ours->psn, ours->qps);
	return app_control_send(control, message);
}

/* Returns 0, or -1 after a complaint; if a value is wrong the peer is told its name. */
static int receive_terms(struct app_control *control, const char *type, struct exchange *theirs)
{
	json_t *message = app_control_expect(control, type, PATIENCE_S);
	char reason[64];
	const char *wrong;

	if (message == NULL)
		return -1;
	theirs->pkey = PKEY_DEFAULT;
	wrong = app_fields_get(message, fields, FIELDS, theirs);
	if (wrong == NULL && (!app_numbers_get(message, "qp_nums", 24, theirs->qpn, theirs->qps) ||
			      !app_numbers_get(message, "psns", 24, theirs->psn, theirs->qps)))
		wrong = "qp_nums or psns";
	json_decref(message);
	if (wrong == NULL)
		return 0;
	snprintf(reason, sizeof(reason), "%s is missing or out of range", wrong);
	app_control_refuse(control, reason);
	return app_complain(-1, "the peer's message is invalid: %s", reason);
}

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
		 "P_Key 0x%04x: target and peer are both limited partition members, which receive from full members "
		 "only: use 0x%04x at one end",
		 own, own | SETTINGS_PKEY_FULL);
	app_complain(APP_EXIT_FAILURE, "%s", traffic->trouble);
	return -1;
}

bool terms_serve(struct traffic *traffic, struct app_control *control)
{
	struct exchange *theirs = calloc(1, sizeof(*theirs)), *ours = calloc(1, sizeof(*ours));
	bool served = false;

	traffic->trouble[0] = '\0';
	if (theirs && ours && receive_terms(control, "ask", theirs) == 0) {
		answer(traffic, theirs, ours);
		if (check_pkeys(traffic, theirs->pkey) != 0 || traffic_offer(traffic, false, ours) != 0 ||
		    traffic_accept(traffic, theirs) != 0) {
			app_control_refuse(control, traffic->trouble[0] ?
							    traffic->trouble :
							    "the target could not set up its queue pairs");
			traffic_drop_flows(traffic);
		} else if (send_terms(control, "offer", ours) == 0) {
			printf("serving %u queue pairs\n", theirs->qps);
			fflush(stdout);
			served = true;
		}
	}
	free(theirs);
	free(ours);
	return served;
}

int terms_ask(struct traffic *traffic, struct app_control *control)
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
	error = error || traffic_offer(traffic, true, ours) || send_terms(control, "ask", ours) ||
		receive_terms(control, "offer", theirs) || traffic_accept(traffic, theirs);
	free(theirs);
	free(ours);
	return error ? -1 : 0;
}
