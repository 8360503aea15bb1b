/* claim.c - claims an address, or the first free one of a range, for the program to run */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/exit.h"
#include "drivers/port/claim.h"

#define TEXT_BYTES 96
#define ADDR_BYTES 46
#define RANGE_MAX 65536u /* most addresses in a range */

/* Advances to the next address; IPv4 addresses are the last four bytes. */
static void move_on(struct uroce_addr *address)
{
	for (int i = 15; i >= 0 && ++address->bytes[i] == 0; i--)
		;
}

static int refuse(const char *text)
{
	return app_complain(APP_EXIT_USAGE,
			    "--ip %s: use an address such as 10.0.0.1/24 or fd00::1/64, or a range of up to %u "
			    "addresses, such as 10.0.0.1-10.0.0.9/24",
			    text, RANGE_MAX);
}

/* Splits "FIRST-LAST/LEN". Returns false if the text does not have this form. */
static bool split(const char *text, struct uroce_addr *first, struct uroce_addr *last, char *length, size_t room)
{
	char copy[TEXT_BYTES], *slash, *dash;

	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	slash = strchr(copy, '/');
	dash = strchr(copy, '-');
	if (slash)
		*slash = '\0';
	if (dash)
		*dash = '\0';
	snprintf(length, room, "%s", slash ? slash + 1 : "");
	return uroce_addr_parse(copy, first, NULL) == 0 && uroce_addr_parse(dash ? dash + 1 : copy, last, NULL) == 0;
}

/* Says why the last address that was tried cannot be had. error: of drivers_claim_take(). */
static int complain(const char *text, int error, bool is_range, const char *holder)
{
	if (error == -EADDRINUSE && is_range)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "--ip %s: all addresses are in use, the last address by %s: use a larger range",
				    text, holder);
	if (error == -EADDRINUSE)
		return app_complain(
			APP_EXIT_ENVIRONMENT,
			"--ip %s: this address is held by %s on this machine: use another address, or a range", text,
			holder);
	return app_complain(APP_EXIT_ENVIRONMENT, "--ip %s: cannot check whether the address is free (%s)", text,
			    strerror(-error));
}

/* Claims the first free address from *address to *last that a host can have. Returns 0 or a negative errno. */
static int claim_first(struct uroce_addr *address, const struct uroce_addr *last, unsigned prefix_bits,
		       const char *program, char *holder)
{
	struct drivers_claim claim;
	int error = -EINVAL;

	for (uint32_t tried = 0; tried < RANGE_MAX; tried++, move_on(address)) {
		bool is_last = memcmp(address, last, sizeof(*last)) == 0;

		if (uroce_addr_unusable(address, prefix_bits) == NULL)
			error = drivers_claim_take(address, 0, false, program, &claim, holder);
		if (error == 0)
			drivers_claim_bequeath(&claim);
		if (is_last || (error != -EADDRINUSE && error != -EINVAL))
			return error;
	}
	return -ERANGE;
}

int claim_address(const char *text, const char *program, char *out, size_t room, struct uroce_addr *address)
{
	char length[8], one[ADDR_BYTES], holder[DRIVERS_CLAIM_HOLDER_BYTES];
	struct uroce_addr last;
	bool is_range;
	const char *why;
	int error;

	if (!split(text, address, &last, length, sizeof(length)))
		return refuse(text);
	is_range = memcmp(address, &last, sizeof(last)) != 0;
	why = is_range ? NULL : uroce_addr_unusable(address, (unsigned)atoi(length));
	if (why)
		return app_complain(APP_EXIT_USAGE, "--ip %s is %s: use a host address, such as 10.0.0.1/24", text,
				    why);
	error = claim_first(address, &last, (unsigned)atoi(length), program, holder);
	if (error == -ERANGE || error == -EINVAL)
		return refuse(text);
	if (error)
		return complain(text, error, is_range, holder);
	uroce_addr_format(address, one, sizeof(one));
	snprintf(out, room, "%s%s%s", one, *length ? "/" : "", length);
	return uroce_addr_parse(out, address, NULL) == 0 ? APP_EXIT_OK : refuse(text);
}
