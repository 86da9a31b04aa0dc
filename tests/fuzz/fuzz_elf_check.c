/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as an ELF file that `weft check` judges, under any name: it stands at
 * the input's end, whose last byte says how long it is. Whatever it finds ends in whole strings.
 */
#include "reader/check/elf_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct check_verdict *v)
{
	if (v->count < 0 || v->count > CHECK_FINDINGS_MAX)
		abort();
	for (int i = 0; i < v->count; i++) {
		const struct check_finding *f = &v->findings[i];

		if (!f->key || !f->title || f->state > CHECK_BAD ||
		    !memchr(f->value, 0, sizeof(f->value)) || !memchr(f->mend, 0, sizeof(f->mend)))
			abort();
	}
	check_is_good(v);
}

static void judge(int fd, const char *name, int is_program)
{
	struct elf_check c;

	if (elf_check(fd, name, is_program, &c))
		return;
	for (int abi = 0; abi < CHECK_ABIS; abi++)
		look_at(&c.verdicts[abi]);
	elf_check_passed(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char name[256] = "";
	size_t length = size ? data[size - 1] : 0;

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (length < size) {
		size -= 1 + length;
		memcpy(name, data + size, length);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	judge(fd, name, 0);
	judge(fd, "libcustomlabels-fuzz.so", 0);
	judge(fd, name, 1);
	return 0;
}
