/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other libraries publish of a process's threads for readers outside: OpenTelemetry's thread
 * context, Node.js's form of it, and Custom Labels v1, whoever writes them, and the labels of Go's
 * goroutines, read with src/reader for samples that are taken from outside. Where the variables lie
 * is told to the process's handlers, and the process context to the worker
 * (process/published_context.h).
 *
 *   writes   the thread itself, in its own memory; at each instruction it is whole, or says that it
 *            is not (a pointer that is NULL, valid = 0)
 *   reads    the outside thread, once for each look, while the thread stands still: so one reading
 *            is enough. That it stood still the caller proves, and else drops what was read
 *            (wall_look.c, wall_delay.c)
 *   dies     nothing of the libraries' is changed: a process, thread or library that goes
 *            leaves addresses that cannot be read, which is an error of one look
 *   lies     every address and length is the process's word: the reader bounds them all, and what
 *            can be had of a set is what a record of a sample holds (abi/session.h)
 *
 * Where the variables are is looked for when the process's mappings have changed (a library came by
 * dlopen), and how often these are read is bounded by what it costs.
 *
 * Precedence: weft's own context, then OpenTelemetry's, Custom Labels, Go's. The first that has a
 * span or a trace gives the ids. Of one that tells another span or trace than those before it
 * nothing is taken, and that is counted. Otherwise it adds what they lack: a trace, a root span,
 * and, where the thread has no labels of weft's, labels under keys that are not there.
 */
#ifndef WEFT_COLLECTOR_PUBLISHED_H
#define WEFT_COLLECTOR_PUBLISHED_H

#include "collector/process/label_sets.h"
#include "collector/process/process.h"

/* Whose contexts count: --context-from. */
enum published_from {
	PUBLISHED_AUTO = 0, /* all, as above; Go's by this alone */
	PUBLISHED_WEFT,     /* weft's own alone */
	PUBLISHED_OTEL,
	PUBLISHED_LABELS,
};

/* What is remembered of a thread; zeroed at first. */
struct published_thread {
	uint64_t pointer; /* where its thread-local variables are counted from; 0 = not known */
	uint64_t due_ns, pause_ns; /* when that is asked again */
	int32_t inside_tid;        /* as the process itself has it; 0 = not known yet */
};

struct published; /* of one process */

/* NULL: out of memory. @p and @counts must live longer: what is taken is
 * counted there. published_free() takes NULL. */
struct published *published_new(struct process *p, enum published_from from,
				struct session_counts *counts);
void published_free(struct published *p);

/* Looks for what is new, if that is due: 1 when a variable has come or gone. Takes NULL, which
 * publishes nothing. */
int published_look(struct published *p, uint64_t now_ns);

/*
 * published_add() - to @sample, and to the @bytes of @labels that it has (LABEL_BYTES_MAX fit),
 * what thread @tid, which stands still, publishes. Returns how many bytes of labels there are then.
 */
int published_add(struct published *p, struct published_thread *t, int32_t tid,
		  struct weft_sample_record *sample, uint8_t *labels, int bytes);

#endif
