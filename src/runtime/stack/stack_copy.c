/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw samples: registers, and the stack from the red zone up, copied for the collector to walk.
 */
#include "runtime/stack/stack.h"

#include <signal.h>
#include <sys/uio.h>

#include "runtime/core/sys.h"
#include "runtime/stack/registers.h"

#define FIXED_BYTES ((uint32_t)(sizeof(struct weft_sample_record) + REGISTER_COUNT * 8))

static int stack_copy_is_within(uint64_t sp, uint64_t low, uint64_t high)
{
	return low != 0 && sp >= low && sp < high;
}

static struct stack_view stack_copy_view_of(uint64_t sp, uint64_t low, uint64_t high,
					    uint16_t flags)
{
	uint64_t from = (sp - RED_ZONE_BYTES) & ~UINT64_C(7);

	return (struct stack_view){.from = from < low ? sp & ~UINT64_C(7) : from,
				   .to = high,
				   .flags = flags,
				   .known = 1};
}

struct stack_view weft_stack_find(const struct weft_slot *slot, const ucontext_t *uc, uint64_t sp)
{
	const struct weft_slot_events *e = &slot->events;
	uint64_t alt_low = uc ? (uint64_t)(uintptr_t)uc->uc_stack.ss_sp : 0;
	uint64_t alt_high = uc ? alt_low + uc->uc_stack.ss_size : 0;

	if (uc && !(uc->uc_stack.ss_flags & SS_DISABLE) &&
	    stack_copy_is_within(sp, alt_low, alt_high))
		return stack_copy_view_of(sp, alt_low, alt_high, WEFT_SAMPLE_ALT_STACK);
	if (stack_copy_is_within(sp, e->coroutine_stack_low, e->coroutine_stack_high))
		return stack_copy_view_of(sp, e->coroutine_stack_low, e->coroutine_stack_high, 0);
	if (stack_copy_is_within(sp, slot->thread.stack_low, slot->thread.stack_high))
		return stack_copy_view_of(sp, slot->thread.stack_low, slot->thread.stack_high, 0);
	return (struct stack_view){.from = sp & ~UINT64_C(7), .to = UINT64_MAX};
}

uint32_t weft_stack_self_read(struct weft_slot *slot, void *to, uint64_t from, uint32_t bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
	long got;

	if (weft_rt_is_careful())
		return 0;
	got = sys_call6(SYS_process_vm_readv, weft_rt.pid, SYS_ARG(&local), 1, SYS_ARG(&remote), 1,
			0);
	weft_slot_count(slot, WEFT_COUNTER_STACK_SELF_READ, 1);
	return got > 0 ? (uint32_t)got & ~7u : 0;
}

static uint32_t copy_unknown(struct weft_slot *slot, void *to, struct stack_view *view,
			     uint32_t bytes)
{
	uint32_t got = weft_stack_self_read(slot, to, view->from - RED_ZONE_BYTES, bytes);

	if (got) {
		view->from -= RED_ZONE_BYTES;
		view->flags |= WEFT_SAMPLE_SELF_READ;
		return got;
	}
	got = weft_stack_self_read(slot, to, view->from, bytes);
	view->flags |= got ? WEFT_SAMPLE_SELF_READ : WEFT_SAMPLE_NO_STACK;
	if (!got)
		weft_slot_count(slot, WEFT_COUNTER_CUT_NO_BOUNDS, 1);
	return got;
}

static void copy_stack(const struct stack_take *take, struct weft_sample_record *sample,
		       uint32_t bytes)
{
	uint8_t *to = (uint8_t *)sample + FIXED_BYTES;
	struct stack_view view = take->view;

	if (view.known)
		weft_ring_copy(to, (const void *)(uintptr_t)view.from, bytes);
	else
		bytes = copy_unknown(take->slot, to, &view, bytes);
	sample->copy_address = view.from;
	sample->copy_bytes = bytes;
	sample->flags = view.flags;
	if (view.to - view.from > bytes && !(view.flags & WEFT_SAMPLE_NO_STACK))
		sample->flags |= WEFT_SAMPLE_CUT;
}

struct weft_sample_record *weft_stack_copy(const struct stack_take *take)
{
	uint32_t frames = take->mode == WEFT_STACK_CHECK ? weft_stack_frames_bytes(&take->ring) : 0;
	uint32_t beside = FIXED_BYTES + frames + take->beside;
	uint32_t bytes = weft_stack_copy_bytes(take->view.to - take->view.from,
					       weft_ring_record_max(&take->ring) - beside);
	struct weft_sample_record *sample = weft_ring_reserve(&take->ring, bytes + beside);

	if (!sample)
		return NULL;
	weft_sample_clear(sample);
	sample->stack = WEFT_SAMPLE_RAW;
	sample->register_count = REGISTER_COUNT;
	registers_copy((uint64_t *)(sample + 1), take->uc);
	copy_stack(take, sample, bytes);
	sample->record.bytes = FIXED_BYTES + sample->copy_bytes;
	weft_slot_count(take->slot, WEFT_COUNTER_STACK_COPIED, 1);
	return sample;
}
