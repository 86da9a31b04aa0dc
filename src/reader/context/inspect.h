/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a process and the contexts that they have right now, in every format that is
 * found there: weft's session, OpenTelemetry's thread context (Node.js's, too), Custom Labels v1,
 * Go's labels.
 *
 * Nothing in the process is changed. Without INSPECT_STOP nothing is stopped, either: what cannot
 * be read whole is told as torn (settle.h). With it each thread is stopped in turn, for the time
 * of one reading (thread_stop.h).
 */
#ifndef WEFT_READER_INSPECT_H
#define WEFT_READER_INSPECT_H

#include "reader/context/go_labels.h"
#include "reader/context/nodejs.h"
#include "reader/context/otel_process.h"
#include "reader/context/otel_record.h"
#include "reader/context/variables.h"
#include "reader/context/weft_session.h"
#include "reader/target/live.h"
#include "reader/target/settle.h"
#include "reader/tls/tls.h"

#define INSPECT_CONTEXTS (2 + 3 * VARIABLE_PLACES)

enum inspect_flag {
	INSPECT_STOP = 1 << 0,
};

/* Why a process cannot be looked at. */
enum inspect_verdict {
	INSPECT_FINE = 0,
	INSPECT_GONE,          /* there is no such process */
	INSPECT_THREAD,        /* a thread; other = its process */
	INSPECT_ZOMBIE,        /* it has ended, and waits for its parent to take note */
	INSPECT_KERNEL_THREAD, /* has no memory of its own */
	INSPECT_DENIED,        /* another user's, or has more rights */
	INSPECT_YAMA,          /* kernel.yama.ptrace_scope forbids it */
	INSPECT_32_BIT,
	INSPECT_FAILED, /* error says why */
};

enum inspect_trouble {
	INSPECT_NONE = 0,
	INSPECT_NO_POINTER, /* where the thread begins is not to be told without stopping it */
	INSPECT_NOT_STOPPED,
};

struct inspect_thread {
	int32_t tid;
	char name[16];
	enum inspect_trouble trouble;
	size_t count; /* of its contexts */
	struct live_context context[INSPECT_CONTEXTS];
};

struct inspect {
	int32_t pid, inside_pid; /* in our PID namespace, and in its own */
	unsigned int flags;
	const char *root_key; /* of otel's attributes; the caller's */
	struct target *target;
	char name[16];
	char *command; /* NULL: cannot be had */

	struct weft_session *session; /* NULL: none */
	int session_error;            /* -ENOENT: carries no weft; others as weft_session_find() */
	struct otel_process otel;
	struct published_variable otel_thread, nodejs, labels;
	uint32_t nodejs_layout;
	int nodejs_error; /* 0, or -ENOTSUP: a layout that is not read */
	uint64_t modules; /* digest of the mappings in which the variables were looked for */

	struct go_program go;
	struct go_threads go_threads; /* while it can be read */

	struct inspect_thread *thread; /* by tid */
	size_t count, room, made;      /* made: how many hold memory that is to be freed */
	struct settle settle;
	struct custom_labels_copy *labels_room;
	struct otel_copy *otel_room;
};

/* INSPECT_FINE and *out, or why not: *other, *error where they tell more. */
enum inspect_verdict inspect_open(struct inspect **out, int32_t pid, unsigned int flags,
				  const char *root_key, int32_t *other, int *error);
void inspect_close(struct inspect *i); /* takes NULL */

/* All threads anew. 0; -ESRCH: the process has ended; -errno. */
int inspect_look(struct inspect *i);

/* A sentence without a full stop. */
void inspect_explain(enum inspect_verdict verdict, int32_t other, int error, char *out,
		     size_t room);

#endif
