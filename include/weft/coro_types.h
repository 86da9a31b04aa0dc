/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_types.h
 * A coroutine as its scheduler holds it, and how it is asked for: what the probe (weft/coro.h) and
 * libweft's side of it (weft/coro_carry.h) both know. No code and no data.
 */
#ifndef WEFT_CORO_TYPES_H
#define WEFT_CORO_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <weft/abi/ctp.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_probe_process;

/** For weft_coro_create(), read during the call only; may grow: `size` says how much is there. */
struct weft_coro_options {
	size_t size;                    /**< sizeof(struct weft_coro_options) */
	uint64_t id;                    /**< probe_id; 0 = a number that no other live one has */
	const struct weft_coro *parent; /**< who creates it; NULL = whoever runs on this thread */
	const void *site;               /**< code creating it; NULL = where create was called */
	const void *stack_low;          /**< its stack, for samples; NULL = not known */
	const void *stack_high;         /**< one past its top */
	uint32_t language;              /**< enum weft_ctp_language; 0 = C */
	uint32_t flags;                 /**< enum weft_coro_flag */
};

enum weft_coro_flag {
	WEFT_CORO_DETACHED = 1 << 0, /**< begins without context, not with its creator's */
	/** For the probe alone: the probe has made the coroutine's id. */
	WEFT_CORO_NUMBERED = 1 << 30,
	/** For the probe alone: libweft is now told of the coroutine's last suspension. */
	WEFT_CORO_ENDS = 1 << 29,
};

/** Words that libweft keeps in a coroutine (weft/coro_carry.h). */
#define WEFT_CORO_CARRY_WORDS 40

/** A coroutine as its scheduler holds it: the caller's memory, not moved between create and
 * destroy. All fields are the probe's; `id` may be read. */
struct weft_coro {
	uint64_t id;                      /**< probe_id */
	struct weft_ctp_station *station; /**< NULL = not traced by an engine */
	uint64_t next_event;              /**< n of its next event in the station */
	uint64_t last_ns;                 /**< of its last event, or birth; events never go back */
	uint64_t last_addr;               /**< where it last suspended; a resume leaves it alone */
	uint64_t woken_ns;                /**< of its newest wake, whichever thread's; 0 = none */
	uint64_t switches;                /**< events so far, traced or not */
	const void *stack_low, *stack_high;
	uint32_t generation; /**< of the station */
	uint32_t owner;      /**< the process it belongs to, as a count of forks */
	uint32_t flags;
	uint8_t state; /**< enum weft_ctp_state */
	uint8_t language;
	uint8_t holds; /**< enum weft_ctp_holds: what `bytes` are; a PAYLOAD goes with the next
			* event alone, a CONTEXT with each */
	uint8_t payload_bytes;
	uint8_t bytes[WEFT_CTP_PAYLOAD_MAX];
	uint32_t rsv;
	struct weft_coro *outer;            /**< who ran on this thread when it was resumed */
	struct weft_probe_process *process; /**< the probe of the linked object that created it */
	uint64_t carry[WEFT_CORO_CARRY_WORDS];
};

#ifdef __cplusplus
}
#endif
#endif
