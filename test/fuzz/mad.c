/* mad.c - libFuzzer target: any bytes as a message of connection management, read, printed and built again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/mad.h"

#include <stdlib.h>
#include <string.h>

#include "cm/print.h"
#include "exact.h"

/* Written to, so that reading a field is not left out. */
static volatile uint8_t read_last;

static void check_field(void *context, const struct cm_field *field)
{
	uint32_t *count = context;

	MUST(field->name && (!field->text || field->text[0]));
	MUST(field->byte_count <= CM_PRIVATE_MAX_BYTES);
	for (uint32_t i = 0; i < field->byte_count; i++)
		read_last = field->bytes[i];
	++*count;
}

static void check_print(const struct cm_message *message, uint8_t cut)
{
	char text[CM_PRINT_MAX_BYTES], brief[256];
	size_t length = strlen(cm_mad_print(message, text, sizeof(text)));
	uint8_t *room = exact_take((const uint8_t *)brief, cut + 1u);

	MUST(length > 0 && length < sizeof(text) - 1); /* there was room for all of it */
	cm_mad_print(message, (char *)room, cut + 1u);
	MUST(memcmp(room, text, cut < length ? cut : length) == 0);
	MUST(room[cut < length ? cut : length] == 0);
	exact_give_back(room);
}

/* Building what was read and reading it again gives the same value. */
static void check_message(const struct cm_message *message, uint8_t cut)
{
	uint8_t built[CM_MAD_BYTES];
	struct cm_message again;
	uint32_t fields = 0;

	MUST(message->kind >= CM_KIND_FIRST && message->kind <= CM_KIND_LAST);
	MUST(message->info_bytes <= CM_INFO_MAX_BYTES);
	MUST(message->private_bytes == cm_mad_private_bytes(message->kind));
	cm_mad_build(message, built);
	MUST(cm_mad_parse(built, sizeof(built), &again) == CM_MAD_OK);
	MUST(memcmp(message, &again, sizeof(again)) == 0);
	cm_mad_fields(message, check_field, &fields);
	MUST(fields > 3);
	check_print(message, cut);
}

static enum cm_mad_fault parse_exact(const uint8_t *data, size_t size, struct cm_message *message)
{
	uint8_t *mad = exact_take(data, size);
	enum cm_mad_fault fault = cm_mad_parse(mad, (uint32_t)size, message);

	exact_give_back(mad);
	return fault;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t begin[] = { 1, 7, 2, 3 };
	uint8_t mad[CM_MAD_BYTES] = { 0 };
	struct cm_message message;

	if (size == 0 || size > 9000)
		return 0;
	if (parse_exact(data, size, &message) == CM_MAD_OK)
		check_message(&message, data[size - 1]);
	/* The same behind a header that is in order, so that fields are read whatever the fuzzer knows of headers. */
	memcpy(mad, data, size < sizeof(mad) ? size : sizeof(mad));
	memcpy(mad, begin, sizeof(begin));
	mad[16] = 0;
	mad[17] = (uint8_t)(CM_KIND_FIRST + mad[17] % (CM_KIND_LAST - CM_KIND_FIRST + 1));
	MUST(parse_exact(mad, sizeof(mad), &message) == CM_MAD_OK);
	check_message(&message, data[size - 1]);
	return 0;
}
