/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file put together from the memory that it was loaded to: this test's own program, as it is and
 * with a few bytes of its headers and tables changed at random, many times over.
 */
#include "canned.h"
#include "reader/target/target.h"
#include "reader/tls/tls.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 3000
#define SEED UINT64_C(0x9e3779b97f4a7c15)
#define TOUCHED_BYTES 1024

extern __thread int image_variable;
__thread int image_variable = 3;

/* The program's segments, copied out of this process. */
struct copy {
	struct canned memory;
	struct proc_map first;
	struct target *target;
	uint8_t *bytes[CANNED_PIECES];
	uint64_t dynamic; /* address of the dynamic table */
};

static int copy_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct target *self = NULL;
	struct copy *c = arg;

	(void)size;
	assert_int_equal(target_open(&self, getpid()), 0);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;
		int k = c->memory.count;

		if (p->p_type == PT_DYNAMIC)
			c->dynamic = at;
		if (p->p_type != PT_LOAD)
			continue;
		c->bytes[k] = malloc(p->p_filesz);
		assert_non_null(c->bytes[k]);
		assert_int_equal(target_read(self, at, c->bytes[k], p->p_filesz), 0);
		canned_put(&c->memory, at, c->bytes[k], p->p_filesz);
		if (k == 0)
			c->first = (struct proc_map){.start = at, .end = at + p->p_filesz};
	}
	target_close(self);
	return 1; /* the program is the first one */
}

static void make_copy(struct copy *c)
{
	memset(c, 0, sizeof(*c));
	dl_iterate_phdr(copy_program, c);
	assert_int_equal(target_from_text(&c->target, "", 0, &canned_source, &c->memory), 0);
}

static void drop_copy(struct copy *c)
{
	for (int i = 0; i < c->memory.count; i++)
		free(c->bytes[i]);
	target_close(c->target);
}

static void test_own_program(void **state)
{
	struct tls_symbol s = {0}, file = {0};
	struct copy c;
	int fd;

	(void)state;
	make_copy(&c);
	fd = target_image_open(c.target, &c.first);
	assert_true(fd >= 0);
	assert_int_equal(tls_elf_find(fd, "image_variable", 1, &s), 0);
	close(fd);
	assert_int_equal(s.size, sizeof(int));
	assert_false(s.from_symtab);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(tls_elf_find(fd, "image_variable", 1, &file), 0);
	assert_memory_equal(&s, &file, sizeof(s));
	close(fd);
	drop_copy(&c);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Headers are at the beginning of the first piece, the dynamic table is in one of the last. */
static uint8_t *byte_to_change(struct copy *c, uint64_t random)
{
	uint64_t into = random >> 8;

	for (int i = 0; i < c->memory.count && random % 2; i++) {
		const struct canned_piece *p = &c->memory.piece[i];

		if (c->dynamic >= p->address && c->dynamic - p->address + 512 < p->bytes)
			return c->bytes[i] + (c->dynamic - p->address) + into % 512;
	}
	return c->bytes[0] + into % TOUCHED_BYTES;
}

static void test_changed(void **state)
{
	uint64_t random = SEED;
	int found = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct tls_symbol s;
		struct copy c;
		int fd;

		make_copy(&c);
		for (uint64_t n = 1 + next_random(&random) % 4; n > 0; n--) {
			uint8_t *byte = byte_to_change(&c, next_random(&random));

			*byte = (uint8_t)next_random(&random);
		}
		fd = target_image_open(c.target, &c.first);
		if (fd >= 0) {
			found += tls_elf_find(fd, "image_variable", 1, &s) == 0;
			close(fd);
		}
		drop_copy(&c);
	}
	/* some changes do no harm, others do */
	assert_in_range(found, 1, ROUNDS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_program),
		cmocka_unit_test(test_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
