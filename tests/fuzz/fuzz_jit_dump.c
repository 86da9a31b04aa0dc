/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a jitdump that is looked at while it grows. The first byte
 * says where it is cut. What is found must lie where it was asked for.
 */
#include "elf/names/jit_dump.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET ((size_t)1 << 20)

static volatile size_t touched;

static void ask(const struct jit_code *c, uint64_t pc, uint64_t time_ns)
{
	struct elf_place place;

	if (jit_code_find(c, pc, time_ns, &place))
		return;
	if (place.address > pc || pc - place.address >= JIT_CODE_MAX || place.line < 0)
		abort();
	touched += strlen(place.function) + (place.file ? strlen(place.file) : 0);
}

/* Until nothing is new: portions must come to an end. */
static void look(struct jit_dump *d, int fd, struct jit_code *c)
{
	uint64_t end = (uint64_t)lseek(fd, 0, SEEK_END);

	for (uint64_t looks = 0; jit_dump_read(d, fd, 77, 5, 64, c) > 0; looks++)
		if (looks > end || d->position > end)
			abort();
}

static void put(int fd, const uint8_t *data, size_t size)
{
	if (lseek(fd, 0, SEEK_END) < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	size_t budget = BUDGET, cut;
	struct jit_code *c;
	struct jit_dump d = {0};

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (size < 1 || ftruncate(fd, 0))
		return 0;
	c = jit_code_new(&budget);
	cut = (size - 1) * data[0] / 255;
	put(fd, data + 1, cut);
	look(&d, fd, c);
	put(fd, data + 1 + cut, size - 1 - cut);
	look(&d, fd, c);
	for (uint64_t i = 0; i < 128; i++)
		ask(c, i * 0x80, i * 10);
	ask(c, UINT64_MAX, UINT64_MAX);
	jit_code_free(c);
	if (budget != BUDGET)
		abort();
	return 0;
}
