/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the recording: identity, mappings, dictionary, threads, caches and counters.
 * Made by the drain thread at the rendezvous (process_new()); from then on the first part is
 * constant, one part the walker's, one the worker's. The shared memory that its logs lie in
 * stays mapped until process_release(), by the worker after BATCH_CLOSE, when the walker is
 * done with it.
 */
#ifndef WEFT_COLLECTOR_PROCESS_H
#define WEFT_COLLECTOR_PROCESS_H

#include "base/dictionary.h"
#include "collector/process/loads.h"
#include "collector/process/maps.h"
#include "collector/process/snapshot.h"
#include "collector/process/stretch.h"
#include "collector/process/system_read.h"

#include <sys/types.h>
#include <weft/abi/session.h>

struct event_class;
struct jit;
struct libraries;
struct map;

/* Which samples of an engine are written, by the settings of their type. */
enum samples_choice { SAMPLES_ALL = 0, SAMPLES_IN_CONTEXT, SAMPLES_NONE };

#define SESSION_BUCKETS 64

/* Of its CPU samples, as its session says (abi/session.h). */
struct process_clock {
	uint32_t choice; /* enum weft_clock_choice */
	int32_t error;
	uint32_t opened, rested, lacked, signo;
	int is_careful;
};

/* Everything that is counted in one session, as sums since its start. */
struct session_counts {
	uint64_t counter[WEFT_COUNTER_ROOM];
	uint64_t delivered;
	uint64_t pending; /* written and never drained; known at the end only */
	uint64_t events_delivered, events_pending; /* the same of the events rings */
	uint64_t generations;                      /* slot generations whose books are closed */
	uint64_t unbalanced;                       /* of these, whose books did not balance */
	uint64_t threads;
	uint64_t slots_used, slots_high;
	uint64_t log_invalid; /* logs given up because a record was malformed */
	uint64_t handler_ns[SESSION_BUCKETS];
	uint64_t claim_ns[SESSION_BUCKETS];
};

/* CPU time of the process in the file's jdk.CPULoad: see system_load.h. */
struct process_load {
	struct process_time seen;        /* at the last look */
	uint64_t user, system;           /* taken of it so far, its children's included */
	uint64_t owed_user, owed_system; /* taken of recorded children that have ended */
	int is_owed;                     /* what was taken of it is in its parent's */
};

/* One thread of the process, from claim to release of its slot. */
struct process_thread {
	uint64_t key; /* of the file's thread pool */
	uint64_t previous_ns;
	int32_t tid;
	char name[64];
	struct stretch stretch;
	int named;                 /* the key has the name above */
	int begun;                 /* its jdk.ThreadStart is in the file */
	int switched;              /* an event of it, or a coroutine's run or wait, is there */
	uint64_t taken_ns;         /* of the newest sample of its own; 0 = none */
	uint64_t running_ns;       /* time on a CPU that no wall-clock sample stands for yet */
	struct timeline *timeline; /* of timeline.c, which frees it; NULL = none */
	uint64_t ended_ns, ended_cpu_ns; /* by its own last words; 0 = there are none */
	/* Seen of its CPU time, and by how many signals, of which no weft.ThreadCPU tells yet. */
	uint64_t seen_ns, signals;
	uint32_t labels_told; /* label_generation of the newest sample that told them */
	uint32_t labels;      /* which are those: a number of label_sets.h */
};

struct process_lockstep; /* recording_lockstep.c */
struct account_entry;    /* recording_account.c */

/* CPU time of the process and its threads, by the kernel's account (recording_account.c). */
struct process_account {
	struct account_entry **entry; /* threads that live, or have ended just now; by tid */
	size_t count, room;
	uint64_t process_ns; /* the newest reading of the process, and the largest */
	uint64_t threads_ns; /* told of threads, or theirs and not wanted */
	uint64_t rest_ns;    /* told of what no thread's row tells */
	uint64_t held_ns;    /* of the rest, as it was at the end of the chunk before */
	uint64_t swept_ns;   /* when entries of threads that are over were dropped */
};

/* A slot whose thread is gone: told by the outside thread to the drain thread. */
struct gone_slot {
	struct gone_slot *next;
	uint32_t slot;
	uint64_t generation;
};

/* What the newest thread that had a slot and left it said at its end. */
struct slot_words {
	uint64_t generation;       /* whose; 0 = nobody's, or they are being written */
	uint64_t ended_ns, cpu_ns; /* as in the slot; 0 = it said nothing */
};

struct process {
	struct process *next; /* the worker's list */
	pid_t pid, parent;    /* as we see them */
	pid_t inside_pid;     /* as it sees itself */
	uint64_t session_id, opened_ns;
	uint64_t
		cpu_before_ns; /* CPU time that it had used by then, which is not the recording's */
	uint64_t start_ticks;  /* of the process, since the boot */
	uint64_t stack_start;  /* tells one program from the next under the same pid */
	char command[64], group[96];
	char *command_line;
	int root_fd, proc_fd; /* O_PATH; -1 = cannot be had */

	/* The session: the collector's own copy of the layout, never the shared one. */
	struct weft_session_header layout;
	void *base;
	size_t base_bytes;

	struct gone_slot *gone;         /* atomic: one pushes, one takes all */
	struct slot_words *words;       /* of each slot; NULL: nobody asks. Atomic */
	struct libraries *told;         /* atomic: of the walker, newest; the worker takes it */
	enum samples_choice wall_asked; /* atomic, of the drain thread: of the wall engine */

	char *first_maps; /* text read before the target was answered; NULL = unreadable */
	size_t first_maps_bytes;
	char *first_environ; /* likewise, where it is wanted, as the kernel tells it; or NULL */
	size_t first_environ_bytes;

	/* Of the walker. */
	struct maps maps;
	uint64_t looked_ns;
	int64_t look_credit_ns; /* time that looking may take now */
	int told_by_log;        /* /proc cannot be read: the process tells its modules itself */
	uint64_t maps_ns;       /* when the mappings were looked at */
	uint64_t epoch;         /* modules_epoch before that look, without its lower half */
	struct loads loads;     /* what the process tells of what has come and gone */
	struct snapshots snapshots;
	uint32_t published;       /* generation of the maps that the newest snapshot tells */
	uint64_t published_epoch; /* and its epoch */
	uint64_t modules_position;
	uint32_t tables_refused; /* modules of one snapshot that found no room for their tables,
				    at most; the worker counts it: atomic */
	uint32_t libraries_told; /* generation of the maps of which the newest list is */
	struct jit *jit;         /* names of code that lies in no file; NULL = none */

	/* Of the worker. */
	uint64_t dict_position;
	struct dictionary *dictionary;
	struct map *threads;          /* {slot, generation} -> struct process_thread * */
	struct map *tids;             /* tid -> the newest of these with it */
	struct event_class **classes; /* by number of the type; NULL = there are none */
	uint32_t strangers; /* threads in events of which nothing was known but the number */
	enum samples_choice cpu_choice, wall_choice;
	struct map *codes;                    /* struct code * -> its code ran in this chunk */
	uint8_t column[WEFT_CONTEXT_V1_TAGS]; /* 1 + the file's column of each tag; 0 = none yet */
	struct libraries *libraries;          /* all that it has, and what has just gone; or NULL */
	struct process_load load;
	struct process_clock clock;
	struct process_lockstep *lockstep; /* NULL = no tick, and no look, was there yet */
	struct process_account account;
	struct session_counts counted; /* newest known to the drain thread */
	struct session_counts own;     /* the worker's: cuts, malformed logs */
	struct session_counts put;     /* in the file or the open chunk */
	struct session_counts safe;    /* in the file */
	const char *end;               /* RECORDING_END_..., NULL while it runs */
	uint64_t closed_ns;
};

/* Who is @pid? 0 and *out, or -errno. Reads /proc; does not touch the process. */
int process_new(struct process **out, pid_t pid);
void process_free(struct process *p);    /* takes NULL */
void process_release(struct process *p); /* all but identity and counters */

/* Of the outside thread: the thread that had this slot is gone. */
void process_tell_gone(struct process *p, uint32_t slot, uint64_t generation);
/* Of the drain thread: all that was told since; a list to be freed. */
struct gone_slot *process_take_gone(struct process *p);

/* Of the outside thread: that it will ask for them. Of the drain thread, before the slot is
 * another's. Of the outside thread: 1 and *out, 0: they are not there yet, or not any more. */
void process_keep_words(struct process *p);
void process_tell_words(struct process *p, uint32_t slot, const struct slot_words *words);
int process_words(const struct process *p, uint32_t slot, uint64_t generation,
		  struct slot_words *out);

/* A file of the process in /proc, as process_read_file(), while it runs the program that it ran
 * when it was met. NULL with ESRCH: what is there now is another program's, after an exec. */
char *process_read_own(const struct process *p, const char *name, size_t *bytes);

/* Does it run that program still, as far as can be seen? */
int process_runs_on(const struct process *p);

/* The thread of a slot and generation, made when new (*fresh). NULL: out of memory. */
struct process_thread *process_thread(struct process *p, uint32_t slot, uint64_t generation,
				      int *fresh);
void process_thread_drop(struct process *p, uint32_t slot, uint64_t generation);

/* By the tid that it has in the process's own eyes, once that was told; NULL: none. */
void process_thread_tell_tid(struct process *p, struct process_thread *t, int32_t tid);
struct process_thread *process_thread_by_tid(const struct process *p, int32_t tid);

/* Walk all threads; *cursor from 0; NULL at the end. */
struct process_thread *process_thread_next(struct process *p, size_t *cursor);

/* Of the worker: take what the walker counted over into @p->own. */
void process_take_counts(struct process *p);

/* Read what is new in the dictionary log. 0, or -EBADMSG once when it is malformed. */
int process_read_dictionary(struct process *p);

/* Is something unloaded since the mappings were looked at, or just now? */
int process_map_is_stale(const struct process *p);

/* Look at the mappings (again), at most so often that it costs little; @now_ns. Returns
 * the number of changes. */
int process_look(struct process *p, uint64_t now_ns);

/* Of the walker: looks which libraries there are now. */
void process_look_libraries(struct process *p);
/* Of the worker: takes over into p->libraries what was told since. */
void process_take_libraries(struct process *p);

/* A field of /proc/PID/stat by its number in proc(5); 0 = not told. */
#define STAT_PARENT 4
#define STAT_START_TIME 22
#define STAT_STACK_START 28
uint64_t process_stat_number(int proc_fd, int field);

/* The words of the command line of /proc/PID, open as @proc_fd, with blanks between; "" for one
 * that has none left, NULL with errno. Freed by the caller. */
char *process_command_line(int proc_fd);
char *process_command_line_of(pid_t pid);

/* Read a whole file below a directory; NULL with errno. Freed by the caller, terminated. */
char *process_read_file(int directory_fd, const char *name, size_t *bytes);

#endif
