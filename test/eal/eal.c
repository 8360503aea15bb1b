/* eal.c - EAL as our own programs start it, and what stands in the way in a sentence */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include <uroce/uroce.h>

TestSuite(eal, .timeout = 60);

static void expect_refused(const struct uroce_eal_config *config, int code, const char *word)
{
	struct uroce_error error = { "" };

	cr_expect_eq(uroce_eal_start(config, &error), code, "%s", error.text);
	cr_expect_not_null(strstr(error.text, word), "'%s' lacks '%s'", error.text, word);
	cr_expect_null(strchr(error.text, '\n'));
}

Test(eal, start_works_without_arguments_and_only_once)
{
	struct uroce_eal_config config = { .worker_count = 2, .memory_mib = 64 };
	struct uroce_error error = { "" };
	struct uroce_eal_info info;
	cpu_set_t before, after;

	uroce_eal_query(&info);
	cr_expect_eq(info.worker_count, 0);
	sched_getaffinity(0, sizeof(before), &before);
	cr_assert_eq(uroce_eal_start(&config, &error), 0, "%s", error.text);
	sched_getaffinity(0, sizeof(after), &after);
	cr_expect(CPU_EQUAL(&before, &after), "a thread that only waits is not pinned");
	uroce_eal_query(&info);
	cr_expect_eq(info.worker_count, 2);
	cr_expect_neq(info.worker_ids[0], info.worker_ids[1]);
	cr_expect_neq(info.worker_ids[0], rte_get_main_lcore());
	cr_expect_eq(info.core_count, (unsigned)CPU_COUNT(&before));
	cr_expect_not(rte_eal_has_pci());
	expect_refused(&config, -EALREADY, "already");
	uroce_eal_stop();
}

Test(eal, eal_started_by_the_application_is_detected)
{
	char *arguments[] = { (char *)"eal",
			      (char *)"--no-huge",
			      (char *)"--no-shconf",
			      (char *)"--no-pci",
			      (char *)"-m",
			      (char *)"64",
			      NULL };

	cr_assert_geq(rte_eal_init(6, arguments), 0);
	expect_refused(&(struct uroce_eal_config){ 0 }, -EALREADY, "already");
}

Test(eal, a_port_without_eal_is_refused)
{
	struct uroce_port_config config = { .engine = NULL };
	struct uroce_error error = { "" };
	struct uroce_port *port;

	cr_expect_eq(uroce_port_open("loop", &config, &port, &error), -EPERM);
	cr_expect_not_null(strstr(error.text, "uroce_eal_start"));
}

Test(eal, unknown_argument_is_named)
{
	static const char *const words[] = { "test", "--no-such-option" };

	expect_refused(&(struct uroce_eal_config){ .argc = 2, .argv = words }, -EINVAL, "no-such-option");
}

Test(eal, too_few_lcores_are_refused)
{
	static const char *const words[] = { "test", "-l", "0" };

	expect_refused(&(struct uroce_eal_config){ .argc = 3, .argv = words, .worker_count = 1, .memory_mib = 64 },
		       -EINVAL, "2 are required");
}

Test(eal, a_nic_among_the_devices_wakes_the_pci_bus)
{
	struct uroce_eal_config config = { .memory_mib = 64, .devices = { "net_null0", "0000:ff:1f.7" } };
	struct uroce_error error = { "" };

	cr_assert_eq(uroce_eal_start(&config, &error), 0, "%s", error.text);
	cr_expect(rte_eal_has_pci());
	uroce_eal_stop();
}
