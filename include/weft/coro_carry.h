/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_carry.h
 * What libweft does for coroutines, as weft/coro.h calls it: their context moves with them, and
 * their switches are recorded. Its one symbol is referred to weakly, so that the probe links
 * without libweft; bindings may call it too.
 *
 * Invariant: while a coroutine runs on a thread, that thread's context (ids, trace id, tags,
 * labels; every format that is on) is the coroutine's, and what was there before lies in the
 * coroutine; else it is the other way round. Ids, trace id and tags go by copy; labels, from the
 * coroutine's first on, lie in a block of the coroutine's own, and with it its OpenTelemetry
 * record: a switch stores pointers.
 *
 * Coroutines that run on one thread, each resumed while another runs, form a stack; one in the
 * middle of it may be suspended, too.
 *
 * Writer: the thread that switches. `carry` in struct weft_coro is libweft's. If the process dies
 * anywhere in between, each format shows one context or the other, whole.
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
 * When they are called, state, last_ns and switches are still those of the event before (or of
 * its birth), so that the interval that ends is known; last_addr is where it suspended, in
 * suspend() where it suspends now. weft_coro_wake() stores woken_ns (atomically, relaxed) with or
 * without an engine.
 */
struct weft_coro_carry_v1 {
	uint32_t size;    /**< fields are appended, never changed */
	uint32_t version; /**< WEFT_CORO_CARRY_VERSION, or leave it alone */
	/** Before the first resume: it inherits the calling thread's context. May allocate if there
	 * are labels. */
	void (*create)(struct weft_coro *coro, uint64_t now_ns);
	/** Its context becomes the thread's; coro->bytes become its context's prefix. Records the
	 * wait that ends (weft_switch_record). No system call, no allocation. */
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
