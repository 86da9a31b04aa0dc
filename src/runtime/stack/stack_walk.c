/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with their frames: the handler walks its thread's stack in place, by the rules that
 * module_map.c finds, straight into the ring. The walker is that of src/unwind.
 *
 * Only stacks whose bounds are known are walked: the alternate signal stack, the coroutine's, the
 * thread's; nothing below the red zone at SP is read. Beyond a signal frame the walk goes on at the
 * interrupted SP. How far down the main thread's stack is mapped is unknown, and that SP was read
 * from memory, not from a register: one counted read of ourselves checks it first.
 *
 * In the modes that copy, a walk that met something unknown is replaced by a copy.
 */
#include "runtime/stack/stack.h"

#include "runtime/stack/module_map.h"
#include "runtime/stack/registers.h"
#include "unwind/walk_body.h"

#if defined(__x86_64__)
#define MACHINE UNWIND_X86_64
#define PC_REGISTER 16
#define PRESERVED X86_64_PRESERVED
#else
#define MACHINE UNWIND_AARCH64
#define PC_REGISTER 32
#define PRESERVED AARCH64_PRESERVED
#endif

struct walk {
	struct map_view map;
	struct unwind_memory memory;
	const struct stack_take *take;
};

static void set_readable_stack(struct unwind_memory *memory, const struct stack_view *view)
{
	memory->bytes = (const uint8_t *)(uintptr_t)view->from;
	memory->address = view->from;
	memory->size = view->known ? view->to - view->from : 0;
	memory->next = NULL;
}

static int stack_walk_is_mapped(const struct stack_take *take, uint64_t address)
{
	uint64_t word;

	if (!(take->slot->thread.flags & WEFT_SLOT_MAIN))
		return 1;
	return take->uc && weft_stack_self_read(take->slot, &word, address, sizeof(word)) != 0;
}

/* After a signal frame the walk may be on another stack than the alternate one. */
RARELY void crossed(void *arg, const struct unwind_registers *regs)
{
	struct walk *walk = arg;
	const struct unwind_memory *memory = &walk->memory;
	uint64_t sp = regs->r[unwind_sp_register(MACHINE)];
	struct stack_view view;

	if (sp - memory->address < memory->size)
		return;
	view = weft_stack_find(walk->take->slot, walk->take->uc, sp);
	if (view.known && stack_walk_is_mapped(walk->take, view.from))
		set_readable_stack(&walk->memory, &view);
}

INLINE int stack_find_rule(void *arg, uint64_t pc, const struct unwind_rule **rule)
{
	struct walk *walk = arg;

	return weft_map_rule(&walk->map, pc, rule);
}

INLINE int find_none(void *arg, uint64_t pc, const struct unwind_rule **rule)
{
	(void)arg, (void)pc;
	*rule = NULL;
	return 1;
}

static void take_registers(struct unwind_registers *regs, const ucontext_t *uc)
{
	registers_copy(regs->r, uc);
	regs->pc = regs->r[PC_REGISTER];
	regs->valid = BIT(PC_REGISTER) - 1;
}

static void set_caller_registers(struct unwind_registers *regs,
				 const struct weft_event_caller *caller)
{
	registers_of_caller(regs->r, caller);
	regs->pc = regs->r[PC_REGISTER];
	regs->valid = PRESERVED | BIT(unwind_sp_register(MACHINE));
}

static uint64_t first_pc(const struct stack_take *take)
{
	return take->uc ? registers_pc(take->uc) : take->caller->pc;
}

/* For handlers, which know all registers; each walk is compiled for itself. */
static __attribute__((noinline)) uint32_t walk_by_rules(struct walk *walk, uint64_t *pcs,
							uint32_t max, enum unwind_end *end)
{
	static const struct unwind_walker walker = {.find = stack_find_rule, .crossed = crossed};
	struct unwind_registers regs;

	take_registers(&regs, walk->take->uc);
	return (uint32_t)walk_stack(&regs, &walk->memory, &walker, walk, MACHINE, pcs, max, end);
}

static __attribute__((noinline)) uint32_t walk_callers(struct walk *walk, uint64_t *pcs,
						       uint32_t max, enum unwind_end *end)
{
	static const struct unwind_walker walker = {.find = stack_find_rule, .crossed = crossed};
	struct unwind_registers regs;

	set_caller_registers(&regs, walk->take->caller);
	return (uint32_t)walk_stack(&regs, &walk->memory, &walker, walk, MACHINE, pcs, max, end);
}

static __attribute__((noinline)) uint32_t walk_by_frame_pointers(struct walk *walk, uint64_t *pcs,
								 uint32_t max, enum unwind_end *end)
{
	static const struct unwind_walker walker = {.find = find_none};
	struct unwind_registers regs;

	if (LIKELY(walk->take->uc != NULL))
		take_registers(&regs, walk->take->uc);
	else
		set_caller_registers(&regs, walk->take->caller);
	return (uint32_t)walk_stack(&regs, &walk->memory, &walker, walk, MACHINE, pcs, max, end);
}

/* Outcome of a walk: its frames are good, or why a copy is better. */
enum verdict { WALK_GOOD = 0, WALK_NO_MAP, WALK_NO_MODULE, WALK_STALE };

static void stack_walk_finish(struct weft_sample_record *sample, const struct walk *walk,
			      uint32_t count, enum unwind_end end)
{
	sample->frame_count = count;
	sample->end = (uint8_t)end;
	if (end == UNWIND_END_MAX_FRAMES)
		sample->flags |= WEFT_SAMPLE_CUT;
	if (!walk->take->view.known)
		sample->flags |= WEFT_SAMPLE_NO_STACK;
}

/* Keeps frames up to the first doubtful one, whose pc is good, for its callee's rule was. */
static enum verdict cut_stale(struct weft_sample_record *sample, const struct walk *walk,
			      uint32_t good)
{
	sample->flags |= WEFT_SAMPLE_STALE_MAP;
	stack_walk_finish(sample, walk, good + 1, UNWIND_END_NO_MODULE);
	return WALK_STALE;
}

/* A frame pointer may lead to an address that is no code: then the stack ends there, and a copy
 * would give no more. A loaded module without a table is code. */
static int ended_at_a_miss(const struct walk *walk, enum unwind_end end)
{
	return end == UNWIND_END_NO_MODULE ||
	       (end == UNWIND_END_NO_RULE && weft_map_is_behind(&walk->map));
}

static enum verdict walk_by_map(struct walk *walk, struct weft_sample_record *sample, uint64_t *pcs,
				uint32_t max)
{
	enum unwind_end end;
	uint32_t count, good;

	if (!weft_map_open(&walk->map)) {
		pcs[0] = first_pc(walk->take);
		stack_walk_finish(sample, walk, 1, UNWIND_END_NO_MODULE);
		return WALK_NO_MAP;
	}
	sample->map_number = walk->map.number;
	count = walk->take->uc ? walk_by_rules(walk, pcs, max, &end)
			       : walk_callers(walk, pcs, max, &end);
	good = weft_map_confirm(&walk->map, pcs, count);
	if (walk->map.miss == MAP_CHANGED || !weft_map_holds(&walk->map))
		return cut_stale(sample, walk, 0);
	if (good < count)
		return cut_stale(sample, walk, good);
	stack_walk_finish(sample, walk, count, end);
	if (walk->map.miss == MAP_FOUND || !ended_at_a_miss(walk, end))
		return WALK_GOOD;
	return walk->map.miss == MAP_NO_TABLE ? WALK_NO_MAP : WALK_NO_MODULE;
}

static enum verdict walk_into(const struct stack_take *take, struct weft_sample_record *sample,
			      uint64_t *pcs, uint32_t max)
{
	struct walk walk = {.take = take};
	enum unwind_end end;
	uint32_t count;

	set_readable_stack(&walk.memory, &take->view);
	if (take->mode != WEFT_STACK_FP)
		return walk_by_map(&walk, sample, pcs, max);
	count = walk_by_frame_pointers(&walk, pcs, max, &end);
	stack_walk_finish(sample, &walk, count, end);
	return WALK_GOOD;
}

int weft_stack_frames(const struct stack_take *take, struct weft_sample_record *sample,
		      uint64_t *pcs, uint32_t max)
{
	sample->flags = take->view.flags;
	return walk_into(take, sample, pcs, max) == WALK_GOOD;
}

uint32_t weft_stack_frames_bytes(const struct ring *ring)
{
	return weft_stack_frames_max(weft_ring_record_max(ring) / 4 / 8) * 8;
}

static struct weft_sample_record *copy_instead(const struct stack_take *take, enum verdict why)
{
	static const enum weft_counter cause[] = {
		[WALK_NO_MAP] = WEFT_COUNTER_COPIED_NO_MAP,
		[WALK_NO_MODULE] = WEFT_COUNTER_COPIED_NO_MODULE,
		[WALK_STALE] = WEFT_COUNTER_COPIED_STALE_MAP,
	};
	struct weft_sample_record *sample = weft_stack_copy(take);

	if (!sample)
		return NULL;
	weft_slot_count(take->slot, cause[why], 1);
	if (why == WALK_STALE)
		sample->flags |= WEFT_SAMPLE_STALE_MAP;
	return sample;
}

/* If there is no room for a copy, the frames found so far stay. */
struct weft_sample_record *weft_stack_walk(const struct stack_take *take)
{
	uint32_t room = weft_stack_frames_bytes(&take->ring);
	struct weft_sample_record *sample, *copy;
	enum verdict verdict;

	sample = weft_ring_reserve(&take->ring, (uint32_t)sizeof(*sample) + room + take->beside);
	if (!sample)
		return NULL;
	weft_sample_clear(sample);
	sample->stack = WEFT_SAMPLE_FRAMES;
	sample->flags = take->view.flags;
	verdict = walk_into(take, sample, (uint64_t *)(sample + 1), room / 8);
	if (verdict != WALK_GOOD && take->mode == WEFT_STACK_AUTO) {
		copy = copy_instead(take, verdict);
		if (copy)
			return copy;
	}
	sample->record.bytes = (uint32_t)sizeof(*sample) + sample->frame_count * 8;
	if (sample->flags & WEFT_SAMPLE_NO_STACK)
		weft_slot_count(take->slot, WEFT_COUNTER_CUT_NO_BOUNDS, 1);
	weft_slot_count(take->slot, WEFT_COUNTER_STACK_WALKED, 1);
	return sample;
}

/* No frames are added where AUTO would copy: there is nothing to compare. */
void weft_stack_check(const struct stack_take *take, struct weft_sample_record *sample)
{
	uint64_t *pcs = (uint64_t *)(void *)((uint8_t *)sample + sample->record.bytes);
	uint32_t max = weft_stack_frames_bytes(&take->ring) / 8;
	uint16_t flags = sample->flags;

	if (!take->view.known || walk_into(take, sample, pcs, max) != WALK_GOOD) {
		sample->flags = flags;
		sample->frame_count = 0;
		sample->end = 0;
		return;
	}
	sample->flags =
		(uint16_t)(flags | WEFT_SAMPLE_CHECK | (sample->flags & WEFT_SAMPLE_STALE_MAP));
	sample->record.bytes += sample->frame_count * 8;
	weft_slot_count(take->slot, WEFT_COUNTER_STACK_WALKED, 1);
}
