/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a perf map that is looked at while it grows, is cut off and
 * grows again. The first byte says where. What is found must lie where it was asked for.
 */
#include "elf/names/jit_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t touched;

static void ask(const struct jit_code *c, uint64_t pc)
{
	struct elf_place place;

	if (jit_code_find(c, pc, pc, &place))
		return;
	if (place.address > pc || pc - place.address >= JIT_CODE_MAX)
		abort();
	if (strlen(place.function) > JIT_NAME_MAX)
		abort();
	touched += strlen(place.function);
}

static void look(struct jit_map *m, int fd, struct jit_code *c, uint64_t since_ns)
{
	uint64_t end = (uint64_t)lseek(fd, 0, SEEK_END);
	int64_t rc = jit_map_read(m, fd, since_ns, 100000, c);

	if (rc >= 0 && m->position > end)
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
	size_t budget = 1 << 20, cut;
	struct jit_code *c;
	struct jit_map m = {0};

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (size < 1 || ftruncate(fd, 0))
		return 0;
	c = jit_code_new(&budget);
	cut = (size - 1) * data[0] / 255;
	put(fd, data + 1, cut);
	if (data[0] & 1)
		jit_map_skip(&m, fd);
	look(&m, fd, c, 0);
	put(fd, data + 1 + cut, size - 1 - cut);
	look(&m, fd, c, 0x2000);
	if (ftruncate(fd, (off_t)(cut / 2)))
		abort();
	put(fd, data + 1, size - 1);
	look(&m, fd, c, 0x8000);
	for (uint64_t i = 0; i < 64; i++)
		ask(c, i * 0x400);
	ask(c, UINT64_MAX);
	jit_code_free(c);
	if (budget != 1 << 20)
		abort();
	return 0;
}
