/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwind tables cost: for each file given (or some well-known ones) the rows, distinct
 * rules and bytes of its table, what its unwind data has that tables cannot hold, and the
 * time to build it; then the walk of a stack of 32 frames, in nanoseconds.
 */
#include "elf/module.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void measure_table(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const struct unwind_table *table;
	struct elf_module *module;
	double start, built;

	if (elf_module_open(&module, path, -1, name) != 0)
		return;
	start = now_ms();
	table = elf_module_table(module);
	built = now_ms();
	printf("%-22s %8u %6u %8u %6u %8.1f\n", name, table ? table->row_count : 0,
	       table ? table->rule_count : 0, table ? table->bytes / 1024 : 0,
	       elf_module_rejected(module), built - start);
	elf_module_free(module);
}

#if defined(__x86_64__)

#define FRAMES 32
#define WALKS 100000
#define MODULES_MAX 64
#define STACK_BYTES 16384

struct modules {
	struct unwind_module list[MODULES_MAX];
	struct elf_module *elf[MODULES_MAX];
	size_t count;
};

struct sample {
	struct unwind_registers regs;
	struct unwind_memory memory;
	uint64_t top;
	uint8_t stack[STACK_BYTES];
};

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct modules *m = arg;
	struct unwind_module *module = &m->list[m->count];

	(void)size;
	if (m->count == MODULES_MAX || elf_module_open(&m->elf[m->count], path, -1, path) != 0)
		return 0;
	*module = (struct unwind_module){.start = UINT64_MAX, .bias = info->dlpi_addr};
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		module->start = start < module->start ? start : module->start;
		module->end = start + p->p_memsz;
	}
	module->table = elf_module_table(m->elf[m->count]);
	m->count++;
	return 0;
}

static int find_module(void *arg, uint64_t pc, struct unwind_module *out)
{
	const struct modules *m = arg;

	for (size_t i = 0; i < m->count; i++)
		if (pc >= m->list[i].start && pc < m->list[i].end) {
			*out = m->list[i];
			return 0;
		}
	return -1;
}

/* What a finder that keeps rules by pc makes of it: direct-mapped, one pair a pc. */
struct cache {
	struct modules *modules;
	struct {
		uint64_t pc;
		const struct unwind_rule *rule;
	} kept[4096];
};

static int find_rule(void *arg, uint64_t pc, struct unwind_module *out)
{
	struct cache *c = arg;
	size_t slot = (size_t)(pc * UINT64_C(0x9E3779B97F4A7C15) >> 52);

	if (c->kept[slot].pc != pc) {
		if (find_module(c->modules, pc, out) != 0)
			return -1;
		c->kept[slot].pc = pc;
		c->kept[slot].rule =
			out->table ? unwind_table_find(out->table, pc - out->bias) : NULL;
	}
	out->rule = c->kept[slot].rule;
	return 0;
}

/* As a signal handler would find it: the registers, and the stack from SP up. */
static void take_sample(struct sample *s)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};
	ucontext_t context;

	getcontext(&context);
	for (unsigned int i = 0; i < 16; i++)
		s->regs.r[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
	s->regs.valid = 0xffff;
	s->regs.pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
	s->memory = (struct unwind_memory){.bytes = s->stack, .address = s->regs.r[7] - 128};
	s->memory.size =
		s->top - s->memory.address < STACK_BYTES ? s->top - s->memory.address : STACK_BYTES;
	memcpy(s->stack, (const void *)(uintptr_t)s->memory.address, s->memory.size);
}

static struct sample *sample;
static volatile int sink;

/* Different functions, so that not all frames share one rule. */
static void deeper(int depth);

#define LEVEL(name, room)                                                                          \
	__attribute__((noinline)) static void name(int depth)                                      \
	{                                                                                          \
		volatile char here[room];                                                          \
		here[depth % (room)] = (char)depth;                                                \
		deeper(depth - 1);                                                                 \
		sink += here[depth % (room)];                                                      \
	}
LEVEL(level_a, 24)
LEVEL(level_b, 56)
LEVEL(level_c, 120)

__attribute__((noinline)) static void deeper(int depth)
{
	static void (*const levels[])(int) = {level_a, level_b, level_c};

	if (depth == 0)
		take_sample(sample);
	else
		levels[depth % 3](depth);
	sink++;
}

static double walk_ns(unwind_find find, void *arg, size_t *count)
{
	uint64_t frames[FRAMES];
	enum unwind_end end;
	double start = now_ms();

	for (int i = 0; i < WALKS; i++) {
		struct unwind_registers regs = sample->regs;

		*count = unwind_walk(&regs, &sample->memory, find, arg, UNWIND_X86_64, frames,
				     FRAMES, &end);
	}
	return (now_ms() - start) * 1e6 / WALKS;
}

static void measure_walk(void)
{
	struct modules *modules = calloc(1, sizeof(*modules));
	struct cache *cache = calloc(1, sizeof(*cache));
	size_t count = 0;
	double searched, cached;

	sample = calloc(1, sizeof(*sample));
	if (!sample || !modules || !cache)
		return;
	sample->top = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	cache->modules = modules;
	dl_iterate_phdr(add_module, modules);
	deeper(FRAMES);
	searched = walk_ns(find_module, modules, &count);
	cached = walk_ns(find_rule, cache, &count);
	printf("\nwalk of %zu frames, warm: %.0f ns searching the table, %.0f ns with rules kept "
	       "by "
	       "pc\n",
	       count, searched, cached);
	for (size_t i = 0; i < modules->count; i++)
		elf_module_free(modules->elf[i]);
	free(sample);
	free(cache);
	free(modules);
}

#else

static void measure_walk(void)
{
}

#endif

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/bin/python3.11",
		"/usr/bin/gdb",
		"/usr/bin/node",
	};

	printf("%-22s %8s %6s %8s %6s %8s\n", "file", "rows", "rules", "KiB", "reject", "ms");
	for (int i = 1; i < argc; i++)
		measure_table(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
		measure_table(usual[i]);
	measure_walk();
	return 0;
}
