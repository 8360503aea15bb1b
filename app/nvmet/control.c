/* control.c - the control socket: a client sends a line of words to a running target and gets lines as the answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "common/number.h"
#include "nvmet/counts.h"
#include "nvmet/json.h"
#include "nvmet/queue.h"

#define WORDS_MAX 16
/* after so many looks the target disconnects a client that has sent no whole line, or does not read its answer */
#define PATIENCE_LOOKS 50u

struct control {
	struct server *server;
	struct disks *disks;
	char path[108];
	int listener, peer;
	char line[CONTROL_LINE_BYTES];
	size_t bytes;
	unsigned looks;
	FILE *out;
	bool refused; /* the answer ends with an error instead of "ok" */
	char *text;   /* the answer; NULL: the client has not sent a whole line yet */
	size_t text_bytes, sent;
};

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static void refuse(struct control *control, const char *format, ...)
{
	va_list arguments;

	fputs("error: ", control->out);
	va_start(arguments, format);
	vfprintf(control->out, format, arguments);
	va_end(arguments);
	fputc('\n', control->out);
	control->refused = true;
}

static struct nvmf_subsystem *find_subsystem(struct control *control, const char *nqn)
{
	struct nvmf_subsystem *subsystem = nvmf_target_find(&control->server->target, nqn);

	if (subsystem == NULL)
		refuse(control, "%s: no such subsystem; \"show\" lists the subsystems", nqn);
	return subsystem;
}

static struct disk *find_disk(struct control *control, const char *nqn, const char *nsid)
{
	struct nvmf_subsystem *subsystem = find_subsystem(control, nqn);
	struct disk *disk;
	uint64_t number = 0;

	if (subsystem == NULL)
		return NULL;
	app_number_parse(nsid, 1, NVMF_NAMESPACES_MAX, &number);
	disk = disks_find(control->disks, subsystem, (uint32_t)number);
	if (disk == NULL)
		refuse(control, "%s: %s has no namespace with this ID; \"show\" lists the namespaces", nsid, nqn);
	return disk;
}

/* ---- questions ---- */

/* Adds up all lcores. which: 0 for reads, 1 for writes. */
static void show_times(struct control *control, const char *what, const struct store *store, int which)
{
	static struct app_histogram sum;
	const struct app_histogram *times = &sum;

	memset(&sum, 0, sizeof(sum));
	for (uint32_t i = 0; i < store->share_count; i++)
		app_histogram_add(&sum, &store->shares[i].times[which]);
	if (times->count)
		fprintf(control->out, " %s us p50=%.1f p99=%.1f p99.9=%.1f max=%.1f", what,
			(double)app_histogram_percentile(times, 0.5) / 1e3,
			(double)app_histogram_percentile(times, 0.99) / 1e3,
			(double)app_histogram_percentile(times, 0.999) / 1e3, (double)times->max / 1e3);
}

static void show(struct control *control, char **words)
{
	const struct nvmf_target *target = &control->server->target;

	(void)words;
	for (uint32_t i = 0; i < target->address_count; i++)
		fprintf(control->out, "address %s service %s\n", target->addresses[i].address,
			target->addresses[i].service);
	for (uint32_t i = 0; i < target->subsystem_count; i++) {
		const struct nvmf_subsystem *subsystem = target->subsystems[i];

		fprintf(control->out, "subsystem %s serial=%s hosts=%s\n", subsystem->nqn, subsystem->serial,
			subsystem->host_count ? "" : "any");
		for (uint32_t k = 0; k < subsystem->host_count; k++)
			fprintf(control->out, "  host %s\n", subsystem->hosts[k]);
	}
	for (const struct disk *disk = control->disks->first; disk; disk = disk->next) {
		char uuid[37];

		uuid_unparse_lower(disk->namespace.uuid, uuid);
		fprintf(control->out, "namespace %u of %s: %s%s%s, %lu blocks of %u bytes, uuid %s%s%s\n",
			disk->namespace.nsid, disk->subsystem->nqn, store_kind_name(disk->store->config.kind),
			disk->store->config.kind == STORE_FILE ? " " : "",
			disk->store->config.kind == STORE_FILE ? disk->path : "", disk->namespace.blocks,
			disk->namespace.block_bytes, uuid, disk->namespace.read_only ? ", read only" : "",
			disk->leaving ? ", being removed" : "");
	}
}

static void show_counts(const struct counts *counts, void *argument)
{
	struct control *control = argument;
	const struct disk *disk = counts->disk;

	if (disk)
		fprintf(control->out, "namespace %u of %s:", disk->namespace.nsid, disk->subsystem->nqn);
	else
		fputs("target", control->out);
	for (uint32_t i = 0; i < counts->count; i++)
		fprintf(control->out, " %s=%lu", counts->rows[i].name, counts->rows[i].value);
	if (disk) {
		show_times(control, "read", disk->store, 0);
		show_times(control, "write", disk->store, 1);
	}
	fputc('\n', control->out);
}

/* The lane goes on counting meanwhile. */
static void show_queues(struct control *control, const struct lane *lane)
{
	const struct queue *queue;

	LIST_FOREACH(queue, &lane->queues, next)
		fprintf(control->out,
			"queue %u of controller %u: commands=%lu errors=%lu under_way=%u waiting=%u lcore=%u\n",
			queue->nvmf.qid, queue->nvmf.controller ? queue->nvmf.controller->cntlid : 0,
			__atomic_load_n(&queue->taken, __ATOMIC_RELAXED),
			__atomic_load_n(&queue->errors, __ATOMIC_RELAXED),
			__atomic_load_n(&queue->commands, __ATOMIC_RELAXED),
			__atomic_load_n(&queue->pending_count, __ATOMIC_RELAXED), lane->index);
}

static void stats(struct control *control, char **words)
{
	struct server *server = control->server;

	(void)words;
	counts_each(server, control->disks, show_counts, control);
	nvmf_target_lock(&server->target);
	for (uint32_t i = 0; i < server->lane_count; i++)
		show_queues(control, &server->lanes[i]);
	nvmf_target_unlock(&server->target);
}

static void json(struct control *control, char **words)
{
	(void)words;
	if (json_write(control->server, control->disks, control->out) != 0)
		refuse(control, "no memory for the reply");
}

static void controllers(struct control *control, char **words)
{
	struct nvmf_target *target = &control->server->target;

	(void)words;
	nvmf_target_lock(target);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		const struct nvmf_controller *controller = target->controllers[i];
		const struct nvmf_queue *queue = controller ? nvmf_controller_queue(controller) : NULL;
		char peer[64], host[NVME_NQN_BYTES];

		if (queue == NULL)
			continue;
		fprintf(control->out, "controller %u of %s: host %s at %s, %u queues, keep alive %u ms%s\n",
			controller->cntlid, controller->subsystem ? controller->subsystem->nqn : "discovery",
			journal_name(controller->host_nqn, host, sizeof(host)),
			uroce_addr_format(&((const struct queue *)queue->context)->peer->addr, peer, sizeof(peer)),
			controller->queue_count, controller->keep_alive_ms,
			nvmf_controller_is_ready(controller) ? "" : ", not ready");
	}
	nvmf_target_unlock(target);
}

/* ---- commands ---- */

static void add(struct control *control, char **words)
{
	struct nvmf_subsystem *subsystem = find_subsystem(control, words[1]);
	struct settings_disk settings = { .block_bytes = 512 };
	char error[STORE_ERROR_BYTES];
	struct disk *disk;

	if (subsystem == NULL)
		return;
	if (settings_disk_text(words[2], &settings, error) != 0) {
		refuse(control, "%s", error);
		return;
	}
	for (char **word = words + 3; *word; word++) {
		uint64_t value = 0;

		if (strcmp(*word, "read-only") == 0)
			settings.read_only = true;
		else if (strcmp(*word, "buffered") == 0)
			settings.buffered = true;
		else if (sscanf(*word, "nsid=%lu", &value) == 1 && value >= 1 && value <= NVMF_NAMESPACES_MAX)
			settings.nsid = (uint32_t)value;
		else if (strncmp(*word, "uuid=", 5) == 0 && strlen(*word) < sizeof(settings.uuid))
			strcpy(settings.uuid, *word + 5);
		else if (sscanf(*word, "block=%lu", &value) == 1 && (value == 512 || value == 4096))
			settings.block_bytes = (uint32_t)value;
		else {
			refuse(control,
			       "%s: unknown argument: use nsid=N (1 to %u), block=512, block=4096, uuid=UUID, "
			       "read-only or buffered",
			       *word, NVMF_NAMESPACES_MAX);
			return;
		}
	}
	disk = disks_add(control->disks, subsystem, &settings, error);
	if (disk)
		fprintf(control->out, "namespace %u of %s\n", disk->namespace.nsid, subsystem->nqn);
	else
		refuse(control, "%s", error);
}

static void remove_disk(struct control *control, char **words)
{
	struct disk *disk = find_disk(control, words[1], words[2]);

	if (disk)
		disks_remove(control->disks, disk);
}

static void resize(struct control *control, char **words)
{
	struct disk *disk = find_disk(control, words[1], words[2]);
	char error[STORE_ERROR_BYTES];
	uint64_t bytes;

	if (disk == NULL)
		return;
	if (!app_size_parse(words[3], 0, UINT64_MAX, &bytes))
		refuse(control, "%s: use a size such as 64M or 1G", words[3]);
	else if (disks_resize(control->disks, disk, bytes, error) != 0)
		refuse(control, "resize %s %s %s: %s", words[1], words[2], words[3], error);
}

/* Disconnects a controller by its number, or all controllers of a host. */
static void disconnect(struct control *control, char **words)
{
	struct nvmf_target *target = &control->server->target;
	uint64_t cntlid = 0;
	uint32_t count = 0;

	app_number_parse(words[1], 1, NVME_CNTLID_MAX, &cntlid);
	nvmf_target_lock(target);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller = target->controllers[i];

		if (controller && controller->queues[0] &&
		    (controller->cntlid == cntlid || strcmp(controller->host_nqn, words[1]) == 0)) {
			queue_tell_end(controller->queues[0]->context, "disconnected by request");
			count++;
		}
	}
	nvmf_target_unlock(target);
	if (count == 0)
		refuse(control,
		       "%s: no such controller ID or host NQN; \"controllers\" lists the controllers and hosts",
		       words[1]);
	else
		fprintf(control->out, "%u controllers disconnected\n", count);
}

static void help(struct control *control, char **words);

static const struct verb {
	const char *name, *arguments, *what;
	int least, most;
	void (*run)(struct control *control, char **words);
} verbs[] = {
#define VERB(name, run, arguments, what, least, most) { name, arguments, what, least, most, run },
#include "nvmet/verbs.def"
#undef VERB
};

static void help(struct control *control, char **words)
{
	(void)words;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(control->out, "%s %s\n    %s\n", verbs[i].name, verbs[i].arguments, verbs[i].what);
}

static bool run(struct control *control, char **words, int count)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, words[0]) != 0)
			continue;
		if (count - 1 < verbs[i].least || count - 1 > verbs[i].most)
			refuse(control, "%s: use %s %s", words[0], verbs[i].name, verbs[i].arguments);
		else
			verbs[i].run(control, words);
		return true;
	}
	return false;
}

static void answer(struct control *control)
{
	char *words[WORDS_MAX + 1] = { NULL }, *rest = control->line, *word;
	int count = 0;

	while (count < WORDS_MAX && (word = strsep(&rest, " ")) != NULL) {
		if (*word)
			words[count++] = word;
	}
	control->refused = false;
	control->out = open_memstream(&control->text, &control->text_bytes);
	if (control->out == NULL)
		return;
	if (count == 0 || !run(control, words, count))
		refuse(control, "%s: no such command; \"help\" lists the commands", count ? words[0] : "");
	if (!control->refused)
		fputs("ok\n", control->out);
	fclose(control->out);
	control->sent = control->looks = 0;
}

/* ---- the socket ---- */

static void hang_up(struct control *control)
{
	close(control->peer);
	free(control->text);
	control->text = NULL;
	control->peer = -1;
}

/* Sends as much as the socket takes: hosts do not wait for a client that reads slowly. */
static void send_answer(struct control *control)
{
	ssize_t part = send(control->peer, control->text + control->sent, control->text_bytes - control->sent,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (part > 0) {
		control->sent += (size_t)part;
		control->looks = 0;
	}
	if (control->sent == control->text_bytes || (part < 0 && errno != EAGAIN) || ++control->looks > PATIENCE_LOOKS)
		hang_up(control);
}

static void handle_line(struct control *control)
{
	ssize_t got = recv(control->peer, control->line + control->bytes, sizeof(control->line) - 1 - control->bytes,
			   MSG_DONTWAIT);
	char *end;

	if (got > 0)
		control->bytes += (size_t)got;
	control->line[control->bytes] = '\0';
	end = strchr(control->line, '\n');
	if (end) {
		*end = '\0';
		answer(control);
		if (control->text == NULL)
			hang_up(control);
	} else if (got == 0 || (got < 0 && errno != EAGAIN) || ++control->looks > PATIENCE_LOOKS ||
		   control->bytes == sizeof(control->line) - 1) {
		hang_up(control);
	}
}

void control_poll(struct control *control)
{
	if (control->peer < 0) {
		control->peer = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC);
		control->bytes = control->looks = 0;
	}
	if (control->peer >= 0 && control->text == NULL)
		handle_line(control);
	if (control->peer >= 0 && control->text)
		send_answer(control);
}

/* Does no process listen at the socket any more? So it is when the target that made the socket was killed. */
static bool is_deserted(const struct sockaddr_un *address)
{
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool deserted =
		connect(probe, (const struct sockaddr *)address, sizeof(*address)) != 0 && errno == ECONNREFUSED;

	close(probe);
	return deserted;
}

struct control *control_open(const char *path, struct server *server, struct disks *disks,
			     char error[STORE_ERROR_BYTES])
{
	struct control *control = calloc(1, sizeof(*control));
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int code;

	if (control == NULL || strlen(path) >= sizeof(address.sun_path)) {
		store_refuse(error, "%s: %s", path, control ? "the path is too long for a Unix socket" : "no memory");
		free(control);
		return NULL;
	}
	strcpy(address.sun_path, path);
	strcpy(control->path, path);
	control->server = server;
	control->disks = disks;
	control->peer = -1;
	control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (is_deserted(&address))
		unlink(path);
	mask = umask(0077); /* only the owner may connect, because a client can remove disks */
	code = bind(control->listener, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (code == 0 && listen(control->listener, 8) == 0)
		return control;
	store_refuse(error, "%s: %s", path,
		     errno == EADDRINUSE ? "another target already listens on this socket" : strerror(errno));
	close(control->listener);
	free(control);
	return NULL;
}

void control_close(struct control *control)
{
	if (control->peer >= 0)
		hang_up(control);
	close(control->listener);
	unlink(control->path);
	free(control);
}
