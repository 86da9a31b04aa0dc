/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of JIT code share: a file that grows, and questions to what was read. */
#ifndef JIT_TEST_H
#define JIT_TEST_H

#include "elf/names/jit_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define EVERYTHING UINT64_MAX

static inline int new_file(void)
{
	int fd = memfd_create("jit-test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline void append(int fd, const void *bytes, size_t count)
{
	assert_true(lseek(fd, 0, SEEK_END) >= 0);
	assert_int_equal(write(fd, bytes, count), count);
}

/* The name at @pc at a time; "" when there is none. */
static inline const char *name_at(const struct jit_code *c, uint64_t pc, uint64_t time_ns)
{
	struct elf_place place;

	return jit_code_find(c, pc, time_ns, &place) == 0 ? place.function : "";
}

/* "file:line" at @pc; "" when there is none. Valid until the next call. */
static inline const char *line_of(const struct jit_code *c, uint64_t pc, uint64_t time_ns)
{
	static char text[256];
	struct elf_place place;

	if (jit_code_find(c, pc, time_ns, &place) || !place.file)
		return "";
	snprintf(text, sizeof(text), "%s:%d", place.file, place.line);
	return text;
}

#endif
