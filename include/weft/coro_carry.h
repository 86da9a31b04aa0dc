/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_carry.h
 * What libweft does for coroutines, as weft/coro.h calls it: their context goes with them, and
 * their switches into the session's recording. The one symbol of it is looked for weakly, so
 * that the probe links without libweft; bindings may call it too.
 *
 * Invariant: while a coroutine runs on a thread, that thread's context (ids, trace id, tags,
 * labels; every format that is on) is the coroutine's, and what was there before lies in the
 * coroutine; else it is the other way round. Ids, trace id and tags go by copy; labels, from the
 * coroutine's first on, lie in a block of the coroutine's own, and with it its OpenTelemetry
 * record: a switch stores pointers.
 *
 * Coroutines resumed on one thread, one while another runs, lie on top of each other; each may
 * be suspended from the middle.
 *
 * Who stores: the thread that switches. The words in struct weft_coro are libweft's.
 * If the process dies anywhere here, each format shows a whole context: the one or the other.
 */
#ifndef WEFT_CORO_CARRY_H
#define WEFT_CORO_CARRY_H

#include <weft/context.h>
#include <weft/coro_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CORO_CARRY_VERSION 1

/**
 * All functions: @now_ns is CLOCK_MONOTONIC, as the probe has it. Not in signal handlers.
 * As they are called, state, last_ns and switches still tell of the event before (or of birth),
 * so that the interval that ends is known; last_addr is where it suspended, in suspend() already
 * this time's. weft_coro_wake() stores woken_ns, with or without an engine (atomically, relaxed).
 */
struct weft_coro_carry_v1 {
	uint32_t size;    /**< fields are appended, never changed */
	uint32_t version; /**< WEFT_CORO_CARRY_VERSION, or leave it alone */
	/** Before the first resume: what the calling thread's context is, it inherits. May take
	 * memory (only if there are labels). */
	void (*create)(struct weft_coro *coro, uint64_t now_ns);
	/** Its context becomes the thread's; coro->bytes become its context's prefix. Notes the
	 * wait that ends (weft_switch_record). No system call, no memory. */
	void (*resume)(struct weft_coro *coro, uint64_t now_ns);
	/** The other way, and the run that ends. When the context has changed since the last time,
	 * station->context is written anew. */
	void (*suspend)(struct weft_coro *coro, uint64_t now_ns);
	/** Gives its block back. If it runs: as suspend, first. A second time: nothing. */
	void (*destroy)(struct weft_coro *coro, uint64_t now_ns);
};

extern WEFT_API const struct weft_coro_carry_v1 weft_coro_carry_v1;

#ifdef __cplusplus
}
#endif
#endif
