/* SPDX-License-Identifier: Apache-2.0 */
/* All threads of a process and their contexts: see inspect.h. */
#include "reader/context/inspect.h"

#include "base/array.h"
#include "proc/process_file.h"
#include "reader/target/thread_stop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_BYTES_MAX 4095
#define STOPS 40
#define STOP_PAUSE_NS 200000
#define EXEC_LOOKS 50
#define EXEC_PAUSE_NS 1000000

void inspect_close(struct inspect *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->made; k++)
		for (size_t c = 0; c < INSPECT_CONTEXTS; c++)
			live_free(&i->thread[k].context[c]);
	free(i->thread);
	settle_close(&i->settle);
	weft_session_free(i->session);
	otel_process_free(&i->otel);
	go_threads_free(&i->go_threads);
	if (i->target)
		target_close(i->target);
	free(i->labels_room);
	free(i->otel_room);
	free(i->command);
	free(i);
}

/* ---- what the process as a whole publishes */

static int look_at_session(struct inspect *i)
{
	int rc = i->session ? weft_session_look(i->session) : -ENOENT;

	if (rc == 0)
		return 0;
	weft_session_free(i->session);
	i->session = NULL;
	rc = weft_session_find(&i->session, i->target, i->inside_pid);
	if (rc == 0)
		rc = weft_session_look(i->session);
	if (rc) {
		weft_session_free(i->session);
		i->session = NULL;
	}
	i->session_error = rc;
	return rc == -ESRCH || rc == -ENOMEM ? rc : 0;
}

static int look_at_go(struct inspect *i)
{
	go_program_find(i->target, &i->go);
	i->go_threads.count = 0;
	return i->go.state == GO_READABLE ? go_threads_read(i->target, &i->go, &i->go_threads) : 0;
}

/* ---- its threads */

static int inspect_add_thread(void *arg, int32_t tid)
{
	struct inspect *i = arg;
	struct inspect_thread *grown =
		array_grown(i->thread, i->count + 1, &i->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	i->thread = grown;
	if (i->count == i->made)
		i->thread[i->made++] = (struct inspect_thread){.tid = 0};
	i->thread[i->count].tid = tid;
	i->thread[i->count].count = 0;
	i->thread[i->count].trouble = INSPECT_NONE;
	i->count++;
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct inspect_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Only the last newline is not part of the name. */
static void inspect_set_name(char *name, size_t room, const char *text, ssize_t bytes)
{
	if (bytes > 0 && text[bytes - 1] == '\n')
		bytes--;
	snprintf(name, room, "%.*s", bytes > 0 ? (int)bytes : 0, text);
}

static void read_name(const struct inspect *i, struct inspect_thread *t)
{
	char text[32];
	ssize_t n = proc_read_task(i->target->proc_fd, t->tid, "comm", text, sizeof(text));

	inspect_set_name(t->name, sizeof(t->name), text, n);
}

/* Name and command of the process, which an exec changes. */
static void read_names(struct inspect *i)
{
	char text[32];
	ssize_t n = proc_read(i->target->proc_fd, "comm", text, sizeof(text));

	inspect_set_name(i->name, sizeof(i->name), text, n);
	free(i->command);
	i->command = process_command_line(i->target->proc_fd);
	if (i->command)
		i->command[strnlen(i->command, COMMAND_BYTES_MAX)] = 0;
}

/* The thread's id in its own PID namespace; 0 = not known. */
static int32_t inspect_inside_tid(const struct inspect *i, int32_t tid)
{
	char text[4096];

	if (i->inside_pid == i->pid)
		return tid;
	proc_read_task(i->target->proc_fd, tid, "status", text, sizeof(text));
	return pid_innermost(text, 0, NULL);
}

static struct live_context *next_context(struct inspect_thread *t)
{
	return &t->context[t->count];
}

/* 0, also when there is nothing; -ESRCH, -EPERM: no more can be had of this thread. */
static int inspect_add_context(struct inspect_thread *t, int rc, enum live_abi abi)
{
	if (rc == -EFAULT || rc == -EBADMSG) {
		live_begin(next_context(t), abi);
		next_context(t)->flags |= LIVE_UNREADABLE;
		rc = 0;
	}
	if (rc == 0)
		t->count++;
	return rc == -ENODATA ? 0 : rc;
}

static int read_weft(struct inspect *i, struct inspect_thread *t)
{
	int rc;

	if (!i->session || !weft_session_shows_v1(i->session))
		return 0;
	rc = weft_session_read(i->session, &i->settle, t->tid, inspect_inside_tid(i, t->tid),
			       i->labels_room, next_context(t));
	return inspect_add_context(t, rc, LIVE_WEFT);
}

/* A key of the record may have been published after the key map was read. */
static void decode_record(struct inspect *i, struct inspect_thread *t)
{
	const struct otel_copy *copy = i->otel_room;
	const struct otel_payload *keys = &i->otel.payload;

	if (otel_record_knows_more(copy->record, copy->bytes, keys))
		otel_process_refresh(i->target, &i->otel);
	otel_record_decode(copy->record, copy->bytes, keys, i->root_key, next_context(t));
}

static int read_record(struct inspect *i, struct inspect_thread *t, uint64_t variable)
{
	int is_torn = 0, rc;

	rc = otel_record_read(&i->settle, t->tid, variable, weft_session_seq_of, i->session,
			      i->otel_room, &is_torn);
	if (rc == 0 && is_torn) {
		live_begin(next_context(t), LIVE_OTEL);
		next_context(t)->flags |= LIVE_TORN;
	} else if (rc == 0) {
		decode_record(i, t);
	}
	return inspect_add_context(t, rc, LIVE_OTEL);
}

static int read_nodejs(struct inspect *i, struct inspect_thread *t, uint64_t variable)
{
	int is_torn = 0, rc;

	rc = nodejs_read(&i->settle, t->tid, variable, i->nodejs_layout, i->otel_room, &is_torn);
	if (rc == 0 && is_torn) {
		live_begin(next_context(t), LIVE_NODEJS);
		next_context(t)->flags |= LIVE_TORN;
	} else if (rc == 0) {
		decode_record(i, t);
		next_context(t)->abi = LIVE_NODEJS;
	}
	return inspect_add_context(t, rc, LIVE_NODEJS);
}

static int read_labels(struct inspect *i, struct inspect_thread *t, uint64_t variable)
{
	int rc = custom_labels_read(&i->settle, t->tid, variable, weft_session_seq_of, i->session,
				    i->labels_room, next_context(t));

	return inspect_add_context(t, rc, LIVE_CUSTOM_LABELS);
}

static int read_variable(struct inspect *i, struct inspect_thread *t,
			 const struct published_variable *v, uint64_t pointer,
			 int (*read)(struct inspect *i, struct inspect_thread *t,
				     uint64_t variable))
{
	uint64_t at[VARIABLE_PLACES];
	int rc = variable_addresses(i->target, v, pointer, at);

	for (int k = 0; k < v->count && rc == 0; k++)
		rc = at[k] ? read(i, t, at[k]) : 0;
	return rc;
}

static int read_variables(struct inspect *i, struct inspect_thread *t, int is_stopped)
{
	uint64_t pointer = 0;
	int rc;

	if (i->otel_thread.count + i->nodejs.count + i->labels.count == 0)
		return 0;
	rc = is_stopped ? thread_pointer_of_stopped(t->tid, &pointer)
			: thread_pointer_find(i->target, t->tid, &pointer);
	if (rc == -ENOTSUP || rc == -EPERM) {
		t->trouble = t->trouble ? t->trouble : INSPECT_NO_POINTER;
		return 0;
	}
	if (rc == 0)
		rc = read_variable(i, t, &i->otel_thread, pointer, read_record);
	if (rc == 0 && !i->nodejs_error)
		rc = read_variable(i, t, &i->nodejs, pointer, read_nodejs);
	if (rc == 0)
		rc = read_variable(i, t, &i->labels, pointer, read_labels);
	return rc;
}

static int read_go(struct inspect *i, struct inspect_thread *t)
{
	const struct go_thread *thread;
	int rc;

	if (!i->go_threads.count)
		return 0;
	thread = go_threads_find(&i->go_threads, inspect_inside_tid(i, t->tid));
	if (!thread)
		return 0;
	rc = go_labels_read(&i->settle, t->tid, i->go.layout, thread, i->labels_room,
			    next_context(t));
	return inspect_add_context(t, rc == -ESTALE ? -ENODATA : rc, LIVE_GO);
}

/* @is_stopped: by us. */
static int read_thread(struct inspect *i, struct inspect_thread *t, int is_stopped)
{
	int rc;

	i->settle.is_stopped = is_stopped;
	t->count = 0;
	rc = read_weft(i, t);
	if (rc == 0)
		rc = read_variables(i, t, is_stopped);
	return rc ? rc : read_go(i, t);
}

static int has_torn(const struct inspect_thread *t)
{
	for (size_t c = 0; c < t->count; c++)
		if (t->context[c].flags & LIVE_TORN)
			return 1;
	return 0;
}

/*
 * A thread that is stopped in the middle of a write may run on a little: longer each time, since on
 * a busy machine it may not have run at all before it is stopped again.
 */
static int read_stopped(struct inspect *i, struct inspect_thread *t)
{
	int rc = 0;

	for (int k = 0; k < STOPS && rc == 0; k++) {
		struct stopped_thread stopped;

		rc = thread_stop(t->tid, &stopped);
		if (rc)
			break;
		t->count = 0;
		rc = read_thread(i, t, 1);
		thread_let_go(&stopped);
		if (!has_torn(t))
			break;
		nanosleep(&(struct timespec){0, STOP_PAUSE_NS * (k + 1)}, NULL);
	}
	return rc;
}

static int inspect_look_at_thread(struct inspect *i, struct inspect_thread *t)
{
	int rc = -EBUSY;

	read_name(i, t);
	if (i->flags & INSPECT_STOP) {
		rc = read_stopped(i, t);
		if (rc == -EBUSY || rc == -EPERM)
			t->trouble = INSPECT_NOT_STOPPED;
	}
	return rc == -EBUSY || rc == -EPERM ? read_thread(i, t, 0) : rc;
}

/* Removes a thread that has ended; its buffers are kept behind the last. */
static void drop_thread(struct inspect *i, size_t at)
{
	struct inspect_thread gone = i->thread[at];

	memmove(&i->thread[at], &i->thread[at + 1], (i->count - at - 1) * sizeof(gone));
	i->thread[--i->count] = gone;
}

static int look_at_threads(struct inspect *i)
{
	int rc;

	i->count = 0;
	rc = target_threads(i->target, inspect_add_thread, i);
	if (i->count)
		qsort(i->thread, i->count, sizeof(*i->thread), compare_threads);
	for (size_t k = 0; k < i->count && rc == 0;) {
		rc = inspect_look_at_thread(i, &i->thread[k]);
		if (rc == -ESRCH && target_is_there(i->target) == 0) {
			drop_thread(i, k);
			rc = 0;
		} else {
			k++;
		}
	}
	settle_close(&i->settle);
	return rc;
}

static int inspect_look_once(struct inspect *i)
{
	int rc = target_refresh(i->target);

	if (rc == 0)
		rc = look_at_session(i);
	if (rc == 0) {
		read_names(i);
		otel_process_find(i->target, &i->otel);
		i->nodejs_error = nodejs_layout(&i->otel.payload, &i->nodejs_layout);
		variables_find(i->target, &i->otel_thread, &i->nodejs, &i->labels, &i->modules);
		rc = look_at_go(i);
	}
	if (rc == 0)
		rc = look_at_threads(i);
	return rc == 0 && i->count == 0 ? -ESRCH : rc;
}

static int is_zombie(const struct inspect *i)
{
	char text[1024];
	const char *state;

	proc_read(i->target->proc_fd, "stat", text, sizeof(text));
	state = proc_stat_field(text, STAT_STATE);
	return !state || strchr("ZX", *state);
}

/* In the middle of an exec a process may seem to have no threads, or no memory. */
int inspect_look(struct inspect *i)
{
	const struct timespec pause = {0, EXEC_PAUSE_NS};
	int rc = inspect_look_once(i);

	for (int k = 0; k < EXEC_LOOKS && rc == -ESRCH; k++) {
		thread_stop_owed();
		if (target_is_there(i->target) || is_zombie(i))
			break;
		nanosleep(&pause, NULL);
		rc = inspect_look_once(i);
	}
	return rc;
}
