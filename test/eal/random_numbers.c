/* random_numbers.c - the QPNs and start PSNs of a hundred thousand QPs are unpredictable */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both come from the system's random numbers, so there is no seed that would repeat a run. Each bound has beside it the
 * probability that chance breaks it; all together: 3e-7.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine/steer.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define MANY 100000u
#define NUMBERS (1u << 24)
#define MASK (NUMBERS - 1)
#define RANGES 4096u
/* Of a random sequence a step occurs 0.006 times; one of 2^24 six times or more: 2^24 x 0.006^6 / 6! = 1e-9. */
#define ALIKE_MAX 5u
/* Six deviations, squared: 2e-9 a value. */
#define FAR 36.0

TestSuite(random_numbers, .init = test_eal_start, .timeout = 60);

static bool forced;
static uint32_t forced_number;

ssize_t __real_getrandom(void *buffer, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags);

/* Linked in the place of getrandom(): chance may be told what to say. */
ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags)
{
	if (!forced || bytes != sizeof(forced_number))
		return __real_getrandom(buffer, bytes, flags);
	*(uint32_t *)buffer = forced_number;
	return (ssize_t)bytes;
}

static struct uroce_qp *create(struct network *network)
{
	struct uroce_qp_init_attr init = {
		.send_cq = network->ends[0].cq,
		.recv_cq = network->ends[0].cq,
		.max_send_wr = 1,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};
	struct uroce_qp *qp;

	cr_assert_eq(uroce_qp_create(network->ends[0].pd, &init, &qp), 0);
	return qp;
}

/* How often the most frequent of the steps from a[i] to b[i] occurs. */
static uint32_t most_alike(const uint32_t *a, const uint32_t *b, uint32_t count)
{
	uint8_t *times = calloc(1, NUMBERS);
	uint32_t most = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t step = (b[i] - a[i]) & MASK;

		if (times[step] < UINT8_MAX && ++times[step] > most)
			most = times[step];
	}
	free(times);
	return most;
}

/* In squared deviations of what it is without a relation. */
static double correlation(const uint32_t *a, const uint32_t *b, uint32_t count)
{
	const double mean = MASK / 2.0, variance = ((double)NUMBERS * NUMBERS - 1) / 12;
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += (a[i] - mean) * (b[i] - mean);
	return sum / variance * (sum / variance) / count;
}

/*
 * 4096 ranges of the upper digits, or of the lower ones, within eight deviations. Places that rest make the lower ones
 * of QPNs more even than chance: 5 % of the places are used, and the mean is lower by two deviations. Less than 1e-8.
 */
static bool is_even(const uint32_t *numbers, uint32_t shift)
{
	uint32_t times[RANGES] = { 0 };
	double mean = (double)MANY / RANGES, freedom = RANGES - 1, chi = 0;

	for (uint32_t i = 0; i < MANY; i++)
		times[numbers[i] >> shift & (RANGES - 1)]++;
	for (uint32_t i = 0; i < RANGES; i++)
		chi += (times[i] - mean) * (times[i] - mean) / mean;
	return (chi - freedom) * (chi - freedom) < 64 * 2 * freedom;
}

/*
 * Of x' = a x + c modulo 2^24, whatever a and c are, three steps in a row fulfil s1 s3 = s2 s2. By chance few do: less
 * than one in 10^5.
 */
static uint32_t linear(const uint32_t *numbers)
{
	uint32_t fulfilled = 0;

	for (uint32_t i = 0; i + 3 < MANY; i++) {
		uint32_t s1 = numbers[i + 1] - numbers[i], s2 = numbers[i + 2] - numbers[i + 1];
		uint32_t s3 = numbers[i + 3] - numbers[i + 2];

		fulfilled += ((s1 * s3 - s2 * s2) & MASK) == 0;
	}
	return fulfilled;
}

static void expect_drawn(const uint32_t *numbers, const char *what)
{
	cr_expect(is_even(numbers, 12), "%s: the upper digits are not even", what);
	cr_expect(is_even(numbers, 0), "%s: the lower digits are not even", what);
	for (uint32_t lag = 1; lag <= 8; lag++)
		cr_expect_leq(correlation(numbers, numbers + lag, MANY - lag), FAR, "%s: those %u apart", what, lag);
	cr_expect_leq(most_alike(numbers, numbers + 1, MANY - 1), ALIKE_MAX, "%s: steps are alike", what);
	cr_expect_leq(linear(numbers), 20, "%s: each follows from the one before", what);
}

/* TC-G-2 */
Test(random_numbers, qpns_and_start_psns_appear_random)
{
	static struct network network;
	static uint32_t qpns[MANY], psns[MANY];

	RULE("P-2");
	RULE("P-7");
	RULE("Y-3");
	network_open_sized(&network, LIMIT_QPS);
	for (uint32_t i = 0; i < MANY; i++) {
		struct uroce_qp *qp = create(&network);
		struct uroce_qp_attr attr;

		cr_assert_eq(uroce_qp_query(qp, &attr), 0);
		qpns[i] = uroce_qp_num(qp);
		psns[i] = attr.sq_psn;
		cr_assert(qpns[i] >= 2 && qpns[i] < MASK && psns[i] <= MASK);
		cr_assert_eq(uroce_qp_destroy(qp), 0);
	}
	expect_drawn(qpns, "QPNs");
	expect_drawn(psns, "PSNs");
	cr_expect_leq(correlation(qpns, psns, MANY), FAR, "a QPN and its PSN");
	cr_expect_leq(most_alike(qpns, psns, MANY), ALIKE_MAX);
	network_close(&network);
}

/* TC-G-2: the special ones are left out, whatever was drawn; and so is no other. */
Test(random_numbers, reserved_qpns_are_never_given_out)
{
	static const uint32_t drawn[] = { 0, 1, 2, 0xFFFFFE, 0xFFFFFF, 0xFFFFFFFF, 0xFF000000, 0xFF000001 };
	static const uint32_t expected[] = { 2, 2, 2, 0xFFFFFE, 0xFFFFE0, 0xFFFFE0, 2, 2 };

	RULE("P-7");
	for (uint32_t i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++) {
		static struct network network;
		struct uroce_qp *qp;

		network_open_sized(&network, 16);
		cr_assert_eq(network.engine->index_count, 32);
		forced_number = drawn[i];
		forced = true;
		qp = create(&network);
		forced = false;
		cr_expect_eq(uroce_qp_num(qp), expected[i], "%#x: %#x", drawn[i], uroce_qp_num(qp));
		cr_assert_eq(uroce_qp_destroy(qp), 0);
		network_close(&network);
	}
}
