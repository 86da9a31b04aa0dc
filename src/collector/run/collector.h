/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector: processes join it over a socket (abi/rendezvous.h), it drains their sessions
 * and writes one recording of them all.
 *
 *	struct collector *c;
 *	int rc = collector_open(&c, &options);     the file and the socket are there
 *	... start the program with WEFT_SOCKET=collector_socket(c), LD_PRELOAD=libweft.so
 *	collector_set_root(c, pid);
 *	... wait
 *	rc = collector_finish(c, &result);          the file is complete
 *	collector_free(c);
 *
 * It has five threads, in which all signals are blocked: one hears who comes (door.h), one answers,
 * watches for ends and drains (watch.h), one looks into the processes (outside.h), one walks
 * (walk.h), one names and writes (worker.h). Functions here are called from one thread.
 */
#ifndef WEFT_COLLECTOR_H
#define WEFT_COLLECTOR_H

#include "collector/look/wall.h"
#include "collector/write/recording.h"

#include <stddef.h>
#include <sys/types.h>

struct attach_target;
struct collector;
struct outside_unsampled; /* outside.h */

/* Texts must live as long as the collector, but for the command line, which is copied. */
struct collector_options {
	const char *path;         /* of the recording; an older file is replaced */
	const char *socket;       /* path to listen at; NULL = choose a private one */
	const char *command_line; /* as it is told in the file */
	const char *version;
	uint64_t period_ns;       /* of CPU time, which the wall engine needs too */
	struct wall_options wall; /* period_ns 0: it is off; the pattern holds for both engines */
	uint32_t engines;         /* enum weft_engine: whose samples are written; 0 = cpu */
	uint32_t ring_bytes;      /* 0 = default */
	uint64_t memory_bytes;    /* for what waits to be written; 0 = default */
	uint64_t chunk_ns, chunk_bytes; /* 0 = default */
	uint64_t max_bytes, max_age_ns; /* the newest is kept; 0 = all */
	uint64_t duration_ns;           /* as it is told in the file; 0 = to the end */
	int environment;                /* jdk.InitialEnvironmentVariable, secrets redacted */
	pid_t root;                     /* the first process; 0 = told later */
	enum weft_stack_mode stack_mode;
	int inline_context;
	int no_children; /* only the root is recorded */
	int debuginfod;  /* debuginfod servers may be asked for symbols */
	enum weft_clock_choice clock;
	uint32_t tick_signal; /* SIGWINCH, else (0) SIGPROF */
	int prime_signal;     /* 0 = SIGURG, COLLECTOR_NO_SIGNAL = none, else a real-time one */
	/* Processes that run already (attach.h): their descriptors are taken over. Then there is no
	 * root. */
	struct attach_target *attach;
	size_t attach_count;
	const char *settings; /* of events: lines (base/event_settings.h); NULL = none */
	/* GLOBs of events, one a line: settings_idle has those that matched none; NULL = none. */
	const char *settings_asked;
};
#define COLLECTOR_NO_SIGNAL (-1)

/* The number of the priming signal that @o asks for; 0 = none. */
uint32_t collector_prime_signal(const struct collector_options *o);

/* Names of stack modes: those that help shows, NULL, then "check", NULL. */
extern const char *const collector_stack_modes[];
/* The enum weft_stack_mode of a name, or -EINVAL. */
int collector_stack_mode(const char *name);

/* 0, or -errno and what failed in *what: the path of the file, or a word such as "threads". */
int collector_open(struct collector **out, const struct collector_options *options,
		   const char **what);

const char *collector_socket(const struct collector *c);

/* Says who the root is: until then no process that wants to join is answered. */
void collector_set_root(struct collector *c, pid_t root);

/* The root is a zombie that is about to be waited for: reads its CPU clock a last time. (wait4(2)
 * adds the time of its children.) */
void collector_root_ends(struct collector *c, pid_t root);

/* The root has ended with this status of waitpid(2); -1 = not known. To be called before the file
 * is completed, which has it. */
void collector_root_ended(struct collector *c, int status);

/* A descriptor that becomes readable when the root has said that it exits, or has ended. */
int collector_root_fd(const struct collector *c);

/* The next warning of what was not done as asked: 1 and its text; 0: none now. From any thread. */
int collector_warning(struct collector *c, char *out, size_t room);

struct collector_progress {
	uint64_t samples, wall_samples, bytes;
	uint32_t processes, running; /* that ever joined; that still run */
	int error;                   /* of writing, so far; 0 = none */
	uint32_t waiting; /* that were attached to, and none of whose threads has run since */
	int attach_error; /* -errno of one that could not begin; 0 = none */
};
void collector_progress(const struct collector *c, struct collector_progress *out);

struct collector_result {
	struct recording_written written;
	uint32_t processes;
	uint32_t attach_execs; /* processes attached to that have become other programs */
	struct session_counts total;
	uint32_t refused;  /* processes for which no session could be made */
	int refused_error; /* and why: -errno of the last */
	uint32_t gone;     /* others, that had ended before they were answered */
	/* Threads that could not be sampled: how many, and the first OUTSIDE_UNSAMPLED_MAX of
	 * them by name. Lives as long as the collector. */
	const struct outside_unsampled *unsampled;
	size_t unsampled_count;
	/* Of settings_asked: those that named nothing, with ", " between; "" = none. */
	char settings_idle[512];
};

/* Once the file is complete: was this one of those that were refused? */
int collector_has_refused(const struct collector *c, pid_t pid);

struct collector_running {
	pid_t pid;
	char command[64];
};
/*
 * Processes that the root has started and that still run: those whose environment names our socket.
 * A forked child joins only when it uses CPU time, and a program that cannot be recorded never
 * does; both are found here. Returns how many there are; fills up to @room. Slow: it reads all of
 * /proc.
 */
size_t collector_descendants(const struct collector *c, struct collector_running *out, size_t room);

/* Stop, take all that is left, complete the file, tell targets that wait for it, end the
 * threads. 0, or -errno of the first write that failed (*out is filled then too). */
int collector_finish(struct collector *c, struct collector_result *out);
/* The same in two steps: a program that waits for its file is let go by the second. */
int collector_complete(struct collector *c, struct collector_result *out);
void collector_let_go(struct collector *c);

void collector_free(struct collector *c); /* takes NULL; removes the socket */

#endif
