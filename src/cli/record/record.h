/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What weft record does: waiting for the end of a recording, and telling about it.
 *
 *   record_wait.c     while the program runs
 *   record_tell.c     what is told at the end
 *   record_attached.c --pid
 *   record_preload.c  what goes into LD_PRELOAD
 */
#ifndef WEFT_CLI_RECORD_H
#define WEFT_CLI_RECORD_H

#include "cli/frame/cli.h"
#include "collector/run/collector.h"
#include "collector/run/program.h"
#include "collector/run/unrecorded.h"
#include "collector/session/attach.h"

struct record {
	struct collector *collector;
	const struct collector_options *options;
	pid_t pid;
	int wait_all;
	int progress; /* stderr is a terminal */
	struct program_life life;

	/* in record_wait.c */
	int pid_fd, signal_fd, timer_fd;
	int interrupts; /* Ctrl-C so far */
	int ended;      /* CMD has ended; status is known */
	int finished;   /* the file is complete */
	int failed;     /* it could not be written */
	int passed_on;  /* the SIGTERM or SIGHUP that CMD was sent; 0 = none */
	int line_shown; /* a progress line stands there */
	int status;     /* exit status */
	uint64_t start_ns, leave_ns;
	uint64_t looked_ns; /* when @unrecorded was filled last */
	int is_calm;        /* the timer ticks seldom */
	struct unrecorded unrecorded;
};

/* Before the program is started: all that waiting for it needs. 0 or -errno. */
int record_prepare(struct record *r);

/* Until CMD has ended and the file is complete; returns weft's exit status. */
int record_wait(struct record *r);

/* The parts of it, for programs that are not ours (record_attached.c). */
enum record_event { RECORD_SIGNAL = 1 << 0, RECORD_TICK = 1 << 1, RECORD_END = 1 << 2 };
/* Waits until something is there, and shows warnings and progress at each tick. What is there. */
unsigned int record_poll(struct record *r);
void record_finish(struct record *r); /* the file, and what is told of it */
void record_close_fds(const struct record *r);
int record_is_time_to_look(struct record *r); /* for @unrecorded */

/* The one line at the end, hints, and what went wrong. Returns 0 or CLI_FAILED. */
int record_tell(const struct record *r, const struct collector_result *result, int rc);

/* "12.3 MiB" */
void record_size_text(uint64_t bytes, char *out, size_t room);

/* record_attached.c: programs that run already */
struct attached {
	struct attach_target *target;
	pid_t *pids; /* of the targets */
	size_t count;
	char text[32]; /* as the recording tells it: --pid PID */
};

/* The processes that --pid names; all of them, or none and an exit status with the message
 * printed. Nothing is written to them yet. */
int attached_find(struct attached *a, const struct cli_args *args, int needs_orders);
void attached_free(struct attached *a);

/* Records them until all have ended, --duration is over, or a signal comes. The collector of
 * @r is open. Returns weft's exit status. */
int attached_wait(struct record *r, const struct attached *a);

extern const char *const record_waits[]; /* choices of --waits */

/*
 * record_preload() - what LD_PRELOAD is to name, with colons between: libweft.so, and before it
 * libweft-waits.so where --waits asks for it; then WEFT_WAITS is set in our own environment, which
 * the program gets. 0, or an exit status with the message printed.
 */
int record_preload(const struct cli_args *args, char *preload, size_t bytes);

#endif
