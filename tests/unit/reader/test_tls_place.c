/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places and addresses of thread-local variables over canned memory: the formulas of both machines
 * and both C libraries, slots that are not filled in yet, and DTVs that are too short or too old.
 */
#include "canned.h"
#include "reader/tls/tls_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define BIAS UINT64_C(0x7f0000000000)
#define SLOT UINT64_C(0x3000)
#define RESOLVER UINT64_C(0x7f0000100000)
#define ARGUMENT UINT64_C(0x7f0000200010)
#define POINTER UINT64_C(0x7f0000300000)
#define DTV UINT64_C(0x7f0000400010)

/* The relocations of a lazily bound library are in a part of its file that nobody writes. */
static const char maps[] = "7f0000100000-7f0000101000 r-xp 00000000 fe:00 7  /lib/libc.so.6\n"
			   "7f0000200000-7f0000201000 rw-p 00000000 00:00 0 \n"
			   "7f0000500000-7f0000501000 r--p 00000000 fe:00 9  /lib/lib.so\n";

struct fixture {
	struct canned memory;
	struct target *target;
};

static int set_up(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	*state = &f;
	return target_from_text(&f.target, maps, sizeof(maps) - 1, &canned_source, &f.memory);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	target_close(f->target);
	return 0;
}

static int64_t local_exec(int machine, uint64_t value, uint64_t bytes, uint64_t alignment,
			  uint64_t address)
{
	struct tls_symbol s = {.machine = machine,
			       .value = value,
			       .memory_bytes = bytes,
			       .alignment = alignment,
			       .address = address};

	return tls_local_exec_offset(&s);
}

/* By hand from the two ABIs; tests/acceptance/tls_places.sh asks programs. */
static void test_local_exec(void **state)
{
	(void)state;
	assert_int_equal(local_exec(EM_X86_64, 0, 8, 8, 0x3df8), -8);
	assert_int_equal(local_exec(EM_X86_64, 0, 17, 16, 0x3de0), -32);
	assert_int_equal(local_exec(EM_X86_64, 16, 17, 16, 0x3de0), -16);
	assert_int_equal(local_exec(EM_X86_64, 4096, 4200, 4096, 0x5000), -4096);
	assert_int_equal(local_exec(EM_X86_64, 0, 4200, 4096, 0x5000), -8192);
	/* a segment that does not begin where its alignment says */
	assert_int_equal(local_exec(EM_X86_64, 0, 16, 64, 0x3df0), -16);
	assert_int_equal(local_exec(EM_X86_64, 0, 17, 64, 0x3df0), -80);
	assert_int_equal(local_exec(EM_AARCH64, 0, 8, 8, 0x1fdf8), 16);
	assert_int_equal(local_exec(EM_AARCH64, 24, 32, 8, 0x1fdf8), 40);
	assert_int_equal(local_exec(EM_AARCH64, 0, 8, 32, 0x1fde0), 32);
	assert_int_equal(local_exec(EM_AARCH64, 0, 8, 64, 0x1fdc0), 64);
	assert_int_equal(local_exec(EM_AARCH64, 4, 8, 4096, 0x20000), 4100);
	assert_int_equal(local_exec(EM_AARCH64, 0, 8, 64, 0x1fdf0), 48);
}

static struct tls_symbol symbol(int machine, enum tls_model model)
{
	return (struct tls_symbol){.machine = machine, .model = model, .slot = SLOT, .value = 0x20};
}

static int place(struct fixture *f, const struct tls_symbol *s, enum tls_libc libc,
		 const uint64_t *words, struct tls_place *p)
{
	canned_put(&f->memory, BIAS + SLOT, words, 16);
	*p = (struct tls_place){.libc = libc};
	return tls_symbol_place(f->target, s, BIAS, p);
}

static void test_initial_exec(void **state)
{
	static const uint64_t below[2] = {(uint64_t)-24}, above[2] = {0x40}, empty[2] = {0};
	static const struct {
		int machine;
		enum tls_libc libc;
		const uint64_t *words;
		int rc;
		int64_t offset;
	} cases[] = {
		{EM_X86_64, TLS_LIBC_GLIBC, below, 0, -24},
		{EM_X86_64, TLS_LIBC_MUSL, empty, -EAGAIN, 0},
		{EM_X86_64, TLS_LIBC_GLIBC, above, -EAGAIN, 0},
		{EM_AARCH64, TLS_LIBC_GLIBC, above, 0, 0x40},
		{EM_AARCH64, TLS_LIBC_GLIBC, empty, -EAGAIN, 0},
		/* the first library of a program that has no such variable itself */
		{EM_AARCH64, TLS_LIBC_MUSL, empty, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f = *state;
		struct tls_symbol s = symbol(cases[i].machine, TLS_INITIAL_EXEC);
		struct tls_place p;

		f->memory.count = 0;
		assert_int_equal(place(f, &s, cases[i].libc, cases[i].words, &p), cases[i].rc);
		assert_false(p.is_dynamic);
		assert_int_equal(p.offset, cases[i].offset);
	}
}

/* A slot of a neighbour's: what lies between is added. */
static void test_neighbour(void **state)
{
	static const uint64_t words[2] = {(uint64_t)-64};
	struct tls_symbol s = symbol(EM_X86_64, TLS_INITIAL_EXEC);
	struct tls_place p;

	s.addend = 0x18;
	assert_int_equal(place(*state, &s, TLS_LIBC_GLIBC, words, &p), 0);
	assert_int_equal(p.offset, -40);
	assert_int_equal(p.edge, -72); /* where its module begins */
}

static void test_descriptor_x86(void **state)
{
	static const uint64_t fixed[2] = {RESOLVER, (uint64_t)-8}, moving[2] = {RESOLVER, ARGUMENT},
			      empty[2] = {0, ARGUMENT}, lazy[2] = {RESOLVER, 0x7f0000500040},
			      argument[3] = {5, 0x10, 3};
	struct tls_symbol s = symbol(EM_X86_64, TLS_DESCRIPTOR);
	struct fixture *f = *state;
	struct tls_place p;

	assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, fixed, &p), 0);
	assert_false(p.is_dynamic);
	assert_int_equal(p.offset, -8);
	f->memory.count = 0;
	assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, empty, &p), -EAGAIN);
	f->memory.count = 0;
	assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, lazy, &p), -EAGAIN);
	f->memory.count = 0;
	canned_put(&f->memory, ARGUMENT, argument, sizeof(argument));
	assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, moving, &p), 0);
	assert_true(p.is_dynamic);
	assert_int_equal(p.module, 5);
	assert_int_equal(p.offset, 0x10);
	assert_int_equal(p.generation, 3);
}

/* musl's has two words; a third one is not asked for. */
static void test_descriptor_musl(void **state)
{
	static const uint64_t moving[2] = {RESOLVER, ARGUMENT}, argument[2] = {2, 0x18};
	struct tls_symbol s = symbol(EM_X86_64, TLS_DESCRIPTOR);
	struct fixture *f = *state;
	struct tls_place p;

	canned_put(&f->memory, ARGUMENT, argument, sizeof(argument));
	assert_int_equal(place(f, &s, TLS_LIBC_MUSL, moving, &p), 0);
	assert_int_equal(p.module, 2);
	assert_int_equal(p.generation, 0);
}

#define BTI_C 0xd503245f
#define NOP 0xd503201f
#define LDR_X0_8 0xf9400400
#define RET 0xd65f03c0
#define STP 0xa9bf03e0

static void test_descriptor_aarch64(void **state)
{
	static const struct {
		uint32_t code[4];
		uint64_t argument;
		int is_dynamic;
	} cases[] = {
		{{LDR_X0_8, RET, 0, 0}, 0x20, 0},
		{{BTI_C, LDR_X0_8, RET, 0}, 0x20, 0},
		{{NOP, BTI_C, LDR_X0_8, RET}, 0x20, 0},
		/* so large a block that an offset looks like an address */
		{{BTI_C, LDR_X0_8, RET, 0}, ARGUMENT, 0},
		{{BTI_C, STP, STP, STP}, ARGUMENT, 1},
		{{LDR_X0_8, STP, RET, 0}, ARGUMENT, 1},
	};
	static const uint64_t argument[3] = {7, 0x30, 1};
	struct tls_symbol s = symbol(EM_AARCH64, TLS_DESCRIPTOR);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t words[2] = {RESOLVER, cases[i].argument};
		struct fixture *f = *state;
		struct tls_place p;

		f->memory.count = 0;
		canned_put(&f->memory, RESOLVER, cases[i].code, sizeof(cases[i].code));
		canned_put(&f->memory, ARGUMENT, argument, sizeof(argument));
		assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, words, &p), 0);
		assert_int_equal(p.is_dynamic, cases[i].is_dynamic);
		assert_int_equal(p.offset, p.is_dynamic ? 0x30 : (int64_t)cases[i].argument);
	}
}

/* Code that cannot be read: a small argument can be no address. */
static void test_descriptor_aarch64_unreadable(void **state)
{
	static const uint64_t small[2] = {RESOLVER, 0x30}, large[2] = {RESOLVER, ARGUMENT};
	struct tls_symbol s = symbol(EM_AARCH64, TLS_DESCRIPTOR);
	struct fixture *f = *state;
	struct tls_place p;

	assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, small, &p), 0);
	assert_int_equal(p.offset, 0x30);
	f->memory.count = 0;
	assert_int_equal(place(f, &s, TLS_LIBC_GLIBC, large, &p), -EFAULT);
}

static void test_modules(void **state)
{
	static const uint64_t words[2] = {4, 0x28}, empty[2] = {0};
	struct tls_symbol general = symbol(EM_X86_64, TLS_GENERAL_DYNAMIC),
			  local = symbol(EM_X86_64, TLS_LOCAL_DYNAMIC);
	struct fixture *f = *state;
	struct tls_place p;

	assert_int_equal(place(f, &general, TLS_LIBC_MUSL, words, &p), 0);
	assert_int_equal(p.module, 4);
	assert_int_equal(p.offset, 0x28);
	assert_int_equal(place(f, &local, TLS_LIBC_MUSL, words, &p), 0);
	assert_int_equal(p.module, 4);
	assert_int_equal(p.offset, 0x20);
	f->memory.count = 0;
	assert_int_equal(place(f, &general, TLS_LIBC_MUSL, empty, &p), -EAGAIN);
	f->memory.count = 0;
	assert_int_equal(tls_symbol_place(f->target, &general, BIAS, &p), -EFAULT);
}

static struct tls_place dynamic(int machine, enum tls_libc libc, uint64_t module)
{
	return (struct tls_place){.is_dynamic = 1,
				  .machine = machine,
				  .libc = libc,
				  .module = module,
				  .generation = 3,
				  .offset = 0x10};
}

/* Where the pointer to the vector stands; how wide an entry is. */
static void test_dtv_of_all(void **state)
{
	static const uint64_t dtv = DTV;
	static const uint64_t glibc[] = {2, 0, /* generation */ 3, 0, 0x1000, 0, 0x2000, 0};
	static const uint64_t musl[] = {0, 0, /* length */ 2, 0x1000, 0x2000};
	static const struct {
		int machine;
		enum tls_libc libc;
		int64_t at;
	} cases[] = {{EM_X86_64, TLS_LIBC_GLIBC, 8},
		     {EM_X86_64, TLS_LIBC_MUSL, 8},
		     {EM_AARCH64, TLS_LIBC_GLIBC, 0},
		     {EM_AARCH64, TLS_LIBC_MUSL, -8}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int is_musl = cases[i].libc == TLS_LIBC_MUSL;
		struct fixture *f = *state;
		uint64_t address = 0;

		f->memory.count = 0;
		canned_put(&f->memory, POINTER + (uint64_t)cases[i].at, &dtv, sizeof(dtv));
		canned_put(&f->memory, DTV - 16, is_musl ? musl : glibc,
			   is_musl ? sizeof(musl) : sizeof(glibc));
		for (uint64_t m = 1; m <= 2; m++) {
			struct tls_place p = dynamic(cases[i].machine, cases[i].libc, m);

			assert_int_equal(tls_address(f->target, &p, POINTER, &address), 0);
			assert_int_equal(address, m * 0x1000 + 0x10);
		}
		struct tls_place p = dynamic(cases[i].machine, cases[i].libc, 3);
		assert_int_equal(tls_address(f->target, &p, POINTER, &address), -ENODATA);
	}
}

static int address_with(struct fixture *f, const uint64_t *vector, size_t bytes, struct tls_place p)
{
	static const uint64_t dtv = DTV;
	uint64_t address;

	f->memory.count = 0;
	canned_put(&f->memory, POINTER + 8, &dtv, sizeof(dtv));
	canned_put(&f->memory, DTV - 16, vector, bytes);
	return tls_address(f->target, &p, POINTER, &address);
}

static void test_untouched(void **state)
{
	static const uint64_t unset[] = {2, 0, 3, 0, UINT64_MAX, 0}, zero[] = {2, 0, 3, 0, 0, 0},
			      old[] = {2, 0, 2, 0, 0x1000, 0}, good[] = {2, 0, 3, 0, 0x1000, 0},
			      absent = 0;
	struct tls_place p = dynamic(EM_X86_64, TLS_LIBC_GLIBC, 1);
	struct fixture *f = *state;
	uint64_t address;

	assert_int_equal(address_with(f, unset, sizeof(unset), p), -ENODATA);
	assert_int_equal(address_with(f, zero, sizeof(zero), p), -ENODATA);
	assert_int_equal(address_with(f, old, sizeof(old), p), -ENODATA);
	assert_int_equal(address_with(f, good, sizeof(good), p), 0);
	p.libc = TLS_LIBC_UNKNOWN;
	assert_int_equal(address_with(f, good, sizeof(good), p), -ENOTSUP);
	p.libc = TLS_LIBC_GLIBC;
	/* a thread that is being made */
	f->memory.count = 0;
	canned_put(&f->memory, POINTER + 8, &absent, sizeof(absent));
	assert_int_equal(tls_address(f->target, &p, POINTER, &address), -ENODATA);
}

/* A vector that claims to have every entry there is. */
static void test_lies(void **state)
{
	static const uint64_t lies[] = {UINT64_MAX, 0, UINT64_MAX, 0, 0x1000, 0};
	struct tls_place p = dynamic(EM_X86_64, TLS_LIBC_GLIBC, UINT64_MAX / 16);
	struct fixture *f = *state;
	uint64_t address;

	assert_int_equal(address_with(f, lies, sizeof(lies), p), -EFAULT);
	f->memory.count = 0;
	assert_int_equal(tls_address(f->target, &p, UINT64_MAX - 4, &address), -EFAULT);
	assert_int_equal(target_read(f->target, UINT64_MAX - 4, &address, 8), -EFAULT);
}

static void test_libc(void **state)
{
	static const struct {
		const char *path;
		enum tls_libc libc;
	} cases[] = {{"/usr/lib/x86_64-linux-gnu/libc.so.6", TLS_LIBC_GLIBC},
		     {"/lib64/ld-2.31.so (deleted)", TLS_LIBC_GLIBC},
		     {"/lib/ld-musl-aarch64.so.1", TLS_LIBC_MUSL},
		     {"/usr/lib/x86_64-linux-musl/libc.so", TLS_LIBC_MUSL},
		     {"/usr/bin/static", TLS_LIBC_UNKNOWN}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct target *t = NULL;
		char text[256];
		int n = snprintf(text, sizeof(text), "1000-2000 r-xp 00000000 08:01 5 %s\n",
				 cases[i].path);

		assert_int_equal(target_from_text(&t, text, (size_t)n, &canned_source, NULL), 0);
		assert_int_equal(tls_libc_of(t), cases[i].libc);
		target_close(t);
	}
}

int main(void)
{
#define WITH_TARGET(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local_exec),
		WITH_TARGET(test_initial_exec),
		WITH_TARGET(test_neighbour),
		WITH_TARGET(test_descriptor_x86),
		WITH_TARGET(test_descriptor_musl),
		WITH_TARGET(test_descriptor_aarch64),
		WITH_TARGET(test_descriptor_aarch64_unreadable),
		WITH_TARGET(test_modules),
		WITH_TARGET(test_dtv_of_all),
		WITH_TARGET(test_untouched),
		WITH_TARGET(test_lies),
		cmocka_unit_test(test_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
