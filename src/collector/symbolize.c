/* SPDX-License-Identifier: Apache-2.0 */
/* Walking: see symbolize.h; names are naming.h's. */
#include "collector/symbolize.h"

#include "collector/jit.h"
#include "collector/naming.h"
#include "elf/module.h"

#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE UNWIND_X86_64
#define PC_REGISTER 16
#define REGISTERS 17
#elif defined(__aarch64__)
#define MACHINE UNWIND_AARCH64
#define PC_REGISTER 32
#define REGISTERS 33
#else
#error "no such machine yet"
#endif

/* One walk. The addresses that the walker looked up are those that name the frames: for a
 * return address the last byte of the call. */
struct walk {
	struct symbolizer *symbolizer;
	struct process *process;
	size_t count;
	uint64_t pc[WEFT_FRAMES_MAX];
	uint64_t lookup[WEFT_FRAMES_MAX];
	size_t lookups;
};

static struct mapping *mapping_of(struct walk *w, uint64_t pc)
{
	struct mapping *m = maps_find(&w->process->maps, pc);

	if (m && !m->opened)
		modules_attach(w->symbolizer->modules, m, w->process->root_fd, w->process->proc_fd);
	return m;
}

static int find_module(void *arg, uint64_t pc, struct unwind_module *out)
{
	struct walk *w = arg;
	struct mapping *m = mapping_of(w, pc);

	if (w->lookups < WEFT_FRAMES_MAX)
		w->lookup[w->lookups++] = pc;
	if (!m)
		return -ENOENT;
	out->start = m->start;
	out->end = m->end;
	out->bias = m->bias;
	out->table = m->module ? elf_module_table(m->module) : NULL;
	return 0;
}

/* Registers first, then the copy of the stack: both were checked to lie in the record. */
static enum unwind_end walk_raw(struct walk *w, const struct weft_sample_record *sample)
{
	const uint8_t *at = (const uint8_t *)(sample + 1);
	size_t count = sample->register_count < REGISTERS ? sample->register_count : REGISTERS;
	struct unwind_registers regs = {0};
	struct unwind_memory memory = {
		.bytes = at + (size_t)sample->register_count * 8,
		.address = sample->copy_address,
		.size = sample->copy_bytes,
	};
	enum unwind_end end = UNWIND_END_NO_RULE;

	memcpy(regs.r, at, count * 8);
	regs.valid = (UINT64_C(1) << count) - 1;
	if (count > PC_REGISTER)
		regs.pc = regs.r[PC_REGISTER];
	w->lookups = 0;
	w->count =
		unwind_walk(&regs, &memory, find_module, w, MACHINE, w->pc, WEFT_FRAMES_MAX, &end);
	return end;
}

static enum unwind_end take_frames(struct walk *w, const struct weft_sample_record *sample)
{
	memcpy(w->pc, sample + 1, sample->frame_count * sizeof(*w->pc));
	w->count = w->lookups = sample->frame_count;
	for (size_t i = 0; i < w->count; i++)
		w->lookup[i] = w->pc[i] - (i > 0);
	return sample->flags & WEFT_SAMPLE_CUT ? UNWIND_END_MAX_FRAMES : UNWIND_END_OUTERMOST;
}

/* A pc in no known module: the process may have loaded one since. */
static enum unwind_end walk(struct walk *w, const struct weft_sample_record *sample,
			    uint64_t now_ns)
{
	enum unwind_end end;

	if (sample->stack != WEFT_SAMPLE_RAW)
		return take_frames(w, sample);
	end = walk_raw(w, sample);
	if (end == UNWIND_END_NO_MODULE && process_look(w->process, now_ns) > 0)
		end = walk_raw(w, sample);
	return end;
}

static void count_cut(struct process *p, const struct weft_sample_record *sample,
		      enum unwind_end end)
{
	static const uint8_t counter[UNWIND_END_COUNT] = {
		[UNWIND_END_MAX_FRAMES] = WEFT_COUNTER_CUT_MAX_FRAMES,
		[UNWIND_END_NO_MODULE] = WEFT_COUNTER_CUT_NO_MODULE,
		[UNWIND_END_NO_RULE] = WEFT_COUNTER_CUT_NO_RULE,
		[UNWIND_END_COPY_LIMIT] = WEFT_COUNTER_CUT_COPY_LIMIT,
		[UNWIND_END_BAD_READ] = WEFT_COUNTER_CUT_BAD_READ,
	};

	/* Without a stack to walk, the handler has counted the cause. */
	if (end != UNWIND_END_OUTERMOST && end < UNWIND_END_COUNT &&
	    !(sample->flags & WEFT_SAMPLE_NO_STACK))
		p->own.counter[counter[end]]++;
}

uint64_t symbolize(struct symbolizer *s, struct process *p, const struct weft_sample_record *sample,
		   uint64_t now_ns)
{
	struct walk w = {.symbolizer = s, .process = p};
	struct weft_jfr_frame frame[WEFT_FRAMES_MAX];
	enum unwind_end end = walk(&w, sample, now_ns);
	size_t count = 0;

	count_cut(p, sample, end);
	jit_moment(p->jit, &p->maps, &s->jit_budget, sample->time_ns, now_ns);
	for (size_t i = 0; i < w.count && i < w.lookups && count < WEFT_FRAMES_MAX; i++)
		count += naming_frames(s->writer, p, mapping_of(&w, w.lookup[i]), w.lookup[i],
				       frame + count, WEFT_FRAMES_MAX - count);
	return weft_jfr_stack(s->writer, frame, count, end != UNWIND_END_OUTERMOST);
}
