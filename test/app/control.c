/* control.c - two programs over TCP on loopback, in one process: what each is sent, and whom it refuses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control.h"

static bool wanted = true;

static bool rest(void *unused)
{
	(void)unused;
	return wanted;
}

static bool take_aside(void *count, const json_t *message)
{
	if (!app_control_is(message, "aside"))
		return false;
	++*(int *)count;
	return true;
}

static int asides;
static const struct app_control_config mine = { "one", 2, "-p", "HOST", rest, take_aside, &asides },
				       older = { "one", 1, "-p", "HOST", rest, NULL, NULL },
				       other = { "two", 2, "-p", "HOST", rest, NULL, NULL };

static void meet(struct app_control *server, const struct app_control_config *client_config, struct app_control *client)
{
	struct sockaddr_in6 at;
	socklen_t bytes = sizeof(at);
	int listener = app_control_listen(&mine, 0);

	cr_assert_geq(listener, 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
	cr_assert_eq(app_control_dial(client, client_config, "127.0.0.1", ntohs(at.sin6_port)), 0);
	cr_assert_eq(app_control_accept(server, &mine, listener), 0);
	close(listener);
}

static void part(struct app_control *server, struct app_control *client)
{
	app_control_close(client);
	app_control_close(server);
}

static void write_text(const struct app_control *control, const char *text)
{
	cr_assert_eq(write(control->fd, text, strlen(text)), (ssize_t)strlen(text));
}

Test(control, messages_arrive_in_order_and_asides_are_separated)
{
	struct app_control server, client;
	json_t *message;

	meet(&server, &mine, &client);
	app_control_say(&client, "first");
	app_control_say(&client, "aside");
	app_control_send(&client, json_pack("{s:s, s:i}", "type", "second", "value", 7));
	message = app_control_expect(&server, NULL, 10);
	cr_expect(app_control_is(message, "first"));
	json_decref(message);
	message = app_control_expect(&server, "second", 10);
	cr_assert_not_null(message);
	cr_expect_eq(json_integer_value(json_object_get(message, "value")), 7);
	cr_expect_eq(asides, 1);
	json_decref(message);
	part(&server, &client);
}

Test(control, message_in_pieces_is_waited_for)
{
	struct app_control server, client;
	json_t *message;

	meet(&server, &mine, &client);
	write_text(&client, "{\"program\":\"one\",\"proto");
	cr_expect_null(app_control_next(&server));
	write_text(&client, "col\":2,\"type\":\"x\"}\n{\"type\":\"y\"}");
	message = app_control_expect(&server, "x", 10);
	cr_expect_not_null(message);
	json_decref(message);
	cr_expect_null(app_control_next(&server));
	cr_expect_not(server.closed);
	part(&server, &client);
}

Test(control, another_version_or_program_is_refused_at_both_ends)
{
	static const struct app_control_config *const strangers[] = { &older, &other };

	for (int i = 0; i < 2; i++) {
		struct app_control server, client;
		json_t *message;

		meet(&server, strangers[i], &client);
		app_control_say(&client, "hello");
		cr_expect_null(app_control_expect(&server, NULL, 10));
		cr_expect(server.closed);
		message = app_control_expect(&client, "welcome", 10);
		cr_expect_null(message);
		cr_expect(client.closed);
		part(&server, &client);
	}
}

Test(control, stranger_that_sends_no_object_is_refused)
{
	static const char *const texts[] = { "GET / HTTP/1.0\r\n", "[]\n", "{\n", "\n", "{}\n", "\xff\xfe\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct app_control server, client;

		meet(&server, &mine, &client);
		write_text(&client, texts[i]);
		cr_expect_null(app_control_expect(&server, NULL, 10), "%s", texts[i]);
		cr_expect(server.closed, "%s", texts[i]);
		part(&server, &client);
	}
}

Test(control, endless_message_is_refused)
{
	static char text[1 << 16];
	struct app_control server, client;

	memset(text, ' ', sizeof(text));
	meet(&server, &mine, &client);
	text[0] = '{';
	for (int i = 0; i < 1000 && !server.closed; i++) {
		send(client.fd, text, sizeof(text), MSG_NOSIGNAL);
		text[0] = ' ';
		cr_assert_null(app_control_next(&server));
	}
	cr_expect(server.closed);
	part(&server, &client);
}

Test(control, wait_ends_at_its_timeout_with_the_peer_or_the_program)
{
	struct app_control server, client;

	meet(&server, &mine, &client);
	cr_expect_null(app_control_expect(&server, NULL, 0.05));
	cr_expect_not(server.closed);
	wanted = false;
	cr_expect_null(app_control_expect(&server, NULL, 0));
	cr_expect(server.closed);
	wanted = true;
	cr_expect_not(app_control_is_over(&client));
	part(&client, &server);
	meet(&server, &mine, &client);
	app_control_close(&client);
	cr_expect_null(app_control_expect(&server, NULL, 0));
	cr_expect(app_control_is_over(&server));
	app_control_close(&server);
}

Test(control, dial_without_listener_fails_when_the_program_ends_the_wait)
{
	struct app_control client;

	wanted = false;
	cr_expect_eq(app_control_dial(&client, &mine, "127.0.0.1", 1), -1);
	cr_expect_eq(client.fd, -1);
}
