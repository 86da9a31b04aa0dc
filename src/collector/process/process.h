/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the recording: who it is, its session, and what the collector's threads share of
 * it. Made by the drain thread at the rendezvous (process_new() of write/process_work.h); what
 * stands here is constant from then on, or atomic where it says so. What one thread alone uses is
 * in a part of its own: the walker's, the worker's. The shared memory that its logs lie in stays
 * mapped until process_release(), by the worker after BATCH_CLOSE, when the walker is done with it.
 *
 * The room: what all threads of the collector stand on, and what goes between them.
 *
 *   process.c      who a process is
 *   carrier.c      does it carry the runtime?
 *   system_read.c  the machine's files in /proc
 *   filters.c      system call filters, from outside
 *   order.c        the priming signal, from outside
 *   queue.c        batches from thread to thread
 *   wall_word.h    what is said of waiting threads
 *   maps.c         what is mapped where
 *   loads.c        what has come and gone
 *   snapshot.c     module map, as handlers read it
 *   libraries.c    the list of its libraries
 *   label_sets.c   sets of labels by number
 *   published_context.c what others publish
 *   stretch.c      samples of one context, joined
 */
#ifndef WEFT_COLLECTOR_PROCESS_H
#define WEFT_COLLECTOR_PROCESS_H

#include "base/atomic.h"
#include "base/session_layout.h"
#include "proc/process_file.h"

#include <sys/types.h>
#include <weft/abi/session.h>

struct libraries;
struct published_context;
struct process_walk;
struct process_work;

/* Which samples of an engine are written, by the settings of their type. */
enum samples_choice { SAMPLES_ALL = 0, SAMPLES_IN_CONTEXT, SAMPLES_NONE };

#define SESSION_BUCKETS 64

/* Everything that is counted in one session, as sums since its start. */
struct session_counts {
	uint64_t counter[WEFT_COUNTER_ROOM];
	uint64_t delivered;
	uint64_t pending; /* written and never drained; known at the end only */
	uint64_t events_delivered, events_pending; /* the same of the events rings */
	uint64_t generations;                      /* slot generations whose books are closed */
	uint64_t unbalanced;                       /* of these, whose books did not balance */
	uint64_t threads;
	/* Samples with something of another library's context; such as could not be read, and such
	 * as told another span than a context before them. */
	uint64_t context_otel, context_labels, context_go, context_unreadable, context_disagreed;
	uint64_t slots_used, slots_high;
	uint64_t log_invalid; /* logs given up because a record was malformed */
	uint64_t handler_ns[SESSION_BUCKETS];
	uint64_t claim_ns[SESSION_BUCKETS];
};

/* Adds, but of slots_high the larger one counts. */
void session_counts_add(struct session_counts *sum, const struct session_counts *one);

/* A slot whose thread is gone: told by the outside thread to the drain thread. */
struct gone_slot {
	struct gone_slot *next;
	uint32_t slot;
	uint64_t generation;
};

/* What the last thread that had a slot and has ended stored there at its end. */
struct slot_words {
	uint64_t generation;       /* whose; 0 = nobody's, or they are being written */
	uint64_t ended_ns, cpu_ns; /* as in the slot; 0 = it said nothing */
};

struct process {
	pid_t pid, parent; /* as we see them */
	pid_t inside_pid;  /* as it sees itself */
	uint64_t session_id, opened_ns;
	uint64_t cpu_before_ns; /* used before opened_ns: not the recording's */
	uint64_t start_ticks;   /* of the process, since the boot */
	uint64_t stack_start;   /* random: tells one program from the next under the same pid */
	/* As it was met. */
	uint32_t filters;     /* seccomp filters of its first thread */
	uint32_t met_threads; /* how many it had; 0 = not known */
	uid_t files_user;     /* of the files that it made; (uid_t)-1 = not known */
	char command[64], group[96];
	char *command_line;
	int root_fd, proc_fd; /* O_PATH; -1 = cannot be had */

	/* The session: the collector's own copy of the layout, never the shared one. */
	struct weft_session_header layout;
	struct weft_session_header *base; /* the mapping: anybody may write it */

	struct gone_slot *gone;             /* atomic: one pushes, one takes all */
	struct slot_words *words;           /* of each slot; NULL: nobody asks. Atomic */
	struct published_context *contexts; /* atomic: of published_context.h */
	struct weft_published variables;    /* likewise; each word is atomic */
	struct libraries *told;         /* atomic: the walker's newest list; the worker takes it */
	enum samples_choice wall_asked; /* atomic, set by the drain thread: of the wall engine */

	struct process_walk *walk; /* the walker's part (collector/walk/process_walk.h) */
	struct process_work *work; /* the worker's (collector/write/process_work.h) */
};

static inline struct weft_slot *process_slot(const struct process *p, uint32_t index)
{
	return weft_session_slot(p->base, &p->layout, index);
}

/* The slot's state word. */
static inline uint64_t *process_slot_state(const struct process *p, uint32_t index)
{
	return &weft_session_states(p->base, &p->layout)[index];
}

/* Slots that were ever used: as the target says, held to slot_count. */
static inline uint32_t process_slots_high(const struct process *p)
{
	uint32_t high = load_relaxed(&p->base->slots_high);

	return high < p->layout.slot_count ? high : p->layout.slot_count;
}

/* When a slot was claimed, as its thread says; a time that is still to come is taken for now, for
 * it becomes the recording's. */
static inline uint64_t process_slot_claimed(const struct weft_slot *slot, uint64_t now_ns)
{
	uint64_t claimed_ns = load_relaxed(&slot->thread.claimed_ns);

	return claimed_ns < now_ns ? claimed_ns : now_ns;
}

/* Fills zeroed @p from /proc, without touching the process: 0 or -errno. After either,
 * process_leave() frees all but what identifies the process. */
int process_meet(struct process *p, pid_t pid);
void process_leave(struct process *p);

/* Of the outside thread: the thread that had this slot is gone. */
void process_tell_gone(struct process *p, uint32_t slot, uint64_t generation);
/* Of the drain thread: all that was told since; a list to be freed. */
struct gone_slot *process_take_gone(struct process *p);

/* process_keep_words(): the outside thread is going to ask. process_tell_words(): the drain thread
 * tells before the slot is another's. process_words(), of the outside thread: 1 and *out; 0 when
 * they are not there yet, or no more. */
void process_keep_words(struct process *p);
void process_tell_words(struct process *p, uint32_t slot, const struct slot_words *words);
int process_words(const struct process *p, uint32_t slot, uint64_t generation,
		  struct slot_words *out);

/* A file of the process in /proc, as proc_read_all(), while it runs the program that it ran
 * when it was met. NULL with ESRCH: what is there now is another program's, after an exec. */
char *process_read_own(const struct process *p, const char *name, size_t *bytes);

/* Likewise, the present name of one of its threads, by its number inside: 1; 0: @out stays. */
int process_thread_name(const struct process *p, int32_t tid, char *out, size_t room);

/* Does it still run that program? 1, too, where that cannot be read. The second: by what was read
 * of a thread together with the rest. */
int process_runs_on(const struct process *p);
int process_has_stack(const struct process *p, uint64_t stack_start);

/* May what was read of thread @tid, its name, be taken for this program's? After an exec the main
 * thread is another's; while one is under way it has that one's name already, and no stack yet. */
int process_has_thread(const struct process *p, int32_t tid, uint64_t stack_start);

#endif
