/* claim.h - claims an address, so that no other program of the network namespace uses it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that share an interface share its MAC, so nothing on the wire shows that two of them have the same address.
 * A claim is the name of a socket, which only one socket of a network namespace can have. The kernel frees the name
 * when the last process that has the descriptor ends, however it ends. Each network namespace has its own addresses,
 * and its own such names. No rights are needed, and no DPDK: uroce-run uses this, too.
 */
#ifndef DRIVERS_CLAIM_H
#define DRIVERS_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/types.h>

#define DRIVERS_CLAIM_HOLDER_BYTES 64

struct drivers_claim {
	int fds[2]; /* -1: none */
};

/*
 * Claims the address in the VLAN (0: none) for this process, whose program is named for others. share: a claim that
 * this process holds already, or has inherited from uroce-run or by fork(), is enough. Returns 0; -EADDRINUSE, with the
 * holder in `holder`, such as "uroce-nvmet (process 4711)"; or another negative errno.
 */
int drivers_claim_take(const struct uroce_addr *addr, uint16_t vlan_id, bool share, const char *program,
		       struct drivers_claim *claim, char holder[DRIVERS_CLAIM_HOLDER_BYTES]);

/* Programs that this process executes inherit the claim. */
void drivers_claim_bequeath(const struct drivers_claim *claim);

/* Ends a claim that drivers_claim_take() has made, unless another process has inherited it. */
void drivers_claim_release(struct drivers_claim *claim);

#endif
