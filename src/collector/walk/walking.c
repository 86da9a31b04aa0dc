/* SPDX-License-Identifier: Apache-2.0 */
/* Walking: see walking.h; names are naming.h's. */
#include "collector/walk/walking.h"

#include "collector/walk/frame_scan.h"
#include "collector/walk/jit.h"
#include "collector/walk/process_walk.h"
#include "elf/module.h"

#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE UNWIND_X86_64
#define PC_REGISTER 16
#define SP_REGISTER 7
#define REGISTERS 17
#elif defined(__aarch64__)
#define MACHINE UNWIND_AARCH64
#define PC_REGISTER 32
#define SP_REGISTER 31
#define REGISTERS 33
#else
#error "no such machine yet"
#endif

/* Of an event's stack; the others only samples have. */
#define EVENT_STACK_FLAGS                                                                          \
	(WEFT_SAMPLE_CUT | WEFT_SAMPLE_ALT_STACK | WEFT_SAMPLE_NO_STACK | WEFT_SAMPLE_STALE_MAP)

/* A stack as it was captured, with a sample or an event: every length was checked. */
struct captured_stack {
	uint64_t time_ns;
	struct weft_event_stack head;
	const uint8_t *bytes; /* registers and the copy, or frames: abi/session.h */
};

/* One walk. The addresses that the walker looked up are those that name the frames: for a
 * return address the last byte of the call. */
struct walk {
	struct walking *walking;
	struct process *process;
	uint32_t map_number; /* of the snapshot that is to be believed; 0 = go by the time */
	uint64_t time_ns;    /* of the stack */
	size_t count;
	uint64_t pc[WEFT_FRAMES_MAX];
	uint64_t lookup[WEFT_FRAMES_MAX];
	size_t lookups;
	uint8_t check, scanned; /* of struct walked_stack */
};

const struct code walked_jit_code = {"", "[jit]", NULL};

/* The same file's mapping in /proc/PID/maps, which can be opened even where its path cannot; else
 * @told, the one that the program's log has. */
static struct mapping *as_mapped(const struct walk *w, struct mapping *told, uint64_t pc)
{
	struct mapping *mapped = maps_find(&w->process->walk->maps, pc);

	if (mapped && mapped->inode && mapped->inode == told->inode &&
	    mapped->start >= told->start && mapped->end <= told->end)
		return mapped;
	return told;
}

/*
 * What lay at @pc when the sample was taken. If the process has told of a module there, that
 * decides. Else the mappings do, unless they were read before a module there was unloaded.
 */
static struct mapping *find_by_time(const struct walk *w, uint64_t pc)
{
	struct process *p = w->process;
	struct mapping *m = NULL;
	uint64_t gone_ns = 0;

	switch (loads_find(&p->walk->loads, pc, w->time_ns, &m, &gone_ns)) {
	case LOADS_FOUND:
		return as_mapped(w, m, pc);
	case LOADS_UNSURE:
		return NULL;
	case LOADS_NOTHING:
		break;
	}
	return gone_ns > p->walk->maps_ns ? NULL : maps_find_then(&p->walk->maps, pc, w->time_ns);
}

static struct mapping *mapping_of(const struct walk *w, uint64_t pc)
{
	struct mapping *m = w->map_number ? maps_find_at(&w->process->walk->maps, pc, w->map_number)
					  : find_by_time(w, pc);

	if (m && !m->opened)
		modules_attach(w->walking->modules, m, w->process->root_fd, w->process->proc_fd);
	return m;
}

/* Its unwind table, built now if no snapshot needed it yet. */
static const struct unwind_table *table_of(const struct walk *w, const struct mapping *m)
{
	if (!m || !m->file)
		return NULL;
	modules_table(w->walking->modules, m->file, 0);
	return m->file->table;
}

static int find_quietly(void *arg, uint64_t pc, struct unwind_module *out)
{
	const struct walk *w = arg;
	struct mapping *m = mapping_of(w, pc);

	if (!m)
		return -ENOENT;
	out->start = m->start;
	out->end = m->end;
	out->bias = m->bias;
	out->table = table_of(w, m);
	return 0;
}

static int walking_find_module(void *arg, uint64_t pc, struct unwind_module *out)
{
	struct walk *w = arg;

	if (w->lookups < WEFT_FRAMES_MAX)
		w->lookup[w->lookups++] = pc;
	return find_quietly(w, pc, out);
}

/* ---- stacks of which only pc and sp are known */

static int read_code(void *arg, uint64_t address, void *out, size_t bytes)
{
	const struct mapping *m = mapping_of(arg, address);

	return m && m->file && m->has_bias
		       ? elf_module_read(m->file->elf, address - m->bias, out, bytes)
		       : -ENOENT;
}

static int walking_find_entry(void *arg, uint64_t pc, uint64_t *start)
{
	const struct mapping *m = mapping_of(arg, pc);

	if (!m || !m->file || !m->has_bias ||
	    elf_module_entry(m->file->elf, pc - m->bias, start) != 0)
		return -ENOENT;
	*start += m->bias;
	return 0;
}

static enum unwind_end walk_from(struct walk *w, struct unwind_registers *regs,
				 const struct unwind_memory *memory)
{
	enum unwind_end end = UNWIND_END_NO_RULE;

	w->lookups = 0;
	w->count = unwind_walk(regs, memory, walking_find_module, w, MACHINE, w->pc,
			       WEFT_FRAMES_MAX, &end);
	return end;
}

/*
 * Where the walk cannot go on without the frame pointer, one is looked for on the stack. No frame
 * up to there has changed the register, so it had that value from the beginning: with it all is
 * walked anew.
 */
static enum unwind_end walk_outside(struct walk *w, const struct unwind_registers *first,
				    const struct unwind_memory *memory)
{
	const int fp = unwind_fp_register(MACHINE);
	struct frame_scan scan = {MACHINE, memory, find_quietly, read_code, walking_find_entry, w};
	struct unwind_registers regs = *first;
	enum unwind_end end = walk_from(w, &regs, memory);
	uint64_t found;

	if (end != UNWIND_END_NO_RULE || regs.valid >> fp & 1 || w->count != w->lookups)
		return end;
	if (frame_scan(&scan, &regs, w->count <= 1, &found) == 0) {
		regs = *first;
		regs.r[fp] = found;
		regs.valid |= UINT64_C(1) << fp;
		w->scanned = 1;
		return walk_from(w, &regs, memory);
	}
	if (MACHINE != UNWIND_AARCH64 || w->count != 1)
		return end;
	w->count += frame_scan_chain(&scan, first->r[SP_REGISTER], w->pc + 1, WEFT_FRAMES_MAX - 1);
	w->scanned = w->count > 1;
	for (size_t i = 1; i < w->count; i++)
		w->lookup[i] = w->pc[i] - 1;
	w->lookups = w->count;
	return end;
}

/* ---- stacks */

/* Registers first, then the copy. */
static enum unwind_end walk_raw(struct walk *w, const struct captured_stack *stack)
{
	size_t count =
		stack->head.register_count < REGISTERS ? stack->head.register_count : REGISTERS;
	struct unwind_registers regs = {0};
	struct unwind_memory memory = {
		.bytes = stack->bytes + (size_t)stack->head.register_count * 8,
		.address = stack->head.copy_address,
		.size = stack->head.copy_bytes,
	};

	memcpy(regs.r, stack->bytes, count * 8);
	regs.valid = (UINT64_C(1) << count) - 1;
	if (count > PC_REGISTER)
		regs.pc = regs.r[PC_REGISTER];
	if (!(stack->head.sample_flags & WEFT_SAMPLE_OUTSIDE))
		return walk_from(w, &regs, &memory);
	regs.valid = UINT64_C(1) << SP_REGISTER;
	return walk_outside(w, &regs, &memory);
}

/* Is the pc of this frame's caller exact, because a signal interrupted it there? */
static int is_signal_frame(const struct walk *w, uint64_t pc)
{
	const struct mapping *m = mapping_of(w, pc);
	const struct unwind_table *table = table_of(w, m);
	const struct unwind_rule *rule = table ? unwind_table_find(table, pc - m->bias) : NULL;

	return rule && (rule->cfa == UNWIND_CFA_SIGNAL || rule->flags & UNWIND_RULE_EXACT);
}

static enum unwind_end walking_end_of(const struct captured_stack *stack)
{
	return stack->head.end < UNWIND_END_COUNT ? (enum unwind_end)stack->head.end
						  : UNWIND_END_NO_RULE;
}

/* The handler has walked the stack itself. */
static enum unwind_end take_frames(struct walk *w, const struct captured_stack *stack)
{
	int exact = 1;

	w->map_number = stack->head.map_number;
	memcpy(w->pc, stack->bytes, stack->head.frame_count * sizeof(*w->pc));
	w->count = w->lookups = stack->head.frame_count;
	for (size_t i = 0; i < w->count; i++) {
		w->lookup[i] = w->pc[i] - !exact;
		exact = is_signal_frame(w, w->lookup[i]);
	}
	return walking_end_of(stack);
}

/*
 * Compares the handler's own frames, which stand behind the copy, with ours. Where one of the two
 * was cut by a limit that the other does not have (a copy ends with its alternate stack), up to
 * there.
 */
static void check_frames(struct walk *w, const struct captured_stack *stack, enum unwind_end end)
{
	const uint8_t *at = stack->bytes + (size_t)stack->head.register_count * 8;
	const uint64_t *pc = (const void *)(at + ((stack->head.copy_bytes + 7u) & ~7u));
	enum unwind_end theirs = walking_end_of(stack);
	int ours_cut = end == UNWIND_END_COPY_LIMIT &&
		       stack->head.sample_flags & (WEFT_SAMPLE_CUT | WEFT_SAMPLE_ALT_STACK);
	int theirs_cut = theirs == UNWIND_END_MAX_FRAMES;
	size_t count = w->count;
	int equal;

	if (theirs_cut && stack->head.frame_count < count)
		count = stack->head.frame_count;
	equal = count <= stack->head.frame_count && memcmp(pc, w->pc, count * sizeof(*pc)) == 0;
	if (!ours_cut && !theirs_cut)
		equal = equal && count == stack->head.frame_count && end == theirs;
	w->check = 1 + (equal ? WEFT_COUNTER_CHECK_EQUAL : WEFT_COUNTER_CHECK_DIFFERENT);
}

static int look_again(const struct walk *w, uint64_t now_ns)
{
	int changes = process_look(w->process, now_ns);

	map_publish(w->walking->modules, w->walking->tables, w->process);
	return changes > 0;
}

/* With NO_RULE a frame pointer led to a pc that is no code. */
static int met_no_module(const struct walk *w, enum unwind_end end)
{
	return end == UNWIND_END_NO_MODULE || (end == UNWIND_END_NO_RULE && w->count < w->lookups);
}

/* If a pc lies in no known module, or in another one than the map says, the process has loaded or
 * unloaded one since: the mappings are read again. */
static enum unwind_end walk_captured(struct walk *w, const struct captured_stack *stack,
				     uint64_t now_ns)
{
	enum unwind_end end;

	if (stack->head.sample_flags & WEFT_SAMPLE_STALE_MAP || process_map_is_stale(w->process))
		look_again(w, now_ns);
	if (stack->head.stack != WEFT_SAMPLE_RAW) {
		end = take_frames(w, stack);
		if (end == UNWIND_END_NO_MODULE)
			look_again(w, now_ns);
		return end;
	}
	if (stack->head.sample_flags & WEFT_SAMPLE_CHECK)
		w->map_number = stack->head.map_number;
	end = walk_raw(w, stack);
	if (stack->head.sample_flags & WEFT_SAMPLE_CHECK)
		check_frames(w, stack, end);
	w->map_number = 0;
	if (met_no_module(w, end) && look_again(w, now_ns))
		end = walk_raw(w, stack);
	return end;
}

static uint8_t cut_counter(const struct captured_stack *stack, enum unwind_end end)
{
	static const uint8_t counter[UNWIND_END_COUNT] = {
		[UNWIND_END_MAX_FRAMES] = 1 + WEFT_COUNTER_CUT_MAX_FRAMES,
		[UNWIND_END_NO_MODULE] = 1 + WEFT_COUNTER_CUT_NO_MODULE,
		[UNWIND_END_NO_RULE] = 1 + WEFT_COUNTER_CUT_NO_RULE,
		[UNWIND_END_COPY_LIMIT] = 1 + WEFT_COUNTER_CUT_COPY_LIMIT,
		[UNWIND_END_BAD_READ] = 1 + WEFT_COUNTER_CUT_BAD_READ,
	};

	/* Without a stack to walk, the handler has counted the cause. */
	return end < UNWIND_END_COUNT && !(stack->head.sample_flags & WEFT_SAMPLE_NO_STACK)
		       ? counter[end]
		       : 0;
}

void walking_notice(struct walking *s, struct process *p, const struct weft_sample_record *sample,
		    uint64_t now_ns)
{
	struct walk w = {.walking = s, .process = p, .time_ns = sample->time_ns};

	if (sample->stack == WEFT_SAMPLE_RAW || sample->flags & WEFT_SAMPLE_STALE_MAP ||
	    sample->end == WEFT_END_NO_MODULE)
		look_again(&w, now_ns);
}

/* Memory for JIT code may be in no snapshot yet when a sample is taken. Names of JIT code have
 * times of their own, so the newest mappings will do. */
static struct mapping *fresh_jit_memory(const struct walk *w, uint64_t pc)
{
	const struct walk by_time = {
		.walking = w->walking, .process = w->process, .time_ns = w->time_ns};
	struct mapping *m = mapping_of(&by_time, pc);

	return jit_is_code(m) ? m : NULL;
}

static struct walked_frame walking_resolve(const struct walk *w, uint64_t pc,
					   struct walked_jit *jits, uint16_t *jit_count)
{
	struct mapping *m = mapping_of(w, pc);
	struct elf_place jit;

	if (!m && w->map_number)
		m = fresh_jit_memory(w, pc);
	if (jit_is_code(m) && jit_find(w->process->walk->jit, pc, &jit) == 0) {
		jits[*jit_count] =
			(struct walked_jit){jit.function, jit.file, jit.line,
					    jit.address ? offset_in(pc, jit.address) : 0};
		return (struct walked_frame){&walked_jit_code, (*jit_count)++};
	}
	if (!m || !modules_code(w->walking->modules, m))
		return (struct walked_frame){NULL, 0};
	return (struct walked_frame){m->code,
				     m->has_bias ? pc - m->bias : pc - m->start + m->offset};
}

static void walking_walk(struct walking *s, struct process *p, const struct captured_stack *stack,
			 uint64_t now_ns, struct walked_stack *out)
{
	struct walk w = {.walking = s, .process = p, .time_ns = stack->time_ns};
	struct walked_frame *frame = (void *)(out + 1);
	struct walked_jit jits[WEFT_FRAMES_MAX];
	enum unwind_end end = walk_captured(&w, stack, now_ns);
	size_t count = w.count < w.lookups ? w.count : w.lookups;

	*out = (struct walked_stack){
		.frame_count = (uint16_t)count,
		.truncated = end != UNWIND_END_OUTERMOST,
		.cut = cut_counter(stack, end),
		.check = w.check,
		.scanned = w.scanned,
	};
	jit_moment(p->walk->jit, &s->jit_budget, stack->time_ns, now_ns);
	for (size_t i = 0; i < count; i++)
		frame[i] = walking_resolve(&w, w.lookup[i], jits, &out->jit_count);
	memcpy(&frame[count], jits, out->jit_count * sizeof(*jits));
}

/* ---- samples */

/* Padded with zeros to a multiple of 8; how many bytes that are. */
static uint32_t copy_labels(void *to, const uint8_t *from, uint32_t bytes)
{
	memcpy(to, from, bytes);
	memset((uint8_t *)to + bytes, 0, (8 - bytes % 8) % 8);
	return (bytes + 7) & ~7u;
}

static uint32_t part_bytes(const uint8_t *at)
{
	struct weft_sample_published head;

	memcpy(&head, at, sizeof(head));
	return (uint32_t)sizeof(head) + ((head.bytes + 7) & ~7u);
}

/* Both parts, as they stand there. */
static uint32_t copy_published(void *to, const struct weft_sample_record *sample)
{
	const uint8_t *at =
		(const uint8_t *)sample + sample->labels_at + ((sample->label_bytes + 7u) & ~7u);
	uint32_t bytes = 0;

	if (sample->flags & WEFT_SAMPLE_PUBLISHED)
		bytes += part_bytes(at);
	if (sample->flags & WEFT_SAMPLE_PUBLISHED_SET)
		bytes += part_bytes(at + bytes);
	memcpy(to, at, bytes);
	return bytes;
}

const struct weft_sample_published *walked_published(const struct walked_sample *w,
						     enum weft_sample_flag which)
{
	const uint8_t *at = walked_labels(w) + ((w->sample.label_bytes + 7u) & ~7u);

	if (!(w->sample.flags & which))
		return NULL;
	if (which == WEFT_SAMPLE_PUBLISHED_SET && w->sample.flags & WEFT_SAMPLE_PUBLISHED)
		at += part_bytes(at);
	return (const void *)at;
}

void walking_sample(struct walking *s, struct process *p, const struct weft_sample_record *sample,
		    uint64_t now_ns, struct walked_sample *out)
{
	const struct captured_stack stack = {
		.time_ns = sample->time_ns,
		.head = {.stack = sample->stack,
			 .end = sample->end,
			 .register_count = sample->register_count,
			 .frame_count = sample->frame_count,
			 .map_number = sample->map_number,
			 .copy_bytes = sample->copy_bytes,
			 .copy_address = sample->copy_address,
			 .sample_flags = sample->flags},
		.bytes = (const uint8_t *)(sample + 1),
	};

	walking_walk(s, p, &stack, now_ns, &out->stack);
	out->sample = *sample;
	out->bytes =
		(uint32_t)(sizeof(*out) - sizeof(out->stack) + walked_stack_bytes(&out->stack));
	out->bytes += copy_labels((uint8_t *)out + out->bytes,
				  (const uint8_t *)sample + sample->labels_at, sample->label_bytes);
	if (sample->flags & (WEFT_SAMPLE_PUBLISHED | WEFT_SAMPLE_PUBLISHED_SET))
		out->bytes += copy_published((uint8_t *)out + out->bytes, sample);
}

/* ---- switches of coroutines */

static void walking_look_up(struct walking *s, struct process *p,
			    const struct weft_switch_record *record, uint64_t now_ns,
			    struct placed *out)
{
	struct walk w = {.walking = s, .process = p, .time_ns = record->end_ns};
	uint16_t jits = 0;

	*out = (struct placed){.addr = record->addr};
	if (!record->addr)
		return;
	if (process_map_is_stale(p) || !mapping_of(&w, record->addr))
		look_again(&w, now_ns);
	jit_moment(p->walk->jit, &s->jit_budget, record->end_ns, now_ns);
	out->site = walking_resolve(&w, record->addr, &out->jit, &jits);
}

void walking_place(struct walking *s, struct process *p, const struct weft_switch_record *record,
		   uint64_t now_ns, struct placed *seen, struct walked_switch *out)
{
	struct placed *place = &seen[(record->addr ^ record->addr >> 7) % PLACED_ROOM];
	const uint8_t *at = (const uint8_t *)(record + 1);
	uint32_t tags = record->record.flags & WEFT_SWITCH_TAGS ? sizeof(out->tags) : 0;

	if (place->addr != record->addr)
		walking_look_up(s, p, record, now_ns, place);
	out->record = *record;
	out->site = place->site;
	out->jit = place->jit;
	memset(out->tags, 0, sizeof(out->tags));
	memcpy(out->tags, at, tags);
	out->head.type = WEFT_RECORD_SWITCH;
	out->head.bytes =
		(uint32_t)sizeof(*out) + copy_labels(out + 1, at + tags, record->record.rsv);
}

/* ---- events */

static size_t label_room(const struct weft_event_context *c)
{
	return (c->label_bytes + (size_t)7) & ~(size_t)7;
}

/* The parts stand in that order, and each length was checked. */
const uint8_t *walking_event(struct walking *s, struct process *p,
			     const struct checked_event *event, uint64_t now_ns,
			     struct walked_event *out, struct walked_stack *stack)
{
	const struct weft_event_record *record = (const void *)event->record;
	const uint8_t *at = (const uint8_t *)(record + 1) + event->values_bytes;
	const uint8_t *labels = NULL;
	struct captured_stack captured;

	*out = (struct walked_event){
		.begin_ns = event->begin_ns,
		.end_ns = event->end_ns,
		.number = record->record.rsv,
		.values_bytes = (uint32_t)event->values_bytes,
	};
	if (record->record.flags & WEFT_EVENT_HAS_CONTEXT) {
		memcpy(&out->context, at, sizeof(out->context));
		at += sizeof(out->context);
		labels = out->context.label_bytes ? at : NULL;
		at += label_room(&out->context);
	}
	if (record->record.flags & WEFT_EVENT_HAS_STACK) {
		captured = (struct captured_stack){
			.time_ns = event->end_ns,
			.head = *(const struct weft_event_stack *)(const void *)at,
			.bytes = at + sizeof(captured.head)};
		captured.head.sample_flags &= EVENT_STACK_FLAGS;
		walking_walk(s, p, &captured, now_ns, stack);
		out->stack_bytes = (uint32_t)walked_stack_bytes(stack);
	}
	out->head.type = WEFT_RECORD_EVENT;
	out->head.bytes = (uint32_t)(sizeof(*out) + out->values_bytes + out->stack_bytes +
				     label_room(&out->context));
	return labels;
}
