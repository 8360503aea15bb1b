/* migration.h - automatic path migration: the alternate path, and when it becomes the path (A) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   MIGRATED --modify REARM--> REARM --packet with MigReq 0--> ARMED
 *   ARMED --retries exhausted, port down, modify MIGRATED, MigReq 1 from the alternate path--> MIGRATED
 *   REARM --MigReq 1 from the alternate path--> MIGRATED: the peer was armed already, and has migrated
 * MigReq is 1 in MIGRATED: both sides of a pair that has just migrated say so until software arms them again.
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

/* What a packet that came has to do with it. */
enum rc_migration_outcome { MIGRATION_NONE, MIGRATION_DROP, MIGRATION_DONE };

/* RESET: no alternate path, MIGRATED. */
void rc_migration_reset(struct rc_qp *qp);

/* The alternate path of the attributes. */
void rc_migration_load(struct rc_qp *qp, const struct uroce_qp_attr *attr);

/* Software sets REARM, or MIGRATED, which migrates at once when armed. true: as after rc_migration_switch(). */
bool rc_migration_modify(struct rc_qp *qp, enum uroce_path_mig_state state);

/*
 * May software set REARM? Not after a migration until the peer has been heard over the new path: while it waits for
 * MigReq 1 on its alternate path, packets with 0 from there are not for it, and it would never follow.
 */
bool rc_migration_may_rearm(const struct rc_qp *qp);

/* The alternate path becomes the path. Only in ARMED; rc_loss_path_changed() is to follow. */
void rc_migration_switch(struct rc_qp *qp);

/*
 * May a packet with MigReq 1 ask to migrate? Any may in ARMED. In REARM one from the alternate path does: the peer was
 * armed by what it heard of us, and migrated before we heard of it.
 */
static inline bool migration_may_be_asked(const struct rc_migration *migration, const struct rc_origin *origin)
{
	return migration->state == UROCE_PATH_ARMED ||
	       (migration->state == UROCE_PATH_REARM && path_matches(&migration->path, origin));
}

/*
 * A valid packet came, in REARM or ARMED (in MIGRATED either value of MigReq means nothing, A-7): the handshake,
 * the peer's migration: DONE, and rc_loss_path_changed() is to follow. DROP: it asks to migrate to another path
 * than the alternate one.
 */
enum rc_migration_outcome rc_migration_packet_arrived(struct rc_qp *qp, const struct wire_packet *packet,
						      const struct rc_origin *origin);

#endif
