/* print.c - names of connection management, and messages as text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cm/ip.h"
#include "cm/mad.h"
#include "cm/names.h"
#include "cm/print.h"
#include "cm/service.h"
#include "rule.h"

static void expect_text(const struct cm_message *message, const char *expected)
{
	char text[CM_PRINT_MAX_BYTES];

	cr_expect_str_eq(cm_mad_print(message, text, sizeof(text)), expected, "got \"%s\"", text);
}

Test(print, each_kind_has_two_names)
{
	static const char *const names[][2] = {
		{ "REQ", "ConnectRequest" },
		{ "MRA", "MsgRcptAck" },
		{ "REJ", "ConnectReject" },
		{ "REP", "ConnectReply" },
		{ "RTU", "ReadyToUse" },
		{ "DREQ", "DisconnectRequest" },
		{ "DREP", "DisconnectReply" },
		{ "SIDR_REQ", "ServiceIDResReq" },
		{ "SIDR_REP", "ServiceIDResReqResp" },
		{ "LAP", "LoadAlternatePath" },
		{ "APR", "AlternatePathResponse" },
	};
	uint32_t kind;

	for (kind = 0; kind < 256; kind++) {
		bool known = kind >= 0x10 && kind <= 0x1A;

		cr_expect_str_eq(cm_mad_kind_short((uint8_t)kind), known ? names[kind - 0x10][0] : "unknown");
		cr_expect_str_eq(cm_mad_kind_name((uint8_t)kind), known ? names[kind - 0x10][1] : "unknown");
	}
}

Test(print, thirty_four_reasons_have_a_name_each)
{
	uint32_t reason, other, named = 0;

	for (reason = 0; reason < 65536; reason++) {
		const char *name = cm_names_reason((uint16_t)reason);

		if (strcmp(name, "unknown") == 0)
			continue;
		cr_expect((reason >= 1 && reason <= 33) || reason == 35, "%u is %s", reason, name);
		named++;
		for (other = 0; other < reason; other++)
			cr_expect_str_neq(cm_names_reason((uint16_t)other), name, "%u and %u", reason, other);
	}
	cr_expect_eq(named, 34, "%u", named);
	cr_expect_str_eq(cm_names_reason(4), "timeout");
	cr_expect_str_eq(cm_names_reason(8), "invalid_service_id");
	cr_expect_str_eq(cm_names_reason(10), "stale_connection");
	cr_expect_str_eq(cm_names_reason(12), "primary_gid_rejected");
	cr_expect_str_eq(cm_names_reason(18), "alternate_gid_rejected");
	cr_expect_str_eq(cm_names_reason(26), "invalid_path_mtu");
	cr_expect_str_eq(cm_names_reason(28), "consumer_reject");
	cr_expect_str_eq(cm_names_reason(31), "unsupported_class_version");
	cr_expect_str_eq(cm_names_reason(33), "invalid_alternate_flow_label");
	cr_expect_str_eq(cm_names_reason(35), "vendor_option_not_supported");
}

Test(print, statuses_and_faults_have_names_and_others_are_unknown)
{
	cr_expect_str_eq(cm_names_apr_status(0), "loaded");
	cr_expect_str_eq(cm_names_apr_status(5), "is_the_current_path");
	cr_expect_str_eq(cm_names_apr_status(13), "sl_rejected");
	cr_expect_str_eq(cm_names_apr_status(14), "unknown");
	cr_expect_str_eq(cm_names_sidr_status(0), "valid");
	cr_expect_str_eq(cm_names_sidr_status(5), "class_version_not_supported");
	cr_expect_str_eq(cm_names_sidr_status(6), "unknown");
	cr_expect_str_eq(cm_mad_fault_name(CM_MAD_OK), "ok");
	cr_expect_str_eq(cm_mad_fault_name(CM_MAD_CLASS_VERSION), "class_version");
	cr_expect_str_eq(cm_mad_fault_name(CM_MAD_FAULTS), "unknown");
	cr_expect_str_eq(cm_names_answered(CM_REJ, 2), "none");
	cr_expect_str_eq(cm_names_answered(CM_MRA, 2), "LAP");
	cr_expect_str_eq(cm_names_answered(CM_MRA, 3), "unknown");
}

Test(print, ip_services_are_named_by_space_and_port)
{
	static const struct {
		uint64_t id;
		const char *text;
	} rows[] = {
		{ 0x01061C06, "tcp:7174" },   { 0x0111FFFF, "udp:65535" },
		{ 0x01020001, "space_02:1" }, { 0x10001061C06, "0x0000010001061c06" },
		{ 7, "0x0000000000000007" },
	};
	char text[CM_SERVICE_MAX_BYTES];
	size_t i;

	RULE("C-5");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(cm_service_print(rows[i].id, text, sizeof(text)), rows[i].text, "got %s", text);
	cr_expect_eq(cm_service_id(CM_SPACE_TCP, 7174), 0x01061C06);
	cr_expect_eq(cm_service_id(CM_SPACE_UDP, 65535), 0x0111FFFF);
}

Test(print, message_shows_nonzero_and_named_fields)
{
	struct cm_message message = { .kind = CM_REJ, .transaction_id = 0x2EC, .remote_id = 7, .reason = 8 };

	expect_text(&message, "ConnectReject transaction_id=0x00000000000002ec remote_id=0x00000007 answered=0(REQ) "
			      "reason=8(invalid_service_id)");
	message.info_bytes = 2;
	message.info[1] = 5;
	message.info[2] = 6; /* beyond its length */
	message.private_data[0] = 0xAB;
	message.private_data[2] = 1;
	expect_text(&message, "ConnectReject transaction_id=0x00000000000002ec remote_id=0x00000007 answered=0(REQ) "
			      "info_bytes=2 reason=8(invalid_service_id) info=0005 private_data=ab0001");
	message = (struct cm_message){ .kind = CM_REP, .vendor_id = 0x2C9, .qpn = 0x11, .psn = 5 };
	expect_text(&message, "ConnectReply qpn=0x000011 vendor_id=0x0002c9 psn=5");
	message = (struct cm_message){ .kind = 3 };
	expect_text(&message, "unknown");
}

Test(print, request_to_an_ip_service_shows_its_addresses)
{
	struct cm_message message = { .kind = CM_REQ, .service_id = cm_service_id(CM_SPACE_TCP, 7174) };
	struct cm_ip ip = { .ip_version = 4, .source_port = 40000 };

	RULE("C-5");
	memcpy(ip.source + 12, "\12\0\0\1", 4);
	memcpy(ip.dest + 12, "\12\0\0\2", 4);
	ip.source[0] = 0x55; /* before an IPv4 address nothing counts */
	cm_ip_build(&ip, message.private_data);
	message.private_data[CM_IP_BYTES] = 0x99;
	expect_text(&message, "ConnectRequest service_id=0x0000000001061c06(tcp:7174) ip.ip_version=4 "
			      "ip.source_port=40000 ip.source=10.0.0.1 ip.dest=10.0.0.2 private_data=99");
	ip.ip_version = 6;
	memset(ip.source, 0, 12);
	memcpy(ip.source, "\xfe\x80", 2);
	cm_ip_build(&ip, message.private_data);
	expect_text(&message, "ConnectRequest service_id=0x0000000001061c06(tcp:7174) ip.ip_version=6 "
			      "ip.source_port=40000 ip.source=fe80::a00:1 ip.dest=::10.0.0.2 private_data=99");
	ip.ip_version = 5;
	cm_ip_build(&ip, message.private_data);
	cr_expect_not(cm_ip_find(&message, &ip), "an IP version that there is not");
	ip.ip_version = 4;
	ip.version = 1;
	cm_ip_build(&ip, message.private_data);
	cr_expect_not(cm_ip_find(&message, &ip), "a header of another version");
	ip.version = 0;
	cm_ip_build(&ip, message.private_data);
	cr_expect(cm_ip_find(&message, &ip));
	message.service_id = 7;
	cr_expect_not(cm_ip_find(&message, &ip), "no service of IP");
	message.service_id = cm_service_id(CM_SPACE_UDP, 1);
	message.kind = CM_SIDR_REQ;
	cr_expect(cm_ip_find(&message, &ip));
	message.kind = CM_REP;
	cr_expect_not(cm_ip_find(&message, &ip), "a REP has none");
}

Test(print, longest_message_fits_and_a_short_buffer_truncates)
{
	char text[CM_PRINT_MAX_BYTES], brief[20];
	struct cm_message message;
	size_t longest = 0, length;
	uint8_t kind;

	for (kind = CM_KIND_FIRST; kind <= CM_KIND_LAST; kind++) {
		memset(&message, 0xFF, sizeof(message));
		message.kind = kind;
		message.info_bytes = CM_INFO_MAX_BYTES;
		memset(message.primary.local_gid, 0xEE, 64);
		length = strlen(cm_mad_print(&message, text, sizeof(text)));
		longest = length > longest ? length : longest;
		cm_mad_print(&message, brief, 6);
		cr_expect_eq(strlen(brief), 5, "%s", brief);
		cr_expect_eq(strncmp(brief, text, 5), 0, "%s", brief);
	}
	cr_expect_lt(longest, CM_PRINT_MAX_BYTES - 1, "%zu", longest);
	cr_expect_gt(longest, CM_PRINT_MAX_BYTES / 2, "%zu: the room may be smaller", longest);
}
