/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the outside thread finds of the contexts that a process publishes, for others:
 * OpenTelemetry's process context for the worker, which decodes with its key map what handlers have
 * copied, and writes down what the process says of itself; and where the variables lie for these
 * handlers. Each context that is told stays until the process is freed, and only so much is taken.
 */
#ifndef WEFT_COLLECTOR_PUBLISHED_CONTEXT_H
#define WEFT_COLLECTOR_PUBLISHED_CONTEXT_H

#include "collector/process/process.h"
#include "reader/context/otel_payload.h"

/* Of one process. */
#define PUBLISHED_CONTEXTS_MAX 256
#define PUBLISHED_BYTES_MAX (UINT64_C(1) << 20)

/* Constant once it is told. */
struct published_context {
	const struct published_context *older; /* NULL: it is the first */
	unsigned int number;                   /* from 1 */
	uint64_t bytes;                        /* of it and all older ones */
	uint64_t since_ns;                     /* when it was met */
	struct otel_payload payload;
};

/* Of the outside thread: the process context as it is now; what a record uses of its key map before
 * it is told is passed over. Nothing is done where it says what the
 * one before said; without memory that one stays. */
void process_tell_context(struct process *p, const struct otel_payload *payload, uint64_t now_ns);

/* The newest; NULL: none was told. */
const struct published_context *process_published_context(const struct process *p);

/* Where the variables lie, to p->variables and into the session's header, where anybody may write:
 * what a handler needs besides before what makes it look. */
void process_tell_variables(struct process *p, const struct weft_published *v);

/* When no thread needs them any more. */
void process_forget_contexts(struct process *p);

#endif
