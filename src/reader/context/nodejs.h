/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread context in Node.js (abi/otel_nodejs_context.h) in another process: a walk
 * over V8's heap, from the thread's variable to the record that the asynchronous context has which
 * runs there. The walk is the header's; it is made anew for each reading, bounded, and whole only
 * while the thread stands still, which the caller proves.
 */
#ifndef WEFT_READER_NODEJS_H
#define WEFT_READER_NODEJS_H

#include "reader/context/otel_record.h"

#include <weft/abi/otel_nodejs_context.h>

/* What the process says of its heap's layout, or, where it says nothing, the usual one. 0;
 * -ENOTSUP: one that is not read, as that of a V8 with compressed pointers. */
int nodejs_layout(const struct otel_payload *process, uint32_t *layout);

/*
 * nodejs_copy() - the record of the thread that has its variable at @variable, as it is right now:
 * 0; -ENODATA: none runs there, or it says that it is not valid; -EBADMSG: the walk came to
 * something else; -EAGAIN: to a table that is being replaced; -EFAULT, -ESRCH, -EPERM.
 */
int nodejs_copy(const struct target *t, uint64_t variable, uint32_t layout, struct otel_copy *out);

/* The same, proved, for thread @tid: as nodejs_copy() says, or 0 and torn (*is_torn). */
int nodejs_read(struct settle *s, int32_t tid, uint64_t variable, uint32_t layout,
		struct otel_copy *room, int *is_torn);

#endif
