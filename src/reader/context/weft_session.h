/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts from a session of weft's (abi/session.h), read where the process has it mapped: so it
 * makes no difference who made the session, and whether anybody still has its descriptor. Only
 * what the process has touched is read, so that its memory does not grow.
 */
#ifndef WEFT_READER_WEFT_SESSION_H
#define WEFT_READER_WEFT_SESSION_H

#include "reader/context/custom_labels.h"
#include "reader/target/live.h"
#include "reader/target/settle.h"
#include "reader/target/target.h"

#include <weft/abi/session.h>

struct weft_session;

/*
 * weft_session_find() - 0 and *out; -ENOENT: carries no weft; -EXDEV: only the session of the
 * process that it was forked from; -EPROTO: one that this weft does not understand; -errno.
 * @inside_pid: the process's number in its own namespace.
 */
int weft_session_find(struct weft_session **out, const struct target *t, int32_t inside_pid);
void weft_session_free(struct weft_session *s); /* takes NULL */

/* A private copy, of the newest weft_session_look(); its layout is checked. */
const struct weft_session_header *weft_session_header(const struct weft_session *s);
int weft_session_shows_v1(const struct weft_session *s);

/* Header and the list of living threads anew. 0 or -errno. */
int weft_session_look(struct weft_session *s);

/*
 * weft_session_read() - the context of the thread whose number is @inside_tid in its process's
 * namespace, and @tid in ours. 0, -ENODATA: it has no slot or no context; -errno.
 */
int weft_session_read(struct weft_session *s, struct settle *settle, int32_t tid,
		      int32_t inside_tid, struct custom_labels_copy *room,
		      struct live_context *out);

/* For custom_labels_read() and otel_record_read(): the address of ext.seq of the slot that holds
 * this set or record, or whose thread runs the coroutine whose block does; 0: no slot does. @arg:
 * the session, or NULL. */
uint64_t weft_session_seq_of(void *arg, uint64_t address);

#endif
