/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file prepared.h
 * Contexts with their labels, prepared once and then attached by pointer: for work that goes on
 * and off threads, such as the tasks of a thread pool, or futures that are polled.
 *
 *     struct weft_prepared *p = weft_context_prepare(&context, labels, count);  // a request begins
 *
 *     struct weft_attached before;                                              // each time that
 *     weft_context_attach(&before, p);                                          // it has a thread
 *     ...
 *     weft_context_detach(&before);
 *
 *     weft_context_free(p);                                                     // it has ended
 *
 * To attach a prepared context is the same as to enter a scope and to write context and labels in
 * it as one (weft_scope_enter(), weft_context_update() with WEFT_UPDATE_REPLACE); to detach is the
 * same as to leave the scope. Only ids are copied: the labels that readers see, and OpenTelemetry's
 * record, are those of the prepared context, in every format that is on. Tags stay as they are.
 *
 * Who owns what. A prepared context belongs to whoever has prepared it, until it is freed. It never
 * changes: any number of threads may have it attached at once. Labels and ids that a thread sets
 * meanwhile are the thread's, and gone when it detaches (the first such write, and the detaching
 * then, cost what a scope with labels costs). It may be freed while it is attached: what threads
 * and their readers see of it stays until the last of them has detached; but it must not be
 * attached any more. A forked child has its parent's prepared contexts, and what its thread had
 * attached.
 *
 * Threads and signals: weft_context_prepare() and weft_context_free() may be called on any thread;
 * they take a lock of the process, and may make a system call. Attaching and detaching act on the
 * calling thread: no allocation, no lock, no system call, except at the thread's first use of weft
 * (and a coroutine's, as for its first label). None of the four is for signal handlers; handlers
 * may write contexts at any time, as ever (weft/context.h). They leave errno unchanged.
 */
#ifndef WEFT_PREPARED_H
#define WEFT_PREPARED_H

#include <weft/labels.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A context with its labels. Opaque. */
struct weft_prepared;

/** What weft_context_attach() found. Opaque; the caller's memory, and may be moved (not copied). */
struct weft_attached {
	struct weft_scope scope;
} __attribute__((aligned(16)));

/**
 * weft_context_prepare() - makes a context that can be attached.
 * @context: ids, trace id and flags; NULL: none. Its tags are not looked at. Not kept.
 * @labels, @count: its labels, each one's result is filled in: SET, UPDATED (the key came before;
 *                  the later value holds), REMOVED (it came before, and has no value now),
 *                  TRUNCATED, ABSENT (no value), NO_ROOM (a thread holds
 *                  no more), RESERVED, INVALID. Not kept. May be NULL, 0.
 *
 * Returns NULL if there is no memory, or weft does not work in this process: what is then attached
 * is nothing. Takes the next power of two above 300 bytes and, per label, 32 bytes, its key, and
 * its value twice.
 */
WEFT_API struct weft_prepared *weft_context_prepare(const struct weft_context *context,
						    struct weft_label *labels, size_t count);

/** weft_context_free() - nobody attaches @prepared any more (see above). May be NULL. */
WEFT_API void weft_context_free(struct weft_prepared *prepared);

/**
 * weft_context_attach() - the thread works for @prepared until weft_context_detach().
 * @before: takes what the thread had.
 * @prepared: NULL: the thread's own context stays; there is still something to be detached.
 *
 * A thread's first one costs as much as a scope with labels. Attachments and scopes of a thread
 * nest, last in first out.
 */
WEFT_API void weft_context_attach(struct weft_attached *before,
				  const struct weft_prepared *prepared);

/** weft_context_detach() - back to what @before holds. A second call does nothing. */
WEFT_API void weft_context_detach(struct weft_attached *before);

#ifdef __cplusplus
}
#endif
#endif
