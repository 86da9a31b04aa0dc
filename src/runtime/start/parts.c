/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that act when slots, sessions and forks begin or end, lowest room first. */
#include "runtime/start/start.h"

#include "runtime/context/context.h"
#include "runtime/context/labels.h"
#include "runtime/coro/coro.h"

static const struct weft_part context = {
	.copy = weft_context_copy,
};

static const struct weft_part labels = {
	.copy = weft_labels_copy,
	.forget = weft_labels_forget,
};

static const struct weft_part coroutines = {
	.copy = weft_coro_copy,
	.after_fork = weft_coro_after_fork,
};

static const struct weft_part formats = {
	.session_begins = weft_publish_header,
	.slot_changed = weft_publish_deferred,
	.slot_ends = weft_publish_withdraw,
	.after_fork = weft_publish_after_fork,
};

static const struct weft_part *const parts[] = {&context, &labels, &coroutines, &formats, NULL};

void weft_parts_begin(void)
{
	weft_rt.own_block = weft_coro_own_block;
	weft_rt.parts = parts;
}
