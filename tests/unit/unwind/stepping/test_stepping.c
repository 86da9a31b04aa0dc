/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: at every single instruction of a program the walk by table gives the true
 * stack, down to the outermost frame.
 *
 * usage: test_stepping [--from start|entry] [--stops N] [--libdw N] [--gdb N] [--need PLACES]
 *                      PROGRAM [ARGUMENT...]
 *
 * The judge is the stack that the stepper keeps by the calls and returns it sees. elfutils is
 * asked the first N times an instruction is met (--libdw), gdb at N stops (--gdb). Whatever
 * differs is listed by the instruction where the step went wrong, and fails the test unless it
 * is one of the documented limits below. Exits 77 (skipped) where ptrace cannot be used.
 */
#include "../modules.h"
#include "../stopped.h"
#include "by_libdw.h"
#include "stepper.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

#define SKIPPED 77
#define SEEN (1u << 18)
#define PLACES_MAX 256
#define VDSO_BYTES_MAX 65536

struct test;

/* Where unwind data themselves are wrong, or say nothing: docs/unwind.md, known limits. */
struct limit {
	const char *why;
	int (*applies)(struct test *t, const struct stepper_stop *stop, uint64_t pc);
};

struct place {
	char module[64], function[96];
	uint64_t offset;
	enum unwind_end end;
	unsigned int ours, libdw, libdw_only;
	const struct limit *limit;
};

struct met {
	uint64_t pc;
	unsigned int times;
};

struct test {
	struct stepper *stepper;
	struct by_libdw *libdw;
	struct modules *modules;
	unsigned int maps_number;
	struct met *met;
	struct place places[PLACES_MAX];
	size_t place_count;
	unsigned long stops, walked, equal, limited, wrong, outermost, instructions;
	unsigned long libdw_asked, libdw_equal, libdw_wrong, both_wrong;
	unsigned long gdb_asked, gdb_equal;
	unsigned long first, last, handler, alternate, threads, plt, vdso, loader, trampoline;
	unsigned int shown;
};

static struct {
	int at_entry, show;
	unsigned long stops, libdw, gdb;
	const char *need;
	char **program;
} options = {.at_entry = 1, .show = 6, .stops = ~0ul, .libdw = 1, .need = ""};

static unsigned int times_met(struct test *t, uint64_t pc)
{
	struct met *m = &t->met[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 46 & (SEEN - 1)];

	if (m->pc != pc) {
		*m = (struct met){.pc = pc};
		t->instructions++;
	}
	return m->times++;
}

static void update_modules(struct test *t, const struct stepper_stop *stop)
{
	static uint8_t vdso[VDSO_BYTES_MAX];
	const char *maps = stepper_maps(t->stepper), *line;
	uint64_t start = 0, end = 0, bytes = 0;

	if (t->modules && t->maps_number == stop->maps_number)
		return;
	t->maps_number = stop->maps_number;
	if (t->modules) {
		modules_update(t->modules, maps);
		return;
	}
	line = strstr(maps, "[vdso]");
	while (line && line > maps && line[-1] != '\n')
		line--;
	if (line && sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
	    end - start <= sizeof(vdso))
		bytes = stepper_read(t->stepper, start, vdso, end - start);
	t->modules = modules_new(maps, bytes ? vdso : NULL, bytes);
}

static size_t first_difference(const struct stepper_stop *stop, const uint64_t *frames,
			       size_t count)
{
	size_t i = 0;

	while (i < count && i < stop->truth_count && frames[i] == stop->truth[i])
		i++;
	return i;
}

/* The frame whose step went wrong: the last one that is right. */
static size_t at_fault(const struct stepper_stop *stop, const uint64_t *frames, size_t count)
{
	size_t at = first_difference(stop, frames, count);

	return at ? at - 1 : 0;
}

/* mov %r8,%rsp; mov %r9,%rbp; jmp *%rdx: it says that it has already arrived. */
static int in_longjmp(struct test *t, const struct stepper_stop *stop, uint64_t pc)
{
	static const uint8_t jump[] = {0x4c, 0x89, 0xc4, 0x4c, 0x89, 0xcd, 0xff, 0xe2};
	uint8_t code[40];

	(void)stop;
	for (size_t n = sizeof(code); n >= 2; n--)
		if (stepper_read(t->stepper, pc, code, n) == n)
			return memmem(code, n, jump, sizeof(jump)) != NULL ||
			       memcmp(code, jump + 3, 5) == 0 || memcmp(code, jump + 6, 2) == 0;
	return 0;
}

/* A thread just made, in the few instructions before its stack is looked at. */
static int in_new_thread(struct test *t, const struct stepper_stop *stop, uint64_t pc)
{
	static const uint8_t system_call[] = {0x0f, 0x05};
	uint8_t code[12];

	return stop->truth_count == 1 && !stop->is_main &&
	       stepper_read(t->stepper, pc - sizeof(code), code, sizeof(code)) == sizeof(code) &&
	       memmem(code, sizeof(code), system_call, sizeof(system_call)) != NULL;
}

/* libgcc writes the registers of the landing pad over those that it saved itself. */
static int in_unwinder(struct test *t, const struct stepper_stop *stop, uint64_t pc)
{
	char name[256];

	(void)pc;
	for (size_t i = 0; i < stop->truth_count && i < 3; i++)
		if (strncmp(modules_name(t->modules, stop->truth[i], name, sizeof(name)),
			    "_Unwind_", 8) == 0)
			return 1;
	return 0;
}

static const struct limit limits[] = {
	{"longjmp, switching registers", in_longjmp},
	{"a new thread's first instructions", in_new_thread},
	{"libgcc, installing a landing pad", in_unwinder},
};

static const struct limit *find_limit(struct test *t, const struct stepper_stop *stop, uint64_t pc)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].applies(t, stop, pc))
			return &limits[i];
	return NULL;
}

static struct place *place_of(struct test *t, const struct stepper_stop *stop,
			      const uint64_t *frames, size_t count, enum unwind_end end)
{
	uint64_t pc = stop->truth[at_fault(stop, frames, count)];
	struct place now = {.end = end}, *p;
	struct unwind_module m = {.table = NULL};
	char name[256];

	modules_find(t->modules, pc, &m);
	snprintf(now.module, sizeof(now.module), "%s", modules_file(t->modules, pc));
	snprintf(now.function, sizeof(now.function), "%s",
		 modules_name(t->modules, pc, name, sizeof(name)));
	now.offset = pc - m.bias;
	for (size_t i = 0; i < t->place_count; i++) {
		p = &t->places[i];
		if (p->offset == now.offset && strcmp(p->module, now.module) == 0)
			return p;
	}
	p = &t->places[t->place_count < PLACES_MAX ? t->place_count++ : PLACES_MAX - 1];
	*p = now;
	return p;
}

static void show(struct test *t, const char *who, const uint64_t *frames, size_t count)
{
	char name[256];

	for (size_t i = 0; i < count && i < 16; i++)
		print_message("  %s %#" PRIx64 " %s %s\n", who, frames[i],
			      modules_file(t->modules, frames[i]),
			      modules_name(t->modules, frames[i], name, sizeof(name)));
}

static void ask_libdw(struct test *t, const struct stepper_stop *stop, int is_equal,
		      const uint64_t *ours, size_t our_count, enum unwind_end end)
{
	uint64_t frames[STEPPER_DEPTH];
	size_t count = by_libdw_walk(t->libdw, stop, frames, STEPPER_DEPTH);
	int libdw_is_right;

	if (count == 0)
		return;
	libdw_is_right =
		count == stop->truth_count && first_difference(stop, frames, count) == count;
	t->libdw_asked++;
	t->libdw_equal += (unsigned)(libdw_is_right && is_equal);
	t->both_wrong += (unsigned)(!libdw_is_right && !is_equal);
	if (!libdw_is_right && is_equal) {
		t->libdw_wrong++;
		place_of(t, stop, frames, count, UNWIND_END_COUNT)->libdw++;
	}
	if (libdw_is_right && !is_equal)
		place_of(t, stop, ours, our_count, end)->libdw_only++;
}

static void count_places(struct test *t, const struct stepper_stop *stop)
{
	struct unwind_module m = {.table = NULL};
	const struct unwind_rule *rule = NULL;
	const char *module = modules_file(t->modules, stop->regs.pc);
	char name[256];

	t->first += (stop->places & STEPPER_FIRST) != 0;
	t->last += (stop->places & STEPPER_RETURN) != 0;
	t->handler += (stop->places & STEPPER_HANDLER) != 0;
	t->alternate += (stop->places & STEPPER_ALTERNATE) != 0;
	t->threads += !stop->is_main;
	t->vdso += strcmp(module, "[vdso]") == 0;
	t->loader += strncmp(module, "ld-linux", 8) == 0;
	if (modules_find(t->modules, stop->regs.pc, &m) == 0 && m.table)
		rule = unwind_table_find(m.table, stop->regs.pc - m.bias);
	t->trampoline += rule && rule->cfa == UNWIND_CFA_SIGNAL;
	t->plt +=
		strstr(modules_name(t->modules, stop->regs.pc, name, sizeof(name)), "@plt") != NULL;
}

static int compare_with_gdb(struct test *t, struct stepper_stop *stop)
{
	uint64_t frames[STEPPER_DEPTH];
	size_t count;

	if (stepper_lend(t->stepper, stop) != 0)
		return -1;
	count = gdb_frames(stepper_pid(t->stepper), frames, STEPPER_DEPTH);
	if (stepper_take_back(t->stepper) != 0)
		return -1;
	if (count == 0)
		return 0;
	t->gdb_asked++;
	if (count == stop->truth_count && first_difference(stop, frames, count) == count) {
		t->gdb_equal++;
	} else {
		show(t, "gdb  ", frames, count);
		show(t, "truth", stop->truth, stop->truth_count);
	}
	return 0;
}

static void one_stop(struct test *t, const struct stepper_stop *stop)
{
	struct unwind_registers regs = stop->regs;
	unsigned int times = times_met(t, regs.pc);
	uint64_t frames[STEPPER_DEPTH];
	const struct limit *limit;
	struct place *p;
	enum unwind_end end;
	size_t count;
	int is_equal;

	update_modules(t, stop);
	count = unwind_walk(&regs, stop->memory, modules_find, t->modules, UNWIND_X86_64, frames,
			    STEPPER_DEPTH, &end);
	is_equal = count == stop->truth_count && first_difference(stop, frames, count) == count &&
		   end == UNWIND_END_OUTERMOST;
	t->walked++;
	t->equal += (unsigned)is_equal;
	t->outermost += end == UNWIND_END_OUTERMOST;
	count_places(t, stop);
	if (times < options.libdw)
		ask_libdw(t, stop, is_equal, frames, count, end);
	if (is_equal)
		return;
	p = place_of(t, stop, frames, count, end);
	p->ours++;
	limit = find_limit(t, stop, stop->truth[at_fault(stop, frames, count)]);
	p->limit = limit ? limit : p->limit;
	t->limited += limit != NULL;
	t->wrong += !limit;
	if (!limit && p->ours == 1 && t->shown++ < (unsigned)options.show) {
		print_message("end %d:\n", (int)end);
		show(t, "ours ", frames, count);
		show(t, "truth", stop->truth, stop->truth_count);
	}
}

static void report(const struct test *t)
{
	static const char *const ends[] = {"outermost",  "max frames", "no module", "no rule",
					   "copy limit", "bad read",   "-"};

	for (size_t i = 0; i < t->place_count; i++) {
		const struct place *p = &t->places[i];

		if (p->ours)
			print_message(
				"  %s %s (%#" PRIx64 "): ours wrong %u (%s), libdw wrong "
				"where ours is right %u, libdw right where ours is wrong %u%s%s\n",
				p->module, p->function, p->offset, p->ours, ends[p->end], p->libdw,
				p->libdw_only, p->limit ? "; limit: " : "",
				p->limit ? p->limit->why : "");
	}
	print_message(
		"%s: %lu stops at %lu instructions, %lu equal to the true stack, %lu limits, %lu "
		"wrong; at first instructions %lu, returns %lu, PLT %lu, vdso %lu, ld.so %lu, "
		"below "
		"signal handlers %lu, trampoline %lu, alternate stack %lu, threads %lu\n"
		"  libdw: %lu asked, %lu equal, %lu wrong where ours is right, %lu both wrong; "
		"gdb: %lu of %lu equal\n",
		options.program[0], t->walked, t->instructions, t->equal, t->limited, t->wrong,
		t->first, t->last, t->plt, t->vdso, t->loader, t->handler, t->trampoline,
		t->alternate, t->threads, t->libdw_asked, t->libdw_equal, t->libdw_wrong,
		t->both_wrong, t->gdb_equal, t->gdb_asked);
}

static int is_needed(const char *place)
{
	return strstr(options.need, place) != NULL;
}

static void judge(const struct test *t)
{
	assert_true(t->walked > 1000);
	assert_int_equal(t->wrong, 0);
	assert_int_equal(t->equal + t->limited, t->walked);
	assert_true(t->limited * 100 < t->walked);
	assert_true(t->first > 0 && t->last > 0);
	assert_true(!is_needed("plt") || t->plt > 0);
	assert_true(!is_needed("vdso") || t->vdso > 0);
	assert_true(!is_needed("loader") || t->loader > 0);
	assert_true(!is_needed("signal") || (t->handler > 0 && t->trampoline > 0));
	assert_true(!is_needed("alternate") || t->alternate > 0);
	assert_true(!is_needed("thread") || t->threads > 0);
	assert_true(options.libdw == 0 || t->libdw_equal * 100 > t->libdw_asked * 90);
	assert_int_equal(t->gdb_equal, t->gdb_asked);
}

static void every_instruction(void **state)
{
	struct stepper_stop stop = {.tid = 0};
	struct test *t = calloc(1, sizeof(*t));
	unsigned long next_gdb = 500;

	(void)state;
	assert_non_null(t);
	t->met = calloc(SEEN, sizeof(*t->met));
	t->stepper = stepper_start(options.program, options.at_entry);
	if (!t->stepper) {
		print_message("ptrace cannot be used here\n");
		exit(SKIPPED);
	}
	t->libdw = by_libdw_new(t->stepper);
	while (t->stops < options.stops && stepper_next(t->stepper, &stop)) {
		t->stops++;
		one_stop(t, &stop);
		if (t->gdb_asked < options.gdb && t->stops >= next_gdb) {
			next_gdb = t->stops + 1777;
			if (compare_with_gdb(t, &stop) != 0)
				break;
		}
	}
	report(t);
	by_libdw_free(t->libdw);
	stepper_free(t->stepper);
	judge(t);
	modules_free(t->modules);
	free(t->met);
	free(t);
}

static int take_option(const char *name, char *value)
{
	unsigned long number = strtoul(value, NULL, 10);

	if (strcmp(name, "--from") == 0)
		options.at_entry = strcmp(value, "entry") == 0;
	else if (strcmp(name, "--stops") == 0)
		options.stops = number;
	else if (strcmp(name, "--libdw") == 0)
		options.libdw = number;
	else if (strcmp(name, "--show") == 0)
		options.show = (int)number;
	else if (strcmp(name, "--gdb") == 0)
		options.gdb = number;
	else if (strcmp(name, "--need") == 0)
		options.need = value;
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction),
	};
	int at = 1;

	while (at + 1 < argc && strncmp(argv[at], "--", 2) == 0) {
		if (take_option(argv[at], argv[at + 1]) != 0)
			return 2;
		at += 2;
	}
	if (at >= argc)
		return 2;
	unsetenv("DEBUGINFOD_URLS");
	options.program = argv + at;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
