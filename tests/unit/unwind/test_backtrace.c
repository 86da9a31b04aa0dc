/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: walks by table equal what backtrace() says at the same place, and reach the
 * outermost frame, wherever a signal strikes a program without frame pointers.
 *
 * The program given as arguments (test_capture, perhaps under an emulator) interrupts itself
 * at random; what it kept is walked here. That the comparison has force is shown by walking
 * the same without tables.
 */
#include "capture.h"
#include "modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE_MAX_BYTES 4096

struct tally {
	unsigned int walked, equal, outermost, in_vdso, in_plt, in_handler, on_other_stack;
	unsigned int different,
		unknown; /* backtrace() gave up at once: no unwind data for the pc */
};

struct recorded {
	struct capture_header header;
	struct modules *modules;
	struct capture *captures;
	struct unwind_memory (*memory)[CAPTURE_STRETCHES];
};

static const char *command; /* with its arguments, but for the last two */
static const char *wanted;

static void *take(FILE *from, size_t bytes)
{
	char *data = calloc(1, bytes + 1);

	assert_non_null(data);
	if (bytes)
		assert_int_equal(fread(data, bytes, 1, from), 1);
	return data;
}

static void take_capture(FILE *from, struct capture *c, struct unwind_memory *memory)
{
	assert_int_equal(fread(c, sizeof(*c), 1, from), 1);
	for (unsigned int i = 0; i < CAPTURE_STRETCHES && c->bytes[i]; i++) {
		memory[i] = (struct unwind_memory){.bytes = take(from, c->bytes[i]),
						   .address = c->address[i],
						   .size = c->bytes[i]};
		if (i > 0)
			memory[i - 1].next = &memory[i];
	}
}

static void record(struct recorded *r, const char *where)
{
	char line[LINE_MAX_BYTES], *maps, *vdso;
	FILE *from;

	snprintf(line, sizeof(line), "%s %s %s", command, wanted, where);
	from = popen(line, "re");
	assert_non_null(from);
	assert_int_equal(fread(&r->header, sizeof(r->header), 1, from), 1);
	maps = take(from, r->header.maps_bytes);
	vdso = take(from, r->header.vdso_bytes);
	r->modules = modules_new(maps, r->header.vdso_bytes ? vdso : NULL, r->header.vdso_bytes);
	r->captures = calloc(r->header.count, sizeof(*r->captures));
	r->memory = calloc(r->header.count, sizeof(*r->memory));
	for (unsigned int i = 0; i < r->header.count; i++)
		take_capture(from, &r->captures[i], r->memory[i]);
	assert_int_equal(pclose(from), 0);
	free(maps);
	free(vdso);
}

static void forget(struct recorded *r)
{
	for (unsigned int i = 0; i < r->header.count; i++)
		for (unsigned int j = 0; j < CAPTURE_STRETCHES; j++)
			free((void *)(uintptr_t)r->memory[i][j].bytes);
	free(r->captures);
	free(r->memory);
	modules_free(r->modules);
}

static int is_equal(const struct capture *c, const uint64_t *frames, size_t count)
{
	return count == c->expected_count &&
	       memcmp(frames, c->expected, count * sizeof(*frames)) == 0;
}

static void describe(const char *what, struct modules *modules, uint64_t pc)
{
	char text[256];

	print_message("  %s %#lx %s %s\n", what, (unsigned long)pc, modules_file(modules, pc),
		      modules_name(modules, pc, text, sizeof(text)));
}

static void show_difference(const struct capture *c, struct modules *modules,
			    const uint64_t *frames, size_t count, enum unwind_end end)
{
	print_message("different or cut short, end %d:\n", (int)end);
	for (size_t i = 0; i < count; i++)
		describe("ours", modules, frames[i]);
	for (size_t i = 0; i < c->expected_count; i++)
		describe("backtrace", modules, c->expected[i]);
}

static int without_tables(void *arg, uint64_t pc, struct unwind_module *out)
{
	int err = modules_find(arg, pc, out);

	out->table = NULL;
	return err;
}

static void count_places(struct tally *t, struct modules *modules, const struct capture *c,
			 const uint64_t *frames, size_t count)
{
	char text[256];

	t->in_vdso += strcmp(modules_file(modules, frames[0]), "[vdso]") == 0;
	t->in_plt += strstr(modules_name(modules, frames[0], text, sizeof(text)), "@plt") != NULL;
	t->on_other_stack += c->bytes[1] != 0;
	for (size_t i = 0; i < count; i++)
		if (strcmp(modules_name(modules, frames[i], text, sizeof(text)), "on_signal") ==
		    0) {
			t->in_handler++;
			break;
		}
}

static size_t walk(const struct recorded *r, unsigned int number, unwind_find find,
		   uint64_t *frames, enum unwind_end *end)
{
	const struct capture *c = &r->captures[number];
	struct unwind_registers regs = {.pc = c->pc};
	int sp = unwind_sp_register((int)r->header.machine);

	memcpy(regs.r, c->r, sizeof(c->r));
	regs.valid = (UINT64_C(2) << (sp == 7 ? 15 : sp)) - 1;
	return unwind_walk(&regs, r->memory[number], find, r->modules, (int)r->header.machine,
			   frames, CAPTURE_DEPTH, end);
}

static void walk_all(struct tally *t, const struct recorded *r, unwind_find find)
{
	unsigned int shown = 0;

	memset(t, 0, sizeof(*t));
	for (unsigned int i = 0; i < r->header.count; i++) {
		const struct capture *c = &r->captures[i];
		uint64_t frames[CAPTURE_DEPTH];
		enum unwind_end end;
		size_t count = walk(r, i, find, frames, &end);

		t->walked++;
		t->outermost += end == UNWIND_END_OUTERMOST;
		if (c->expected_count == 1)
			t->unknown++;
		else if (is_equal(c, frames, count))
			t->equal++;
		else
			t->different++;
		if (find == modules_find && t->different + t->walked - t->outermost > shown &&
		    shown < 3) {
			shown++;
			show_difference(c, r->modules, frames, count, end);
		}
		if (find == modules_find)
			count_places(t, r->modules, c, frames, count);
	}
}

static void compare_walks(const char *where)
{
	struct tally by_table, by_pointer;
	struct recorded r;

	record(&r, where);
	walk_all(&by_table, &r, modules_find);
	walk_all(&by_pointer, &r, without_tables);
	forget(&r);
	print_message("%s: %u stacks, %u equal to backtrace(), %u outermost (in the vdso %u, PLT "
		      "%u, signal handler %u, on the other stack %u); without tables %u equal; "
		      "backtrace() gave up on %u, crashed on %u\n",
		      where, by_table.walked, by_table.equal, by_table.outermost, by_table.in_vdso,
		      by_table.in_plt, by_table.in_handler, by_table.on_other_stack,
		      by_pointer.equal, by_table.unknown, r.header.crashes);
	assert_int_equal(by_table.walked, atoi(wanted));
	assert_int_equal(by_table.different, 0);
	assert_true(by_table.unknown + r.header.crashes <= by_table.walked / 10);
	assert_int_equal(by_table.outermost, by_table.walked);
	assert_true(by_table.in_handler > 0 && by_table.on_other_stack > 0);
	assert_true(by_pointer.equal < by_table.walked / 2);
}

static void in_the_main_thread(void **state)
{
	(void)state;
	compare_walks("main");
}

static void in_another_thread(void **state)
{
	(void)state;
	compare_walks("thread");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_main_thread),
		cmocka_unit_test(in_another_thread),
	};

	if (argc != 3)
		return 2;
	command = argv[1];
	wanted = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
