/* migration.c - automatic path migration */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/migration.h"

#include "rc/anomaly.h"
#include "rc/report.h"

static void set_state(struct rc_qp *qp, enum uroce_path_mig_state state)
{
	qp->migration.state = (uint8_t)state;
	qp_note_bth(qp);
}

void rc_migration_reset(struct rc_qp *qp)
{
	struct rc_migration *migration = &qp->migration;

	/* The count of migrations is not reset, because the host compares it with its own. */
	*migration = (struct rc_migration){ .count = migration->count, .count_at_reset = migration->count };
	qp->alternate = (struct rc_alternate){ 0 };
	set_state(qp, UROCE_PATH_MIGRATED);
}

void rc_migration_load(struct rc_qp *qp, const struct uroce_qp_attr *attr)
{
	qp->alternate = (struct rc_alternate){
		.path = attr->alt_path,
		.pkey = attr->alt_pkey,
		.timeout = attr->alt_timeout,
		.loaded = true,
	};
}

bool rc_migration_modify(struct rc_qp *qp, enum uroce_path_mig_state state)
{
	struct rc_migration *migration = &qp->migration;

	bool switches = state == UROCE_PATH_MIGRATED && migration->state == UROCE_PATH_ARMED; /* */

	if (switches)
		rc_migration_switch(qp);
	else if (state != (enum uroce_path_mig_state)migration->state)
		set_state(qp, state);
	migration->refused = false; /* once per arming */
	return switches;
}

void rc_migration_switch(struct rc_qp *qp)
{
	struct rc_migration *migration = &qp->migration;

	qp_take_path(qp, &qp->alternate.path);
	qp->pkey = qp->alternate.pkey;
	qp->timeout = qp->alternate.timeout;
	qp->alternate.loaded = false; /* the alternate path is used up: software loads the next one */
	migration->count++;
	migration->heard = false;
	migration->epsn = qp->responder.epsn;
	migration->snd_una = qp->win.snd_una;
	set_state(qp, UROCE_PATH_MIGRATED);
	report_raise(qp, UROCE_EVENT_PATH_MIG);
	qp->counters[CNT_PATH_MIGRATIONS]++;
}

bool rc_migration_may_rearm(const struct rc_qp *qp)
{
	const struct rc_migration *migration = &qp->migration;

	return migration->count == migration->count_at_reset || migration->heard ||
	       !psn_equal(migration->epsn, qp->responder.epsn) || !psn_equal(migration->snd_una, qp->win.snd_una);
}

/*
 * Could this packet come from a peer that migrates (Y-3)? Such a peer begins with its oldest unanswered request, which
 * is near ePSN or in the replay cache, or it answers a request of ours.
 */
static bool fits_a_migration(const struct rc_qp *qp, const struct wire_packet *packet)
{
	psn_t psn = psn_make(packet->psn);

	if (wire_opcode(packet->opcode)->response)
		return psn_distance(psn, qp->win.snd_una) < sendwin_outstanding(&qp->win);
	return !anomaly_is_far(psn, qp->responder.epsn) ||
	       (qp->replay.used && rc_replay_find_owner(&qp->replay, psn) != NULL);
}

enum rc_migration_outcome rc_migration_packet_arrived(struct rc_qp *qp, const struct wire_packet *packet,
						      const struct rc_origin *origin)
{
	struct rc_migration *migration = &qp->migration;

	if (!(packet->flags & WIRE_MIGREQ)) {
		if (migration->state == UROCE_PATH_REARM)
			set_state(qp, UROCE_PATH_ARMED); /* */
		return MIGRATION_NONE;
	}
	if (!migration_may_be_asked(qp, origin))
		return MIGRATION_NONE; /* the peer has not armed itself yet, so the packet asks for nothing */
	if (path_matches(&qp->alternate.path, origin) && pkey_matches(qp->alternate.pkey, packet->pkey)) {
		if (!fits_a_migration(qp, packet)) {
			qp->counters[CNT_MIGRATION_REFUSED]++;
			return MIGRATION_DROP;
		}
		rc_migration_switch(qp); /* */
		migration->heard = true;
		return MIGRATION_DONE;
	}
	if (!migration->refused)
		report_raise(qp, UROCE_EVENT_PATH_MIG_ERR);
	migration->refused = true;
	qp->counters[CNT_MIGRATION_REFUSED]++;
	return MIGRATION_DROP;
}
