/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks for the bench of the drain: see drained_stacks.h. Four functions with frames of
 * different sizes call each other, by two bits of the seed at each step, on a thread with a
 * stack of its own; the innermost takes what a handler would have taken there.
 */
#include "drained_stacks.h"

#include <execinfo.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "harness.h"
#include "runtime/core/ring.h"
#include "runtime/stack/registers.h"

#define STACK_BYTES ((size_t)1 << 20)
#define DEEP_MAX 64

struct taking {
	const struct drained_kind *kind;
	struct weft_sample_record *out;
	uint64_t seed, top;
	unsigned int steps;
	uint32_t bytes;
	unsigned int frames;
};

typedef void (*step_fn)(struct taking *t, unsigned int left);

static __attribute__((noinline)) void take_frames(struct taking *t)
{
	void *pc[DEEP_MAX];
	int count = backtrace(pc, DEEP_MAX);

	t->frames = (unsigned int)count;
	t->out->frame_count = (uint32_t)count;
	memcpy(t->out + 1, pc, (size_t)count * sizeof(*pc));
	t->bytes = (uint32_t)(sizeof(*t->out) + (size_t)count * sizeof(*pc));
}

static __attribute__((noinline)) void take_copy(struct taking *t)
{
	uint64_t *registers = (uint64_t *)(t->out + 1);
	ucontext_t here;
	uint64_t from;

	getcontext(&here);
	registers_copy(registers, &here);
	from = registers_sp(&here) - RED_ZONE_BYTES;
	if (from + DRAINED_COPY_BYTES > t->top)
		return;
	t->out->register_count = REGISTER_COUNT;
	t->out->copy_address = from;
	t->out->copy_bytes = DRAINED_COPY_BYTES;
	weft_ring_copy(registers + REGISTER_COUNT, (const void *)(uintptr_t)from,
		       DRAINED_COPY_BYTES);
	t->bytes = (uint32_t)(sizeof(*t->out) + REGISTER_COUNT * sizeof(uint64_t) +
			      DRAINED_COPY_BYTES);
}

static void next_step(struct taking *t, unsigned int left);

#define STEP(name, size)                                                                           \
	static __attribute__((noinline)) void name(struct taking *t, unsigned int left)            \
	{                                                                                          \
		char frame[size];                                                                  \
                                                                                                   \
		bench_keep(frame);                                                                 \
		next_step(t, left);                                                                \
		bench_keep(frame);                                                                 \
	}

STEP(step_of_80, 80)
STEP(step_of_144, 144)
STEP(step_of_208, 208)
STEP(step_of_272, 272)

static inline __attribute__((always_inline)) void next_step(struct taking *t, unsigned int left)
{
	static const step_fn step[] = {step_of_80, step_of_144, step_of_208, step_of_272};

	if (left > 0)
		step[t->seed >> left * 2 % 64 & 3](t, left - 1);
	else if (t->kind->stack == WEFT_SAMPLE_FRAMES)
		take_frames(t);
	else
		take_copy(t);
}

static void *take(void *arg)
{
	struct taking *t = arg;

	step_of_80(t, t->steps);
	return t;
}

static void run_on(struct taking *t, void *stack)
{
	pthread_attr_t attributes;
	pthread_t thread;

	t->top = (uint64_t)(uintptr_t)stack + STACK_BYTES;
	pthread_attr_init(&attributes);
	if (pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0 &&
	    pthread_create(&thread, &attributes, take, t) == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

static uint64_t scatter(uint64_t seed)
{
	seed = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
	return seed ^ seed >> 29;
}

/* How many frames lie around the steps: the thread's start, and the innermost. */
static unsigned int other_frames(void *stack)
{
	static const struct drained_kind probe = {"", WEFT_SAMPLE_FRAMES, 0};
	_Alignas(8) uint8_t room[DRAINED_RECORD_MAX];
	struct taking t = {.kind = &probe, .out = (void *)room};

	run_on(&t, stack);
	return t.frames;
}

uint32_t drained_record(const struct drained_kind *kind, uint64_t seed,
			struct weft_sample_record *out)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	struct taking t = {.kind = kind, .out = out, .seed = scatter(seed)};
	unsigned int others;

	if (stack == MAP_FAILED)
		return 0;
	others = other_frames(stack);
	memset(out, 0, sizeof(*out));
	out->record.type = WEFT_RECORD_SAMPLE;
	out->weight = 1;
	out->engine = WEFT_ENGINE_CPU;
	out->context = WEFT_CONTEXT_TRACE;
	out->span_id = scatter(seed * 3);
	out->root_span_id = scatter(seed * 5);
	memcpy(out->trace_id, &out->span_id, sizeof(out->span_id));
	out->stack = kind->stack;
	t.steps = kind->deep > others ? kind->deep - others : 0;
	run_on(&t, stack);
	munmap(stack, STACK_BYTES);
	if (kind->stack == WEFT_SAMPLE_FRAMES && t.frames != kind->deep)
		return 0;
	out->record.bytes = t.bytes;
	return t.bytes;
}
