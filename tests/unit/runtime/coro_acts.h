/* SPDX-License-Identifier: Apache-2.0 */
/* What a coroutine does, said to libweft as the probe says it; and what the thread then shows. */
#ifndef TESTS_UNIT_RUNTIME_CORO_ACTS_H
#define TESTS_UNIT_RUNTIME_CORO_ACTS_H

#include <string.h>

#include <weft/coro_carry.h>
#include <weft/labels.h>

#include "label_value.h"
#include "runtime/core/runtime.h"
#include "unit.h"

#define CARRY (&weft_coro_carry_v1)

static inline uint64_t count(enum weft_counter counter)
{
	uint64_t sum = weft_rt.header->counters[counter];

	for (uint32_t i = 0; i < weft_rt.header->slots_high; i++)
		sum += weft_rt_slot(i)->counters[counter];
	return sum;
}

static inline struct weft_coro *born(struct weft_coro *coro, uint64_t id, uint32_t flags)
{
	memset(coro, 0, sizeof(*coro));
	coro->id = id;
	coro->flags = flags;
	coro->stack_low = (const void *)(uintptr_t)(id << 20);
	coro->stack_high = (const void *)(uintptr_t)((id << 20) + 4096);
	CARRY->create(coro, 1);
	return coro;
}

static inline void resume(struct weft_coro *coro)
{
	CARRY->resume(coro, 2);
	coro->state = WEFT_CTP_RUNNING;
}

static inline void suspend(struct weft_coro *coro)
{
	CARRY->suspend(coro, 3);
	coro->state = WEFT_CTP_SUSPENDED;
}

static inline void destroy(struct weft_coro *coro)
{
	CARRY->destroy(coro, 4);
	coro->state = WEFT_CTP_DEAD;
}

static inline uint64_t span(void)
{
	return weft_context_get().span_id;
}

static inline int nothing_at_first(void **state)
{
	(void)state;
	assert_non_null(weft_thread_own_slot());
	weft_labels_clear();
	weft_context_clear();
	return 0;
}

#endif
