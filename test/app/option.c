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
	double seconds, loss;
	bool both;
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
static const struct option_row rows[] = {
	{ .kind = OPTION_TITLE, .help = "What" },
	{ "qps", 'q', OPTION_NUMBER, AT(qps), 1, 16, "N", "queue pairs", .section = "traffic", .key = "qps" },
	{ "messages", 0, OPTION_NUMBER, AT(messages), 1, UINT64_MAX, "N", "messages", .usual = "no end" },
	{ "size", 's', OPTION_SIZE, AT(bytes), 1, 1 << 20, "N", "bytes", .section = "traffic", .key = "size" },
	{ "seconds", 0, OPTION_REAL, AT(seconds), .least = 0.01, .most = 10, .value = "S", .help = "so long" },
	{ "loss", 0, OPTION_PROBABILITY, AT(loss), .value = "P", .help = "what is lost" },
	{ "mtu", 0, OPTION_MTU, AT(mtu), .value = "N", .help = "path MTU" },
	{ "mode", 0, OPTION_NAME, AT(mode), 1, 2, "MODE", "bw or lat", .names = modes, .usual = "" },
	{ "both", 'b', OPTION_FLAG, AT(both), .help = "both ways", .section = "traffic", .key = "both" },
	{ "device", 'd', OPTION_WORD, AT(device), .value = "DEV", .help = "a port", .section = "traffic",
	  .key = "device" },
	{ "path", 0, OPTION_TEXT, AT(path), .value = "PATH", .help = "a file" },
	{ "take", 0, OPTION_OTHER, AT(taken), .value = "WHAT", .help = "a pair", .parse = parse_pair },
	{ "queues", 'q', OPTION_SAME },
	{ "gid", 'x', OPTION_INSTEAD, .help = "there is one" },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static enum option_origin origins[ROWS];
static const struct option_set set = {
	.program = "uroce-test",
	.rows = rows,
	.count = ROWS,
	.head = "head\n",
	.tail = "tail\n",
	.usual = &usual,
	.origins = origins,
};

/* The words, ended by NULL, into *settings; what app_option_parse() returns. */
static int parse(struct settings *settings, const char **words)
{
	int argc = 0;

	memset(origins, 0, sizeof(origins));
	*settings = usual;
	while (words[argc])
		argc++;
	optind = 0; /* from the start again */
	return app_option_parse(&set, argc, (char **)words, settings);
}

#define PARSE(settings, ...) parse(settings, (const char *[]){ "uroce-test", __VA_ARGS__, NULL })

static void want_written(int fd, const char *words)
{
	static char text[8192];
	ssize_t bytes;

	fflush(NULL);
	bytes = pread(fd, text, sizeof(text) - 1, 0);
	cr_assert_gt(bytes, 0, "nothing was written");
	text[bytes] = '\0';
	cr_assert(strstr(text, words), "not there: \"%s\" in\n%s", words, text);
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
	const char *words[] = { "uroce-test", "-q",        "7",      "--messages", "18446744073709551615",
				"--size=64k", "--seconds", "0.25",   "--loss",     "1%",
				"--mtu",      "4096",      "--mode", "lat",        "-b",
				"-d",         "eth0",      "--path", "1234567",    "--take",
				"pair",       "HOST",      NULL };

	cr_assert_eq(parse(&settings, words), 0);
	cr_assert_eq(settings.qps, 7);
	cr_assert_eq(settings.messages, UINT64_MAX);
	cr_assert_eq(settings.bytes, 65536);
	cr_assert_eq(settings.seconds, 0.25);
	cr_assert_eq(settings.loss, 0.01);
	cr_assert_eq(settings.mtu, 4096);
	cr_assert_eq(settings.mode, 2);
	cr_assert(settings.both);
	cr_assert_str_eq(settings.device, "eth0");
	cr_assert_str_eq(settings.path, "1234567");
	cr_assert_eq(settings.taken, 1);
	cr_assert_str_eq(words[optind], "HOST");
	cr_assert(app_option_is_given(&set, "size") && app_option_is_given(&set, "mode"));
	cr_assert_eq(PARSE(&settings, "--queues", "9"), 0);
	cr_assert_eq(settings.qps, 9, "another name of -q");
	cr_assert(!app_option_is_given(&set, "size"));
}

Test(option, what_is_refused_is_told_with_its_range_and_changes_nothing)
{
	static const struct {
		const char *words[2], *told;
	} wrong[] = {
		{ { "--qps", "17" }, "--qps 17: use a number from 1 to 16\n" },
		{ { "-q", "0" }, "--qps 0: use a number from 1 to 16\n" },
		{ { "--size", "2M" }, "--size 2M: use a size such as 512, 64k, 16M or 1G, from 1 to 1048576\n" },
		{ { "--seconds", "11" }, "--seconds 11: use a number from 0.01 to 10\n" },
		{ { "--loss", "2" }, "--loss 2: use 0 ... 1, or 0% ... 100%\n" },
		{ { "--mtu", "300" }, "--mtu 300: use 256, 512, 1024, 2048 or 4096\n" },
		{ { "--mode", "none" }, "--mode none: use bw or lat\n" },
		{ { "--path", "12345678" }, "--path 12345678: at most 7 characters\n" },
		{ { "--take", "one" }, "--take one: use pair\n" },
		{ { "--gid=3", NULL }, "--gid=3: there is one\n" },
		{ { "-x", NULL }, "-x: there is one\n" },
		{ { "--fly", NULL }, "unrecognized option '--fly'; --help lists them\n" },
		{ { "-Z", NULL }, "invalid option -- 'Z'; --help lists them\n" },
		{ { "--both=1", NULL }, "option '--both=1' takes no argument\n" },
		{ { "--qps", NULL }, "option '--qps' requires an argument\n" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct settings settings;
		int err = catch_stream(STDERR_FILENO);

		cr_expect_eq(PARSE(&settings, wrong[i].words[0], wrong[i].words[1]), 1 + APP_EXIT_USAGE, "%s",
			     wrong[i].told);
		want_written(err, wrong[i].told);
		close(err);
		cr_expect_eq(memcmp(&settings, &usual, sizeof(usual)), 0, "%s", wrong[i].told);
	}
}

Test(option, help_tells_range_and_default_of_each_row_and_nothing_of_hidden_ones)
{
	struct settings settings;
	int out = catch_stream(STDOUT_FILENO);
	char text[8192] = "";

	cr_assert_eq(PARSE(&settings, "--qps", "5", "--help"), 1 + APP_EXIT_OK);
	want_written(out, "head\n\nWhat\n  -q, --qps N                queue pairs (1 ... 16; default 4)\n");
	want_written(out, "      --messages N           messages (1 ... 18446744073709551615; default no end)\n");
	want_written(out, "  -s, --size N               bytes (1 ... 1048576; default 4096)\n");
	want_written(out, "      --seconds S            so long (0.01 ... 10; default 0.5)\n");
	want_written(out, "      --mode MODE            bw or lat\n  -b, --both                 both ways\n");
	want_written(out, "  -d, --device DEV           a port (default none)\n");
	want_written(out, "  -h, --help                 this text\n  -V, --version\ntail\n");
	cr_assert_gt(pread(out, text, sizeof(text) - 1, 0), 0);
	cr_assert(strstr(text, "queues") == NULL && strstr(text, "gid") == NULL, "%s", text);
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

Test(option, the_command_line_wins_over_a_file_whose_keys_are_the_same_rows)
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
	want_written(err, "[traffic] sise: no such key; qps, size, both and device are\n");
	cr_assert_eq(read_text(&settings, "[elsewhere]\nqps=1\n"), APP_EXIT_USAGE);
	want_written(err, "[elsewhere] qps: no such section\n");
	cr_assert_eq(read_text(&settings, "[traffic]\nsize=1k\nsize=2k\n"), APP_EXIT_USAGE);
	want_written(err, "[traffic] size is there twice (1k, 2k), line 3: remove one\n");
	cr_assert_eq(read_text(&settings, "[traffic]\nsize=2M\n"), APP_EXIT_USAGE);
	want_written(err, "[traffic] size 2M: use a size such as 512, 64k, 16M or 1G, from 1 to 1048576\n");
}
