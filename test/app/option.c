/* option.c - settings as rows: what the command line and a file may say, what help tells of it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "common/exit.h"
#include "common/ini.h"
#include "common/option.h"

struct settings {
	uint32_t qps, mode, mtu;
	uint64_t messages, bytes;
	double seconds, pause_s, loss;
	bool both, hidden;
	const char *device;
	char path[8];
	unsigned taken;
};

static int parse_pair(const char *name, const char *text, void *place)
{
	if (strcmp(text, "pair") != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use pair", name, text);
	++*(unsigned *)place;
	return APP_EXIT_OK;
}

#define AT(member) OPTION_AT(struct settings, member)

static const char *const modes[] = { "none", "bw", "lat" };
static const struct settings usual = { .qps = 4, .mode = 1, .mtu = 1024, .bytes = 4096, .seconds = 0.5 };

enum { QPS, MESSAGES, SIZE, SECONDS, PAUSE, LOSS, MTU, MODE, BOTH, DEVICE, PATH, TAKE, HIDDEN, WORDS };
static const struct option_word words[WORDS] = {
	[QPS] = { "qps", 'q', OPTION_NUMBER, "N", NULL, 1, 64, NULL, "queue pairs" },
	[MESSAGES] = { "messages", 0, OPTION_NUMBER, "N", NULL, 1, UINT64_MAX, NULL, "messages" },
	[SIZE] = { "size", 's', OPTION_SIZE, "N", "bytes", 1, 1 << 20, NULL, "message size" },
	[SECONDS] = { "seconds", 0, OPTION_DURATION, "TIME", "s", 0.01, 10, NULL, "measured time" },
	[PAUSE] = { "pause", 0, OPTION_DURATION, "TIME", "us", 0, 2000000, NULL, "pause" },
	[LOSS] = { "loss", 0, OPTION_PROBABILITY, "P", NULL, 0, 1, NULL, "frame loss" },
	[MTU] = { "mtu", 0, OPTION_MTU, "N", "bytes", 256, 4096, NULL, "path MTU" },
	[MODE] = { "mode", 0, OPTION_NAME, "MODE", NULL, 1, 2, modes, "measurement" },
	[BOTH] = { "both", 'b', OPTION_FLAG, NULL, NULL, 0, 1, NULL, "both ways" },
	[DEVICE] = { "device", 'd', OPTION_TEXT, "DEV", NULL, 0, 0, NULL, "port" },
	[PATH] = { "path", 0, OPTION_TEXT, "PATH", NULL, 0, 0, NULL, "file" },
	[TAKE] = { "take", 0, OPTION_TEXT, "WHAT", NULL, 0, 0, NULL, "pair" },
	[HIDDEN] = { "hidden", 0, OPTION_FLAG, NULL, NULL, 0, 1, NULL, NULL },
};
static const struct option_alias aliases[] = {
	{ "uroce-other", "queues", &words[MESSAGES], "other" },
	{ "uroce-test", "queues", &words[QPS], "other" },
	{ NULL, NULL, NULL, NULL },
};
static const struct option_hint hints[] = {
	{ "uroce-other", 'x', "gid", "not for this program" },
	{ "uroce-test", 'x', "gid", "there is one" },
	{ "uroce-test", 0, "siz", "use --size N" },
	{ "uroce-test", 'Y', NULL, "use --mode" },
	{ "uroce-test", 0, "depth", NULL, &words[QPS] },
	{ NULL, 0, NULL, NULL },
};
static const struct option_row rows[] = {
	{ .title = "What" },
	{ &words[QPS], AT(qps), .low = 1, .high = 16, .section = "traffic" },
	{ &words[MESSAGES], AT(messages), .usual = "no end" },
	{ &words[SIZE], AT(bytes), .section = "traffic" },
	{ &words[SECONDS], AT(seconds) },
	{ &words[PAUSE], AT(pause_s) },
	{ &words[LOSS], AT(loss) },
	{ &words[MTU], AT(mtu) },
	{ &words[MODE], AT(mode), .usual = "" },
	{ &words[BOTH], AT(both), .more = "bw", .section = "traffic" },
	{ &words[DEVICE], AT(device), .section = "traffic" },
	{ &words[PATH], AT(path) },
	{ &words[TAKE], AT(taken), .parse = parse_pair },
	{ &words[HIDDEN], AT(hidden) },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static enum option_origin origins[ROWS];
static const struct option_set set = {
	.program = "uroce-test",
	.rows = rows,
	.count = ROWS,
	.head = "head\n",
	.tail = "tail\n",
	.aliases = aliases,
	.hints = hints,
	.usual = &usual,
	.origins = origins,
};

/* argv, ended by NULL, into *settings; what app_option_parse() returns. */
static int parse(struct settings *settings, const char **argv)
{
	int argc = 0;

	memset(origins, 0, sizeof(origins));
	*settings = usual;
	while (argv[argc])
		argc++;
	optind = 0; /* from the start again */
	return app_option_parse(&set, argc, (char **)argv, settings);
}

#define PARSE(settings, ...) parse(settings, (const char *[]){ "uroce-test", __VA_ARGS__, NULL })

static void want_written(int fd, const char *wanted)
{
	static char text[8192];
	ssize_t bytes;

	fflush(NULL);
	bytes = pread(fd, text, sizeof(text) - 1, 0);
	cr_assert_gt(bytes, 0, "nothing was written");
	text[bytes] = '\0';
	cr_assert(strstr(text, wanted), "not there: \"%s\" in\n%s", wanted, text);
}

/* What goes to the stream from now on, to read again. */
static int catch_stream(int fd)
{
	char path[] = "/tmp/option-XXXXXX";
	int file = mkstemp(path);

	unlink(path);
	fflush(NULL);
	dup2(file, fd);
	return file;
}

Test(option, each_kind_of_row_takes_its_value_from_the_command_line)
{
	struct settings settings;
	const char *argv[] = { "uroce-test", "-q",        "7",     "--messages", "18446744073709551615",
			       "--size=64k", "--seconds", "250ms", "--pause",    "20",
			       "--loss",     "1%",        "--mtu", "4096",       "--mode",
			       "lat",        "-b",        "-d",    "eth0",       "--path",
			       "1234567",    "--take",    "pair",  "--hidden",   "HOST",
			       NULL };

	cr_assert_eq(parse(&settings, argv), 0);
	cr_assert_eq(settings.qps, 7);
	cr_assert_eq(settings.messages, UINT64_MAX);
	cr_assert_eq(settings.bytes, 65536);
	cr_assert_eq(settings.seconds, 0.25);
	cr_assert_float_eq(settings.pause_s, 20e-6, 1e-12);
	cr_assert_eq(settings.loss, 0.01);
	cr_assert_eq(settings.mtu, 4096);
	cr_assert_eq(settings.mode, 2);
	cr_assert(settings.both);
	cr_assert_str_eq(settings.device, "eth0");
	cr_assert_str_eq(settings.path, "1234567");
	cr_assert_eq(settings.taken, 1);
	cr_assert(settings.hidden);
	cr_assert_str_eq(argv[optind], "HOST");
	cr_assert(app_option_is_given(&set, "size") && app_option_is_given(&set, "mode"));
	cr_assert_eq(PARSE(&settings, "--queues", "9"), 0);
	cr_assert_eq(settings.qps, 9, "an alias of this program");
	cr_assert(!app_option_is_given(&set, "size"));
}

Test(option, refusal_shows_the_range_and_changes_nothing)
{
	static const struct {
		const char *argv[2], *told;
	} wrong[] = {
		{ { "--qps", "17" }, "--qps 17: use a number from 1 to 16\n" },
		{ { "-q", "0" }, "--qps 0: use a number from 1 to 16\n" },
		{ { "--size", "2M" },
		  "--size 2M: use a size in bytes such as 512, 64k, 16M or 1G, from 1 to 1048576\n" },
		{ { "--seconds", "11" }, "--seconds 11: use a time such as 5s or 200ms, from 0.01s to 10s\n" },
		{ { "--seconds", "5"
				 "x" },
		  "--seconds 5x: use a time such as 5s or 200ms, from 0.01s to 10s\n" },
		{ { "--seconds", "1m" }, "--seconds 1m: use a time such as 5s or 200ms, from 0.01s to 10s\n" },
		{ { "--pause", "3s" }, "--pause 3s: use a time such as 5s or 200ms, from 0us to 2000000us\n" },
		{ { "--loss", "2" }, "--loss 2: use 0 ... 1, or 0% ... 100%\n" },
		{ { "--mtu", "300" }, "--mtu 300: use 256, 512, 1024, 2048 or 4096\n" },
		{ { "--mode", "none" }, "--mode none: use bw or lat\n" },
		{ { "--path", "12345678" }, "--path 12345678: use up to 7 characters\n" },
		{ { "--take", "one" }, "--take one: use pair\n" },
		{ { "--gid=3", NULL }, "--gid: there is one\n" },
		{ { "-x", NULL }, "-x: there is one\n" },
		{ { "--depth", "1" }, "--depth: use --qps N\n" },
		{ { "-Y", NULL }, "-Y: use --mode\n" },
		{ { "--siz", "3" }, "--siz: use --size N\n" },
		{ { "--fly", NULL }, "unrecognized option '--fly'; --help lists the options\n" },
		{ { "-Z", NULL }, "invalid option -- 'Z'; --help lists the options\n" },
		{ { "--both=1", NULL }, "option '--both=1' takes no argument\n" },
		{ { "--qps", NULL }, "option '--qps' requires an argument\n" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct settings settings;
		int err = catch_stream(STDERR_FILENO);

		cr_expect_eq(PARSE(&settings, wrong[i].argv[0], wrong[i].argv[1]), 1 + APP_EXIT_USAGE, "%s",
			     wrong[i].told);
		want_written(err, wrong[i].told);
		close(err);
		cr_expect_eq(memcmp(&settings, &usual, sizeof(usual)), 0, "%s", wrong[i].told);
	}
}

Test(option, help_shows_range_and_default_but_no_hidden_rows)
{
	struct settings settings;
	int out = catch_stream(STDOUT_FILENO);
	char text[8192] = "";

	cr_assert_eq(PARSE(&settings, "--qps", "5", "--help"), 1 + APP_EXIT_OK);
	want_written(out, "head\n\nWhat\n  -q, --qps N                queue pairs (1 ... 16; default 4)\n");
	want_written(out, "      --messages N           messages (1 ... 18446744073709551615; default no end)\n");
	want_written(out, "  -s, --size N               message size, bytes (1 ... 1048576; default 4096)\n");
	want_written(
		out,
		"      --seconds TIME         measured time, N seconds, or 200ms, 5m (0.01s ... 10s; default 0.5s)\n");
	want_written(
		out,
		"      --pause TIME           pause, N microseconds, or 5ms, 1s (0us ... 2000000us; default 0s)\n");
	want_written(out, "      --mode MODE            measurement (bw or lat)\n"
			  "  -b, --both                 both ways; bw\n");
	want_written(out, "  -d, --device DEV           port (default none)\n");
	want_written(out, "  -h, --help                 this text\n"
			  "  -V, --version              versions of uroce, DPDK and libibverbs\ntail\n");
	cr_assert_gt(pread(out, text, sizeof(text) - 1, 0), 0);
	cr_assert(strstr(text, "queues") == NULL && strstr(text, "gid") == NULL && strstr(text, "hidden") == NULL, "%s",
		  text);
}

static int parse_section(void *argument, const char *where, const char *section)
{
	(void)argument;
	(void)where;
	(void)section;
	return APP_EXIT_OK;
}

static int parse_key(void *settings, const char *where, const char *section, const char *key, const char *value)
{
	return app_option_parse_key(&set, section, key, where, value, settings);
}

static int read_text(struct settings *settings, const char *text)
{
	const struct app_ini_reader reader = { parse_section, parse_key, NULL, settings };
	char path[] = "/tmp/option-XXXXXX";
	int fd = mkstemp(path), code;

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	code = app_ini_read(path, &reader);
	unlink(path);
	return code;
}

Test(option, words_of_a_file_stay_after_it_was_read)
{
	struct settings settings = usual, other = usual;

	cr_assert_eq(read_text(&settings, "[traffic]\ndevice=eth1,with=more,words=than,one\nqps=3\n"), APP_EXIT_OK);
	cr_assert_eq(read_text(&other, "[traffic]\ndevice=eth2,with=more,words=than,one\n"), APP_EXIT_OK);
	cr_expect_str_eq(settings.device, "eth1,with=more,words=than,one");
	cr_expect_str_eq(other.device, "eth2,with=more,words=than,one");
}

Test(option, command_line_overrides_the_file)
{
	struct settings settings;
	int err;

	cr_assert_eq(PARSE(&settings, "-q", "3"), 0);
	cr_assert_eq(read_text(&settings, "[traffic]\nqps=9 ; not this one\nsize=8k\n# a comment\nboth=1\n"),
		     APP_EXIT_OK);
	cr_assert_eq(settings.qps, 3);
	cr_assert_eq(settings.bytes, 8192);
	cr_assert(settings.both);
	cr_assert_eq(origins[app_option_find(&set, "qps")], OPTION_FROM_LINE);
	cr_assert_eq(origins[app_option_find(&set, "size")], OPTION_FROM_FILE);
	cr_assert_eq(origins[app_option_find(&set, "mtu")], OPTION_DEFAULT);
	err = catch_stream(STDERR_FILENO);
	cr_assert_eq(read_text(&settings, "[traffic]\nsise=1\n"), APP_EXIT_USAGE);
	want_written(err, "[traffic] sise: unknown key; valid keys: qps, size, both and device\n");
	cr_assert_eq(read_text(&settings, "[elsewhere]\nqps=1\n"), APP_EXIT_USAGE);
	want_written(err, "[elsewhere] qps: unknown section\n");
	cr_assert_eq(read_text(&settings, "[traffic]\ndepth=1\n"), APP_EXIT_USAGE);
	want_written(err, "[traffic] depth: use qps=\n");
	cr_assert_eq(read_text(&settings, "[traffic]\nsize=1k\nsize=2k\n"), APP_EXIT_USAGE);
	want_written(err, "[traffic] size appears twice (values 1k and 2k), line 3: remove one of the two lines\n");
	cr_assert_eq(read_text(&settings, "[traffic]\nsize=2M\n"), APP_EXIT_USAGE);
	want_written(err, "[traffic] size 2M: use a size in bytes such as 512, 64k, 16M or 1G, from 1 to 1048576\n");
}
