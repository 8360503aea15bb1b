/* holes_places.c - which responses may be placed before the responses to older requests */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "draw.h"
#include "holes_window.h"
#include "rule.h"

Test(holes_places, only_equal_or_disjoint_buffers_may_be_placed_early)
{
	static const struct {
		struct uroce_sge older[2], newer[2];
		bool may;
	} rows[] = {
		{ { { 0x1000, 512, 0 } }, { { 0x1000, 512, 0 } }, true },
		{ { { 0x1000, 512, 0 } }, { { 0x1200, 512, 0 } }, true },
		{ { { 0x1000, 512, 0 } }, { { 0x0E00, 512, 0 } }, true },
		{ { { 0x1000, 512, 0 } }, { { 0x11FF, 512, 0 } }, false },
		{ { { 0x1000, 512, 0 } }, { { 0x0E01, 512, 0 } }, false },
		{ { { 0x1000, 512, 0 } }, { { 0x1000, 256, 0 } }, false },
		{ { { 0x1000, 256, 0 } }, { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, false },
		{ { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, { { 0x1000, 256, 0 } }, false },
		{ { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, true },
		{ { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, { { 0x1000, 256, 0 }, { 0x3000, 256, 0 } }, false },
		{ { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, { { 0x3000, 256, 0 }, { 0x2000, 256, 0 } }, false },
		{ { { 0x1000, 256, 0 }, { 0x2000, 256, 0 } }, { { 0x1000, 128, 0 }, { 0x2000, 384, 0 } }, false },
		{ { { 0x1000, 256, 0 }, { 0x3000, 256, 0 } }, { { 0x4000, 256, 0 }, { 0x3080, 256, 0 } }, false },
	};

	RULE("Q-15");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t held = 0; held < 2; held++) { /* without holes, and while there are some */
			struct rc_send_wqe *wqe[2];

			open_window(UROCE_READ_REPAIR_UPWARDS);
			for (uint32_t k = 0; k < 2; k++) {
				const struct uroce_sge *sges = k ? rows[i].newer : rows[i].older;

				wqe[k] = add(UROCE_WR_RDMA_READ, 2, 0);
				wqe[k]->sge_count = sges[1].length ? 2 : 1;
				wqe[k]->length_bytes = sges[0].length + sges[1].length;
				memcpy(wqe[k]->sges, sges, 2 * sizeof(*sges));
			}
			if (held)
				take_at(1, T0);
			cr_assert_eq(may_take(2), rows[i].may, "row %u, held %u", i, held);
		}
	}
}

/* Of pieces without bytes: not packet for packet the same places. */
Test(holes_places, different_number_of_pieces_is_a_different_buffer)
{
	struct rc_send_wqe *older;

	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	older = add(UROCE_WR_RDMA_READ, 2, 0x1000);
	older->sge_count = 2;
	add(UROCE_WR_RDMA_READ, 2, 0x1000);
	cr_assert_not(may_take(2));
}

/* Not the newer READ's own, but one between them is in the way. WRITEs land nowhere. */
Test(holes_places, each_older_read_may_block_placement)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add(UROCE_WR_RDMA_WRITE, 2, 0x2000);
	add(UROCE_WR_RDMA_READ, 2, 0x1000);
	add(UROCE_WR_RDMA_READ, 2, 0x2000);
	add(UROCE_WR_RDMA_WRITE, 2, 0x2100);
	add(UROCE_WR_RDMA_READ, 2, 0x2100);
	add(UROCE_WR_RDMA_READ, 2, 0x3000);
	cr_assert(may_take(4));
	cr_assert_not(may_take(8));
	cr_assert_not(may_take(10), "if it came the one before it could not");
	take_at(3, T0);
	take_at(4, T0);
	cr_assert_not(may_take(8));
	cr_assert(may_take(5));
}

static bool share_a_byte(const struct rc_send_wqe *a, const struct rc_send_wqe *b)
{
	for (uint32_t i = 0; i < a->sge_count; i++) {
		for (uint32_t j = 0; j < b->sge_count; j++) {
			const struct uroce_sge *one = &a->sges[i], *other = &b->sges[j];

			if (one->addr < other->addr + other->length && other->addr < one->addr + one->length)
				return true;
		}
	}
	return false;
}

static bool have_equal_pieces(const struct rc_send_wqe *a, const struct rc_send_wqe *b)
{
	return a->length_bytes == b->length_bytes && a->sge_count == b->sge_count &&
	       memcmp(a->sges, b->sges, a->sge_count * sizeof(a->sges[0])) == 0;
}

/* The rule itself: of the requests up to this one, each is compared with each older one. */
static bool all_are_apart(uint32_t last)
{
	for (uint32_t i = qp->win.acked; i <= last; i++) {
		for (uint32_t k = qp->win.acked; k < i; k++) {
			const struct rc_send_wqe *newer = sendwin_slot(&qp->win, i), *older = sendwin_slot(&qp->win, k);

			if (wqe_is_read(newer) && wqe_is_read(older) && share_a_byte(newer, older) &&
			    !have_equal_pieces(newer, older))
				return false;
		}
	}
	return true;
}

/* A READ of up to three pieces somewhere in a small memory, or a WRITE; often where an earlier READ had its pieces. */
static void add_at_random(uint64_t *state, uint32_t places)
{
	struct rc_send_wqe *wqe = add(draw_below(state, 6) ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE, 1, 0);

	wqe->sge_count = (uint8_t)(1 + draw_below(state, 3));
	for (uint32_t i = 0; i < wqe->sge_count; i++)
		wqe->sges[i] = (struct uroce_sge){ .addr = draw_below(state, places) * 8, .length = 8 };
	wqe->sges[0].length += draw_below(state, 8) == 0;
	if (draw_below(state, 3) == 0 && qp->win.started > 4) {
		const struct rc_send_wqe *same = sendwin_slot(&qp->win, qp->win.started - 4);

		wqe->sge_count = same->sge_count;
		memcpy(wqe->sges, same->sges, sizeof(same->sges[0]) * 3);
	}
}

/* What was found out about requests stays right while older ones are answered and newer ones are posted. */
Test(holes_places, each_request_is_compared_with_each_older_one)
{
	uint64_t state = draw_start(1);
	uint32_t yes = 0, no = 0;

	RULE("Q-15");
	for (uint32_t run = 0; run < 3000; run++) {
		uint32_t places = 8u << draw_below(&state, 8);

		open_window(UROCE_READ_REPAIR_UPWARDS);
		for (uint32_t round = 0; round < 40; round++) {
			uint32_t slot;
			bool apart;

			while (qp->win.started - qp->win.acked < 2 || draw_below(&state, 3))
				add_at_random(&state, places);
			slot = qp->win.acked + 1 + draw_below(&state, qp->win.started - qp->win.acked - 1);
			if (!wqe_is_read(sendwin_slot(&qp->win, slot)))
				continue;
			apart = all_are_apart(slot);
			cr_assert_eq(may_take(index_of(sendwin_slot(&qp->win, slot)->first_psn)), apart);
			yes += apart;
			no += !apart;
			qp->win.acked += draw_below(&state, slot - qp->win.acked);
			qp->win.snd_una = sendwin_slot(&qp->win, qp->win.acked)->first_psn;
		}
	}
	cr_assert(yes > 10000 && no > 10000, "%u %u", yes, no);
}

Test(holes_places, data_of_a_newer_read_is_kept)
{
	RULE("Q-15");
	open_window(UROCE_READ_REPAIR_UPWARDS);
	add(UROCE_WR_RDMA_READ, 4, 0x1000);
	add(UROCE_WR_RDMA_READ, 4, 0x8000);
	add(UROCE_WR_RDMA_READ, 4, 0x1000);
	add(UROCE_WR_RDMA_READ, 4, 0x1000);
	take_at(9, T0);
	cr_assert(rc_holes_newer_has_come(qp, psn_of(1), 0));
	cr_assert_not(rc_holes_newer_has_come(qp, psn_of(0), 0));
	cr_assert_not(rc_holes_newer_has_come(qp, psn_of(2), 0));
	cr_assert_not(rc_holes_newer_has_come(qp, psn_of(3), 0));
	cr_assert_not(rc_holes_newer_has_come(qp, psn_of(5), 1), "in other places");
	take_at(14, T0);
	cr_assert(rc_holes_newer_has_come(qp, psn_of(2), 0));
	cr_assert(rc_holes_newer_has_come(qp, psn_of(10), 2));
	cr_assert_not(rc_holes_newer_has_come(qp, psn_of(9), 2), "none is newer");
}
