/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk-stack FRAMES ROUNDS: what the handler's part that takes the stack costs, alone: the
 * files of src/runtime that do it, in this process, over a session made here, with the tables
 * of the modules that this program has. Prints one line a mode:
 *
 *   mode frames warm cold first
 *
 * warm: again and again. cold: every cache line of tables, rules kept by pc, snapshot, stack
 * and ring flushed before. first: and no rule kept. Medians, nanoseconds, the clock's own
 * time taken off.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "elf/module.h"
#include "harness.h"
#include "runtime/core/runtime.h"
#include "runtime/stack/module_map.h"
#include "runtime/stack/stack.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define MAP_ROOM (64 * 1024)
#define RING_ROOM (256 * 1024)
#define WARM 200
#define LINE 64

static struct {
	struct weft_session_header header;
	_Alignas(64) uint8_t map[MAP_ROOM];
} session;
static struct weft_slot slot;
static _Alignas(64) uint8_t ring[RING_ROOM];
static uint8_t *tables;
static uint64_t used = WEFT_TABLES_FIRST;
static struct weft_map_module modules[64];
static uint32_t module_count;

static uint64_t put_table(const char *path)
{
	struct elf_module *module;
	const struct unwind_table *table;
	uint64_t at = used;

	if (elf_module_open(&module, path, -1, path))
		return WEFT_TABLE_NONE;
	table = elf_module_table(module);
	if (!table)
		return WEFT_TABLE_NONE;
	memcpy(tables + at, table, table->bytes);
	used = (used + table->bytes + 63) & ~UINT64_C(63);
	elf_module_free(module);
	return at;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct weft_map_module *m = &modules[module_count];

	(void)size, (void)arg;
	if (path[0] != '/' || module_count == 64)
		return 0;
	*m = (struct weft_map_module){.start = UINT64_MAX, .bias = info->dlpi_addr};
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			m->object_eh = start;
		if (p->p_type == PT_LOAD && !m->object_start)
			m->object_start = start & ~UINT64_C(4095);
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			m->start = start;
			m->end = start + p->p_memsz;
		}
	}
	m->table = put_table(path);
	module_count++;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct weft_map_module *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int make_tables(void)
{
	const uint64_t magic = WEFT_TABLES_MAGIC;
	int fd = memfd_create("bench-tables", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)WEFT_TABLES_BYTES))
		return -1;
	tables = mmap(NULL, WEFT_TABLES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		      fd, 0);
	if (tables == MAP_FAILED ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE))
		return -1;
	memcpy(tables, &magic, sizeof(magic));
	dl_iterate_phdr(add_module, NULL);
	return fd;
}

/* What a session and a snapshot of it are to the files under test. */
static int make_session(uint32_t frames)
{
	struct weft_map_snapshot *snapshot = (void *)session.map;
	int fd;

	weft_rt.base = (uint8_t *)&session;
	weft_rt.header = &session.header;
	weft_layout.map_offset = (uint64_t)(session.map - (uint8_t *)&session);
	weft_layout.map_bytes = MAP_ROOM;
	weft_layout.session_id = 1;
	weft_rt.pid = getpid();
	session.header.frames_max = frames;
	session.header.stack_copy_bytes = 16384;
	fd = make_tables();
	session.header.tables_used = used;
	if (fd < 0 || weft_tables_map(fd, WEFT_TABLES_BYTES))
		return -1;
	qsort(modules, module_count, sizeof(*modules), by_start);
	memcpy(snapshot + 1, modules, module_count * sizeof(*modules));
	snapshot->count = module_count;
	snapshot->number = 1;
	session.header.map_current = weft_layout.map_offset;
	weft_map_begin();
	return 0;
}

static void flush(const void *from, uint64_t bytes)
{
	const char *at = from;

	for (uint64_t i = 0; i < bytes; i += LINE)
#if defined(__x86_64__)
		__asm__ volatile("clflush (%0)" : : "r"(at + i) : "memory");
#else
		__asm__ volatile("dc civac, %0" : : "r"(at + i) : "memory");
#endif
}

static void flush_all(const struct stack_take *take)
{
	flush(tables, used);
	flush(weft_tables.base, used);
	flush(weft_rule_cache, sizeof(weft_rule_cache));
	flush(&session, sizeof(session));
	flush(&slot, 4096);
	flush(ring, 32768);
	flush((const void *)(uintptr_t)take->view.from, take->view.to - take->view.from);
	flush(take->uc, sizeof(*take->uc));
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#endif
}

static struct weft_sample_record *once(const struct stack_take *take)
{
	return take->mode == WEFT_STACK_RAW ? weft_stack_copy(take) : weft_stack_walk(take);
}

static double clock_cost_ns(void)
{
	double cost[101];

	for (int i = 0; i < 101; i++) {
		uint64_t start = bench_now_ns();

		cost[i] = (double)(bench_now_ns() - start);
	}
	return bench_median(cost, 101);
}

static void measure(struct stack_take *take, const char *name, unsigned int rounds)
{
	double warm[1000], cold[1000], first[1000], clock = clock_cost_ns();
	const struct weft_sample_record *sample = NULL;
	uint64_t start;

	for (unsigned int r = 0; r < rounds; r++) {
		once(take);
		start = bench_now_ns();
		for (int i = 0; i < WARM; i++)
			sample = once(take);
		warm[r] = (double)(bench_now_ns() - start) / WARM;
		flush_all(take);
		start = bench_now_ns();
		once(take);
		cold[r] = (double)(bench_now_ns() - start) - clock;
		weft_rules_forget();
		flush_all(take);
		start = bench_now_ns();
		once(take);
		first[r] = (double)(bench_now_ns() - start) - clock;
	}
	printf("%s %u %.1f %.1f %.1f\n", name,
	       sample && sample->stack == WEFT_SAMPLE_FRAMES ? sample->frame_count : 0,
	       bench_median(warm, rounds), bench_median(cold, rounds), bench_median(first, rounds));
}

static void take_all(unsigned int rounds)
{
	static ucontext_t uc;
	struct stack_take take = {
		.slot = &slot,
		.uc = &uc,
		.ring = {.producer = &slot.samples_p,
			 .consumer = &slot.samples_c,
			 .data = ring,
			 .bytes = RING_ROOM},
	};

	getcontext(&uc);
	uc.uc_stack.ss_flags = 2; /* SS_DISABLE */
	take.view = (struct stack_view){
		.from = (uint64_t)(uintptr_t)__builtin_frame_address(0) - 512,
		.to = slot.thread.stack_high,
		.known = 1,
	};
#if defined(__x86_64__)
	take.view.from = (uint64_t)uc.uc_mcontext.gregs[REG_RSP] - 128;
#else
	take.view.from = uc.uc_mcontext.sp;
#endif
	take.mode = WEFT_STACK_AUTO;
	measure(&take, "auto", rounds);
	take.mode = WEFT_STACK_FP;
	measure(&take, "fp", rounds);
	take.mode = WEFT_STACK_RAW;
	measure(&take, "raw", rounds);
}

static volatile int sink;
static unsigned int rounds;
static void deeper(int depth, int a, int b);

/* Functions of several shapes: none, some or all of the registers that calls preserve. */
__attribute__((noinline)) static void plain(int depth, int a, int b)
{
	deeper(depth - 1, b, a);
	sink++;
}

__attribute__((noinline)) static void keeps_two(int depth, int a, int b)
{
	deeper(depth - 1, a + 1, b);
	sink += a * b;
}

__attribute__((noinline)) static void keeps_many(int depth, int a, int b)
{
	int c = sink + a, d = sink + b, e = sink ^ a;
	volatile char room[120];

	room[depth % 120] = (char)depth;
	deeper(depth - 1, b, a);
	sink += a + b + c * d + e + room[depth % 120];
}

__attribute__((noinline)) static void deeper(int depth, int a, int b)
{
	static void (*const levels[])(int, int, int) = {plain, keeps_two, keeps_many};

	if (depth == 0)
		take_all(rounds);
	else
		levels[depth % 3](depth, a, b);
	sink++;
}

int main(int argc, char **argv)
{
	uint32_t frames = argc > 1 ? (uint32_t)atoi(argv[1]) : 32;

	rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 100;
	if (rounds < 1 || rounds > 1000)
		rounds = 1000;
	slot.thread.stack_high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 64;
	if (make_session(frames))
		return 1;
	deeper((int)frames, 1, 2);
	return 0;
}
