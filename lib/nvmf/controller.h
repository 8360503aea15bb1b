/* controller.h - controllers: each is the view that one host has of a subsystem, with its queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_CONTROLLER_H
#define NVMF_CONTROLLER_H

#include "nvmf/hello.h"
#include "nvmf/target.h"

#define NVMF_FOREVER UINT64_MAX
#define NVMF_SET_WORDS (NVMF_NAMESPACES_MAX / 32)

struct nvmf_command;

/* A set of nsids. */
typedef _Atomic uint32_t nvmf_set[NVMF_SET_WORDS];

/* A queue pair of a host. Its first command has to be a Connect. */
struct nvmf_queue {
	struct nvmf_target *target;
	struct nvmf_controller *controller; /* NULL before Connect */
	uint16_t qid;
	uint16_t sq_head;
	uint32_t room; /* commands that the host may have under way on this connection */
	uint32_t size; /* entries of the submission queue, as the Connect said; before that, the same as room */
	bool no_flow_control;
	_Atomic uint32_t under_way; /* commands begun and not answered, other than those of fabrics */
	/* the program around this library sets the members from here on, before nvmf_queue_open() */
	void *context;
	uint32_t thread; /* number of the thread that serves it, below NVMF_THREADS_MAX; 0 by default */
	/* address of the host in any form; hosts with the same address share the limits of one peer */
	uint8_t peer[NVMF_PEER_BYTES];
	uint16_t port_id; /* address of the target, as in struct nvmf_address */
};

/* A command that the store could not carry out. */
struct nvmf_error {
	uint16_t qid, cid, status;
	uint32_t nsid;
	uint64_t block;
};

/* All queues of a controller write heard_ns, so a command writes it only once in each such period. */
#define NVMF_HEARD_STEP_NS 100000000u

/*
 * What a controller does, after the base specification:
 *
 *   phase      CSTS            from          by
 *   DISABLED   RDY 0           -             Connect
 *   READY      RDY 1           DISABLED      CC.EN 0 -> 1
 *   FATAL      RDY 0, CFS 1    DISABLED      CC.EN 0 -> 1 with a value of CSS, MPS or AMS that is unsupported
 *   STOPPED    RDY 1, SHST     READY         CC.SHN 0 -> 1 or 2
 *   RESETTING  RDY 1           READY, STOPPED  CC.EN 1 -> 0
 *   DISABLED   RDY 0           RESETTING     all I/O queues are closed, and all admin commands answered
 *   DISABLED   RDY 0           FATAL         CC.EN 1 -> 0
 *
 * Commands are carried out in READY alone, fabrics commands in each phase. SHST is 1 after CC.SHN while I/O commands
 * are under way, then 2 until a reset begins. A reset begins with the default values of all features.
 */
enum nvmf_phase { NVMF_DISABLED, NVMF_READY, NVMF_FATAL, NVMF_STOPPED, NVMF_RESETTING };

struct nvmf_controller {
	struct nvmf_target *target;
	const struct nvmf_subsystem *subsystem; /* NULL: it is a discovery controller */
	char host_nqn[NVME_NQN_BYTES];
	uint8_t host_id[16];
	uint8_t peer[NVMF_PEER_BYTES]; /* of its admin queue */
	uint16_t cntlid;
	uint32_t cc;
	_Atomic enum nvmf_phase phase;
	bool shut_down;   /* CC.SHN was set, and no reset has begun since */
	bool was_enabled; /* at least once since the Connect */
	uint32_t keep_alive_ms;
	uint64_t deadline_ns; /* NVMF_FOREVER: none */
	/* time of the last command on any queue, in steps of NVMF_HEARD_STEP_NS; 0: no command since Keep Alive */
	_Atomic uint64_t heard_ns;
	_Atomic bool write_cache; /* the host may flush; without it each write lasts when it is done */
	/* NVME_RETRY_LATER: the host waits before it retries a command with that status; 0: it knows no such delay */
	_Atomic uint16_t retry_later;
	/* Features whose values the host sets and reads back, and which change nothing here. */
	uint32_t arbitration, power, thresholds[2], error_recovery, atomicity;
	uint32_t events_wanted, events_told, events_due;
	struct nvmf_command *held[NVMF_HELD_MAX];
	uint32_t held_count;
	uint32_t aborted_count; /* how many of the oldest held commands a reset has aborted */
	nvmf_set changed;       /* namespaces to be listed in the log page */
	struct nvmf_path *path; /* NULL: it is a discovery controller */
	/* begins as a copy of the path's, because the host may have another controller on the same path */
	struct nvmf_numbers numbers;
	nvmf_set identified;  /* numbers that the host takes for the disks that have them now */
	nvmf_set gone;        /* numbers that the host takes for other disks, or for disks that were removed */
	uint64_t error_count; /* errors so far; the newest are kept, each at its number modulo the size */
	struct nvmf_error errors[NVMF_ERRORS_MAX];
	struct nvmf_queue *queues[NVMF_QUEUES_MAX];
	uint32_t queue_count;
};

static inline bool nvmf_set_has(const nvmf_set set, uint32_t nsid)
{
	return set[(nsid - 1) / 32] >> (nsid - 1) % 32 & 1;
}

static inline void nvmf_set_put(nvmf_set set, uint32_t nsid, bool member)
{
	uint32_t bit = 1u << (nsid - 1) % 32;

	set[(nsid - 1) / 32] = member ? set[(nsid - 1) / 32] | bit : set[(nsid - 1) / 32] & ~bit;
}

void nvmf_queue_open(struct nvmf_queue *queue, struct nvmf_target *target, const struct nvmf_hello *hello);
/*
 * The connection of the queue is gone. If it is the admin queue, its controller ends, and the controller's other queues
 * have to be closed, too: see nvmf_controller_queue(). An I/O queue is closed when nothing of its commands is under way
 * any more, neither in the store nor to the host, because a reset of the controller ends with that. The controller is
 * freed with its last queue. Held commands are forgotten. For the thread that serves the queue.
 */
void nvmf_queue_close(struct nvmf_queue *queue);
/* Returns a queue that is still open; NULL: there is none. */
struct nvmf_queue *nvmf_controller_queue(const struct nvmf_controller *controller);

/*
 * Makes a controller for this admin queue; subsystem NULL: for discovery. Returns NULL if there is no memory or no
 * room. A peer may have at most as many controllers as are free for others. Peers are told apart by address, because
 * the names of hosts are not proven, and a peer could use a new name each time. The controller begins with what its
 * host has identified on the same path before.
 */
struct nvmf_controller *nvmf_controller_create(const struct nvmf_queue *queue, const struct nvmf_subsystem *subsystem,
					       const char *host_nqn, const uint8_t host_id[16]);
/* Returns NULL if the target has no controller with this id. */
struct nvmf_controller *nvmf_controller_find(const struct nvmf_target *target, uint16_t cntlid);
void nvmf_controller_attach(struct nvmf_controller *controller, struct nvmf_queue *queue);
bool nvmf_controller_is_ready(const struct nvmf_controller *controller);
/*
 * Call it for a Connect: gives the host time to connect all its queues, because the host sends its first Keep Alive
 * only after that.
 */
void nvmf_controller_greet(struct nvmf_controller *controller, uint64_t now_ns);
/* Call it for a Keep Alive: from now on the host has the time that it named. */
void nvmf_controller_hear(struct nvmf_controller *controller, uint64_t now_ns);
uint64_t nvmf_controller_cap(const struct nvmf_controller *controller);
/*
 * Has the host set the sizes of queue entries, as it must before it makes I/O queues? A discovery controller needs
 * none.
 */
bool nvmf_controller_has_entry_sizes(const struct nvmf_controller *controller);
/* Returns a status. CC.EN 1 -> 0 begins a reset; until that has ended, CC.EN 0 -> 1 is a command sequence error. */
uint16_t nvmf_controller_set_cc(struct nvmf_controller *controller, uint32_t cc);
uint32_t nvmf_controller_csts(struct nvmf_controller *controller);
/* Something about this namespace has changed: the host is told to read it. */
void nvmf_controller_change(struct nvmf_controller *controller, uint32_t nsid);
/*
 * The number is about to become this namespace's, or is free now: NULL. Call it before other threads find the
 * namespace, so that none of them finds it with what the host took the number for before.
 */
void nvmf_controller_judge(struct nvmf_controller *controller, uint32_t nsid, const struct nvmf_namespace *namespace);
/* The host has read which disk this is: it takes the number for it from now on. */
void nvmf_controller_identify(struct nvmf_controller *controller, const struct nvmf_namespace *namespace);
/* The host has read the list of namespaces with numbers above this one: it takes free numbers for no disk any more. */
void nvmf_controller_list(struct nvmf_controller *controller, uint32_t above);
/*
 * The host has read which numbers have changed, or it has reset the controller: free ones may be used again. What the
 * host took them for counts until it lists them as free.
 */
void nvmf_controller_list_changes(struct nvmf_controller *controller);
/* An event has happened; `event` is its bit in feature 0Bh. */
void nvmf_controller_raise(struct nvmf_controller *controller, uint32_t event);
/* The host has read the event's log page, so it is told of the next event. */
void nvmf_controller_read(struct nvmf_controller *controller, uint32_t event);
/*
 * Returns a controller whose host has sent no command for its keep-alive time, and whose queues are to be closed; NULL:
 * none. Each such controller is returned once. The caller holds the lock, and is the thread that serves the admin
 * queue, since only that thread knows whether a Keep Alive has arrived that was not handled yet. now_ns is of the clock
 * that nvmf_command_begin() is given.
 */
struct nvmf_controller *nvmf_controller_expired(struct nvmf_target *target, uint32_t thread, uint64_t now_ns);

#endif
