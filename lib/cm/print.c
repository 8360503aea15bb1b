/* print.c - a message as one line of text: names and values of the fields that are set */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/print.h"

#include <inttypes.h>

#include "cm/mad.h"
#include "wire/print.h"

static bool is_zero(const struct cm_field *field)
{
	uint32_t i;

	for (i = 0; i < field->byte_count; i++) {
		if (field->bytes[i] != 0)
			return false;
	}
	return field->number == 0;
}

static void print_field(void *context, const struct cm_field *field)
{
	struct wire_line *line = context;
	uint32_t i, count = field->byte_count;

	if (is_zero(field) && !field->text)
		return;
	wire_print_append(line, " %s=", field->name);
	switch (field->form) {
	case CM_DECIMAL:
		wire_print_append(line, "%" PRIu64, field->number);
		break;
	case CM_HEX:
		wire_print_append(line, "0x%0*" PRIx64, (int)field->digits, field->number);
		break;
	case CM_GID:
		wire_print_addr(line, field->bytes);
		break;
	case CM_BYTES:
		while (field->bytes[count - 1] == 0) /* some byte is not zero: otherwise the field is left out */
			count--;
		for (i = 0; i < count; i++)
			wire_print_append(line, "%02x", field->bytes[i]);
		break;
	}
	if (field->text)
		wire_print_append(line, "(%s)", field->text);
}

char *cm_mad_print(const struct cm_message *message, char *out, size_t out_bytes)
{
	struct wire_line line = { out, out_bytes, 0 };

	wire_print_append(&line, "%s", cm_mad_kind_name(message->kind));
	cm_mad_fields(message, print_field, &line);
	return out;
}
