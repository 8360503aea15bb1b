/* migration.h - automatic path migration: the alternate path, and when it becomes the path (A) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   MIGRATED --modify: REARM--> REARM --a packet with MigReq 0--> ARMED
 *   ARMED --retries exhausted, port down, modify: MIGRATED, MigReq 1 from the alternate path--> MIGRATED
 *   REARM --MigReq 1 from the alternate path--> MIGRATED: the peer was armed already, and has migrated
 * In MIGRATED a side sends MigReq 1, so after a migration both sides send it until software arms them again.
 */
#ifndef RC_MIGRATION_H
#define RC_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/qp.h>

#include "rc/path.h"
#include "rc/qp_state.h"

struct rc_origin;
struct wire_packet;

/* What a received packet means for the migration. */
enum rc_migration_outcome { MIGRATION_NONE, MIGRATION_DROP, MIGRATION_DONE };

/* RESET: there is no alternate path, the state is MIGRATED. */
void rc_migration_reset(struct rc_qp *qp);

/* Takes the alternate path from the attributes. */
void rc_migration_load(struct rc_qp *qp, const struct uroce_qp_attr *attr);

/*
 * Software sets REARM, or MIGRATED, which in ARMED migrates at once. Returns true if the QP has migrated; then the
 * caller goes on as after rc_migration_switch().
 */
bool rc_migration_modify(struct rc_qp *qp, enum uroce_path_mig_state state);

/*
 * May software set REARM? After a migration not until the peer has been heard over the new path. Until then the peer
 * may wait for MigReq 1 on its alternate path, would take MigReq 0 from there for an error, and would never
 * follow.
 */
bool rc_migration_may_rearm(const struct rc_qp *qp);

/* The alternate path becomes the path. Only in ARMED; rc_loss_path_changed() is to follow. */
void rc_migration_switch(struct rc_qp *qp);

/*
 * May a packet with MigReq 1 ask this QP to migrate? In ARMED yes. In REARM only if it comes from the alternate path:
 * the peer was armed by a packet of ours, and migrated before a packet of its own told us.
 */
static inline bool migration_may_be_asked(const struct rc_qp *qp, const struct rc_origin *origin)
{
	return qp->migration.state == UROCE_PATH_ARMED ||
	       (qp->migration.state == UROCE_PATH_REARM && path_matches(&qp->alternate.path, origin));
}

/*
 * A valid packet came in REARM or ARMED; in MIGRATED both values of MigReq mean nothing. It may complete the
 * handshake. DONE: the peer migrates and this QP has followed, so the caller calls rc_loss_path_changed().
 * DROP: the packet asks to migrate to a path that is not the alternate one.
 */
enum rc_migration_outcome rc_migration_packet_arrived(struct rc_qp *qp, const struct wire_packet *packet,
						      const struct rc_origin *origin);

#endif
