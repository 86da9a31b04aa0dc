/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of the goroutines that the threads of a Go program run right now: what runtime/pprof's
 * Do and SetGoroutineLabels have set.
 *
 *	runtime.allm -> M (-> M ...)  by its tid the thread's
 *	M.curg -> G                   NULL: it runs none, but the scheduler, or waits for one
 *	G.labels -> list or map       NULL: none. Made whole before it is pointed to, never changed
 *
 * Only the thread itself changes its M and the labels of the goroutine that it runs: while it
 *stands still all of it holds. A goroutine that waits in Go (a channel, a timer, a socket) is on no
 *thread and not seen.
 *
 * Nothing that is read is believed: a goroutine counts when it names the M; all else is bounded as
 *a set of Custom Labels is, and told as one.
 */
#ifndef WEFT_READER_GO_LABELS_H
#define WEFT_READER_GO_LABELS_H

#include "reader/context/custom_labels.h"
#include "reader/context/go_threads.h"

#define GO_SPAN_KEY "span id" /* as Datadog's tracer sets them, in decimal */
#define GO_ROOT_KEY "local root span id"

/*
 * go_labels_take() - what thread @thread works for, as it is right now, into @out; @room is for
 * that. 0; -ENODATA: nothing; -ESTALE: the M is no longer that thread's; -EFAULT and others.
 */
int go_labels_take(const struct target *t, const struct go_layout *layout,
		   const struct go_thread *thread, struct custom_labels_copy *room,
		   struct live_context *out);

/* The same with a proof that it did not change meanwhile: 0, also with LIVE_TORN; -errno. @tid: as
 * we see it. */
int go_labels_read(struct settle *s, int32_t tid, const struct go_layout *layout,
		   const struct go_thread *thread, struct custom_labels_copy *room,
		   struct live_context *out);

#endif
