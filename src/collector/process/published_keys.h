/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the outside thread finds of the contexts that a process publishes, for others: the key map
 * of OpenTelemetry's for the worker, which decodes what handlers have copied, and where the
 * variables lie for these handlers. A key map only grows while its publisher keeps to the rules;
 * each that is told stays until the process is left, and only so many are taken.
 */
#ifndef WEFT_COLLECTOR_PUBLISHED_KEYS_H
#define WEFT_COLLECTOR_PUBLISHED_KEYS_H

#include "collector/process/process.h"
#include "reader/context/otel_payload.h"

#define PUBLISHED_KEYS_MAX 256 /* maps of one process */

/* Of the outside thread. Without memory the older map stays. */
void process_tell_keys(struct process *p, const struct otel_payload *payload);

/* The newest; NULL: none was told. Only its keys are there. */
const struct otel_payload *process_keys(const struct process *p);

/* Where the variables lie, to p->variables and into the session's header, where anybody may write:
 * what a handler needs besides before what makes it look. */
void process_tell_variables(struct process *p, const struct weft_published *v);

/* Of process_leave(). */
void process_forget_keys(struct process *p);

#endif
