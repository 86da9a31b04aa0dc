/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file context.h
 * Says what the current thread works for: span, root span, trace id, tags. Every sample that weft
 * takes of it has these. Without a recording they are in memory, where any reader finds them.
 *
 * All functions act on the calling thread only. They may be called on any thread at any
 * time, from signal handlers too unless said otherwise. They print nothing and leave errno
 * unchanged. A thread's first call claims its slot (system calls, about a microsecond); later
 * ones are a few stores, without a system call, an allocation, a lock or a full barrier.
 * A thread that can get no slot keeps no context (counter context_slotless).
 *
 * Formats: weft/abi/context_v1.h (64 bytes) and weft/abi/session.h (the slot around it). Every
 * write also updates the other formats that are on (weft/publish.h); then it is a function call.
 * Labels: weft/labels.h.
 * Link with libweft (-lweft) or libweft.a. Plain C11 and C++ with GNU attributes.
 */
#ifndef WEFT_CONTEXT_H
#define WEFT_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <weft/abi/session.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API __attribute__((visibility("default")))

/** Define WEFT_LATE in code that dlopen loads (with libweft-late.so): there may be no room for TLS
 * of the initial-exec model. */
#ifdef WEFT_LATE
#define WEFT_TLS_MODEL
#else
#define WEFT_TLS_MODEL __attribute__((tls_model("initial-exec")))
#endif

/** Tags per thread. Each is an interned string under a name registered once. */
#define WEFT_TAGS WEFT_CONTEXT_V1_TAGS

/** A pair of ids; 0 = none. */
struct weft_ids {
	uint64_t span_id;
	uint64_t root_span_id;
};

/** The whole context of a thread. */
struct weft_context {
	uint64_t span_id;         /**< 0 = none */
	uint64_t root_span_id;    /**< the local root span; 0 = none */
	uint8_t trace_id[16];     /**< W3C byte order; zeros = none */
	uint32_t trace_flags;     /**< W3C trace flags */
	uint32_t tags[WEFT_TAGS]; /**< ids from weft_tag_intern(); 0 = unset */
};

/** What weft_scope_enter() saves. Opaque; lives on the caller's stack. */
struct weft_scope {
	struct weft_slot *slot;
	uint64_t record[8];    /* the v1 record as it was, even in the middle of a write */
	uint64_t extension[5]; /* seq, v1_checksum, trace id, flags + label generation */
	int done;
	uint32_t labels_saved;  /* a bit per label that the scope around this one has saved */
	uint64_t labels_number; /* this scope's, among those of its thread or coroutine */
};

/** The calling thread's slot; NULL before its first use. Read by outside readers too. */
extern WEFT_API __thread struct weft_slot *weft_thread_slot WEFT_TLS_MODEL;

/**
 * Points at 0 in a child that has not noticed yet that weft_thread_slot is its parent's (a word
 * in memory that fork wipes); else at WEFT_GUARD_OWN, and further bits where context writes have
 * more to do than a v1 record.
 */
extern WEFT_API const uint32_t *weft_fork_guard;
#define WEFT_GUARD_OWN 1u
#define WEFT_GUARD_PUBLISHES 2u /**< other formats follow the v1 record */

/** Out of line: claims a slot for the thread (or a private one in a forked child). */
WEFT_API struct weft_slot *weft_thread_claim(void);

/** The calling thread's own slot, claimed if need be; NULL: none to be had. */
static inline struct weft_slot *weft_thread_own_slot(void)
{
	struct weft_slot *slot = weft_thread_slot;

	if (__builtin_expect(slot != NULL && *weft_fork_guard, 1))
		return slot;
	return weft_thread_claim();
}

/** Is there a slot, and nothing to do for a write but its v1 record? */
static inline int weft_context_is_plain(const struct weft_slot *slot)
{
	return __builtin_expect(slot != NULL && *weft_fork_guard == WEFT_GUARD_OWN, 1) != 0;
}

/** Out of line: the same as weft_context_set(), in all formats, for any thread. */
WEFT_API struct weft_ids weft_context_set_all(uint64_t span_id, uint64_t root_span_id);

/**
 * weft_context_set() - the thread now works for this span.
 * @span_id, @root_span_id: any values; 0, 0 = nothing.
 *
 * Returns the ids from before, so that one more call restores them. The trace id is unchanged, but
 * a sample has it only together with the ids that it was written with. Tags are unchanged. Four
 * release stores; about a nanosecond.
 */
static inline struct weft_ids weft_context_set(uint64_t span_id, uint64_t root_span_id)
{
	struct weft_slot *slot = weft_thread_slot;
	struct weft_ids old = {0, 0};
	struct weft_context_v1 *v1;

	if (!weft_context_is_plain(slot))
		return weft_context_set_all(span_id, root_span_id);
	v1 = &slot->context;
	old.span_id = __atomic_load_n(&v1->span_id, __ATOMIC_RELAXED);
	old.root_span_id = __atomic_load_n(&v1->root_span_id, __ATOMIC_RELAXED);
	__atomic_store_n(&v1->checksum, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&v1->span_id, span_id, __ATOMIC_RELEASE);
	__atomic_store_n(&v1->root_span_id, root_span_id, __ATOMIC_RELEASE);
	__atomic_store_n(&v1->checksum, weft_context_v1_checksum(span_id, root_span_id),
			 __ATOMIC_RELEASE);
	return old;
}

/** Out of line: the same as weft_context_set_trace(), in all formats, for any thread. */
WEFT_API void weft_context_set_trace_all(uint64_t span_id, uint64_t root_span_id,
					 const uint8_t *trace_id, uint32_t trace_flags);

/** The stores of weft_context_set_trace(). 0: a handler wrote in between, and seq is still odd. */
static inline int weft_context_store_trace(struct weft_slot *slot, uint64_t span_id,
					   uint64_t root_span_id, const uint8_t *trace_id,
					   uint32_t trace_flags)
{
	uint64_t sum = weft_context_v1_checksum(span_id, root_span_id), seq, words[2];
	uint64_t *trace = (uint64_t *)(void *)slot->ext.trace_id;

	__builtin_memcpy(words, trace_id, sizeof(words));
	seq = (__atomic_load_n(&slot->ext.seq, __ATOMIC_RELAXED) + 1) | 1;
	__atomic_store_n(&slot->ext.seq, seq, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->context.checksum, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->context.span_id, span_id, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->context.root_span_id, root_span_id, __ATOMIC_RELEASE);
	__atomic_store_n(&trace[0], words[0], __ATOMIC_RELEASE);
	__atomic_store_n(&trace[1], words[1], __ATOMIC_RELEASE);
	__atomic_store_n(&slot->ext.trace_flags, trace_flags, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->ext.v1_checksum, sum, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->context.checksum, sum, __ATOMIC_RELEASE);
	/* Did a signal handler write in between, and not put back what it found? */
	if (__builtin_expect(__atomic_load_n(&slot->ext.seq, __ATOMIC_RELAXED) != seq, 0))
		return 0;
	__atomic_store_n(&slot->ext.seq, seq + 1, __ATOMIC_RELEASE);
	return 1;
}

/**
 * weft_context_set_trace() - ids, trace id and flags; tags stay.
 * @trace_id: 16 bytes, W3C byte order; zeros = none. Not kept.
 * @trace_flags: W3C trace flags.
 *
 * Ten release stores. Use it where a span begins, and weft_context_set() to return to ids that
 * were written with this trace id.
 */
static inline void weft_context_set_trace(uint64_t span_id, uint64_t root_span_id,
					  const uint8_t *trace_id, uint32_t trace_flags)
{
	struct weft_slot *slot = weft_thread_slot;

	if (!weft_context_is_plain(slot) ||
	    !weft_context_store_trace(slot, span_id, root_span_id, trace_id, trace_flags))
		weft_context_set_trace_all(span_id, root_span_id, trace_id, trace_flags);
}

/**
 * weft_context_set_trace_flags() - the sampling decision came late: other W3C trace flags for the
 * ids and the trace id that the thread has. Without a trace id nobody sees them.
 *
 * Readers see the flags change alone. A scope that was entered before puts back the flags from
 * before. In handlers, too.
 */
WEFT_API void weft_context_set_trace_flags(uint32_t trace_flags);

/** weft_context_get() - the ids that the thread set last; zeros if there are none. */
static inline struct weft_ids weft_context_get(void)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct weft_ids ids = {0, 0};

	if (__builtin_expect(slot != NULL, 1)) {
		ids.span_id = __atomic_load_n(&slot->context.span_id, __ATOMIC_RELAXED);
		ids.root_span_id = __atomic_load_n(&slot->context.root_span_id, __ATOMIC_RELAXED);
	}
	return ids;
}

/** Out of line: the same as weft_context_get(). */
WEFT_API struct weft_ids weft_context_get_all(void);

/** weft_context_clear() - clears ids, trace id and tags. Labels stay. */
WEFT_API void weft_context_clear(void);

/**
 * weft_context_write() - the whole context at once: ids, trace id, flags, tags.
 * @context: read during the call only. A tag id of 0 unsets the tag.
 * A reader sees all of the old context, all of the new one, or that it is being written.
 */
WEFT_API void weft_context_write(const struct weft_context *context);

/**
 * weft_context_read() - what a sample taken now would carry.
 * @context: filled in; zeros where nothing is known.
 * Returns an enum weft_sample_context: NONE, IDS or TRACE; BUSY or BAD only in a signal handler
 * that interrupted a write; SLOTLESS if the thread has no slot.
 */
WEFT_API int weft_context_read(struct weft_context *context);

/**
 * weft_scope_enter() - saves the thread's context, then writes @context (NULL: changes nothing).
 * @scope: the caller's memory until weft_scope_leave(). It may be moved, as guards of C++ and Rust
 * are.
 */
WEFT_API void weft_scope_enter(struct weft_scope *scope, const struct weft_context *context);

/**
 * weft_scope_enter_here() - the same for a scope that is not moved. If a longjmp leaves it without
 * weft_scope_leave(), weft finds that out when another scope is entered in its place, or when the
 * thread calls from higher up its stack: the labels that it has saved then belong to the scope
 * around it, and later scopes use its memory.
 */
WEFT_API void weft_scope_enter_here(struct weft_scope *scope, const struct weft_context *context);

/**
 * weft_scope_leave() - restores everything that weft_scope_enter() found: ids, trace id, flags,
 * tags, and labels (those that were changed meanwhile). Scopes of a thread nest, last in first out.
 * A second call does nothing. If a signal handler has interrupted a context write, and enters and
 * leaves a scope, that write goes on as if nothing had happened. In a forked child it restores the
 * child's own context.
 */
WEFT_API void weft_scope_leave(struct weft_scope *scope);

/** For WEFT_SCOPE(). */
static inline struct weft_scope *weft_scope_begin(struct weft_scope *scope,
						  const struct weft_context *context)
{
	weft_scope_enter_here(scope, context);
	return scope;
}

#define WEFT_PASTE_(a, b) a##b
#define WEFT_PASTE(a, b) WEFT_PASTE_(a, b)
#define WEFT_SCOPE_NAMED(name, once, context)                                                      \
	for (struct weft_scope name __attribute__((cleanup(weft_scope_leave))),                    \
	     *once = weft_scope_begin(&name, context);                                             \
	     once; once = NULL)

/**
 * WEFT_SCOPE(context) { ... } - runs a block in a context, and restores the one from before on
 * every way out of it: its end, break, goto, return (and C++ exceptions), but not longjmp. `break`
 * and `continue` leave only the block, not a loop around it: use goto for that. After a longjmp ids
 * and labels stay as they are until a scope around it ends.
 */
#define WEFT_SCOPE(context)                                                                        \
	WEFT_SCOPE_NAMED(WEFT_PASTE(weft_scope_at_, __LINE__),                                     \
			 WEFT_PASTE(weft_scope_once_, __LINE__), context)

/**
 * weft_tag_name() - gives tag @n (0 .. WEFT_TAGS - 1) a name, such as "route".
 * Returns 0, -EINVAL (number out of range, name empty or over 255 bytes), -ENOMEM, -ENOSPC (the
 * dictionary is full), or -EBUSY (it has another name already). Call it once, at start; it takes a
 * lock of the process, so not in signal handlers.
 */
WEFT_API int weft_tag_name(unsigned int n, const char *name);

/**
 * weft_tag_intern() - the id of a string, the same for the same bytes as long as the process lives,
 * and in its forked children. 0: NULL, over 4096 bytes, or the dictionary is full (1 MiB; counter
 * dict_full). Takes a lock of the process, so not in signal handlers; call it once, and keep the
 * id.
 */
WEFT_API uint32_t weft_tag_intern(const char *string);

/**
 * weft_tag_set() - sets tag @n of the thread to @id (0 = unset). Two release stores.
 * Returns the id from before; 0 also if @n is out of range.
 */
static inline uint32_t weft_tag_set(unsigned int n, uint32_t id)
{
	struct weft_slot *slot;
	uint32_t old;

	if (__builtin_expect(n >= WEFT_TAGS, 0))
		return 0;
	slot = weft_thread_own_slot();
	if (__builtin_expect(slot == NULL, 0))
		return 0;
	old = __atomic_load_n(&slot->context.tags[n], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->context.tags[n], id, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->ext.seq, __atomic_load_n(&slot->ext.seq, __ATOMIC_RELAXED) + 2,
			 __ATOMIC_RELEASE);
	return old;
}

/** Out of line: the same as weft_tag_set(). */
WEFT_API uint32_t weft_tag_set_all(unsigned int n, uint32_t id);

#ifdef __cplusplus
}
#endif
#endif
