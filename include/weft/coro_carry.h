/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_carry.h
 * What libweft does for coroutines when weft/coro.h calls it: their context moves with them, and
 * their switches are recorded. The probe refers weakly to the one symbol, so that it links
 * without libweft; bindings may call it too.
 *
 * Invariant: while a coroutine runs on a thread, that thread's context (ids, trace id, tags,
 * labels; every format that is on) is the coroutine's, and what was there before lies in the
 * coroutine; else it is the other way round. Ids, trace id and tags go by copy; labels, from the
 * coroutine's first on, lie in a block of the coroutine's own, and with it its OpenTelemetry
 * record: a switch stores pointers.
 *
 * Coroutines that run on one thread, each resumed while another runs, form a stack; also one in
 * its middle may be suspended.
 *
 * Writer: the thread that switches. `carry` in struct weft_coro is libweft's. If the process dies
 * during a switch, each format shows one of the two contexts, whole.
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
 * All functions: @now_ns is CLOCK_MONOTONIC, as the probe read it. Not in signal handlers.
 * When they are called, state, last_ns and switches of @coro are still those of the event before
 * (or of its birth), so that the interval that ends is known; last_addr is where it suspended last,
 * in suspend() where it suspends now. weft_coro_wake() stores woken_ns (atomically, relaxed) with
 * or without an engine.
 */
struct weft_coro_carry_v1 {
	uint32_t size;    /**< fields are appended, never changed */
	uint32_t version; /**< if it is not WEFT_CORO_CARRY_VERSION, call nothing */
	/** Before the first resume: it inherits the calling thread's context. May allocate if there
	 * are labels. */
	void (*create)(struct weft_coro *coro, uint64_t now_ns);
	/** Its context becomes the thread's, and coro->bytes a struct weft_ctp_context_prefix of
	 * it. Records the wait that ends (struct weft_switch_record). No allocation, and no
	 * system call but at a thread's first (it takes its slot). */
	void (*resume)(struct weft_coro *coro, uint64_t now_ns);
	/** The reverse, and records the run that ends. If the context has changed since the last
	 * time, station->context is written again. */
	void (*suspend)(struct weft_coro *coro, uint64_t now_ns);
	/** Frees its block. If it runs, it is suspended first. A second call does nothing. */
	void (*destroy)(struct weft_coro *coro, uint64_t now_ns);
};

extern WEFT_API const struct weft_coro_carry_v1 weft_coro_carry_v1;

#ifdef __cplusplus
}
#endif
#endif
