/* migration.h - automatic path migration: the alternate path, and when it becomes the path (A) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   MIGRATED --modify REARM--> REARM --packet with MigReq 0--> ARMED
 *   ARMED --retries exhausted, port down, modify MIGRATED, MigReq 1 from the alternate path--> MIGRATED
 * MigReq is 1 in MIGRATED: both sides of a pair that has just migrated say so until software arms them again.
 */
#ifndef RC_MIGRATION_H
#define RC_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/qp.h>

#include "rc/psn.h"

struct rc_qp;
struct rc_origin;
struct wire_packet;

struct rc_migration {
	uint8_t state;        /* enum uroce_path_mig_state */
	uint8_t request_flag; /* what goes into each packet: WIRE_MIGREQ or 0 */
	uint8_t timeout;      /* of the alternate path, as its P_Key */
	bool loaded;          /* there is an alternate path */
	bool refused;         /* PATH_MIG_ERR was raised since arming */
	bool heard;           /* the peer, since the last migration, over the path that it led to */
	uint16_t pkey;
	uint32_t count;          /* migrations so far: tells the host that the path has changed */
	uint32_t count_at_reset; /* errors say how many of them this connection has seen (E-4) */
	struct uroce_path path;
	psn_t epsn, una; /* at the last migration: when they have moved, the peer has been heard */
};

/* RESET: no alternate path, MIGRATED. */
void rc_migration_reset(struct rc_migration *migration);

/* Software sets REARM, or MIGRATED, which migrates at once when armed. */
void rc_migration_modify(struct rc_qp *qp, enum uroce_path_mig_state state);

/*
 * May software set REARM? Not after a migration until the peer has been heard over the new path: while it waits for
 * MigReq 1 on its alternate path, packets with 0 from there are not for it, and it would never follow.
 */
bool rc_migration_may_rearm(const struct rc_qp *qp);

/* The alternate path becomes the path; whatever is unanswered goes out again over it. Only in ARMED. */
void rc_migration_start(struct rc_qp *qp);

/*
 * A valid packet came, in REARM or ARMED (in MIGRATED either value of MigReq means nothing, A-7): the handshake,
 * the peer's migration. false: it asks to migrate to another path than the alternate one and is dropped.
 */
bool rc_migration_packet_arrived(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin);

#endif
