/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is started to be traced, and what its engine does while it runs: signals, the
 * program's end and the engine's own set are waited for together.
 */
#ifndef WEFT_CLI_CORO_TARGET_H
#define WEFT_CLI_CORO_TARGET_H

#include "collector/run/program.h"
#include "coro/engine/engine.h"

#include <stdio.h>
#include <sys/types.h>

struct coro_target {
	struct coro_engine *engine;
	pid_t pid;         /* 0 = none: an engine that took over */
	int ended, status; /* its exit status, 128 + n of a signal */
	int pid_fd, signal_fd;
	int interrupts, passed_on;
	uint64_t leave_ns, give_up_ns;
	struct program_life life;
};

/* Before the engine is opened: signals are read from a descriptor from here on. 0 or -errno. */
int coro_target_prepare(struct coro_target *t);
/* Runs @argv with the engine's variables in its environment. 0 or -errno of the exec. */
int coro_target_start(struct coro_target *t, char **argv);
/* Until it has ended (none: until what is traced has), or a signal says to go. 0 or -errno. */
int coro_target_wait(struct coro_target *t);
/* The engine's is_enough(), of a target: 1 when a signal comes now, or a while after one that said
 * to leave. */
int coro_target_is_enough(void *arg);
void coro_target_close(struct coro_target *t);

/* Why the engine cannot have a path: errors that say the same wherever it is named. CLI_FAILED. */
int coro_tell_refused(const char *path, int rc);
/* Statistics: text for people on stderr, JSON for programs into @path. */
void coro_tell(const struct coro_engine_result *result, uint32_t stations);
int coro_tell_json(const struct coro_books *books, const char *path);
/* Before the work: CLI_DONE, or why statistics cannot be put there; @trace takes a name, too. */
int coro_tell_check(const char *path, const char *trace);
/* One object in a line. 0 or -errno. */
int coro_put_books(FILE *out, const struct coro_books *books);

#endif
