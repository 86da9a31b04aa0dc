/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognising the code that signal handlers return to, by its instructions: "system call
 * rt_sigreturn". Some libcs give it no unwind data, others describe it by expressions over
 * the kernel's frame; the kernel's layout is fixed, so tables hold just "signal frame".
 */
#include "elf/image/internal.h"

#include <errno.h>
#include <string.h>

/* More is a program, not a libc; its trampoline is in a library or has unwind data. */
#define SCAN_BYTES_MAX (8u << 20)
#define SCAN_CHUNK 65536u

struct code {
	uint8_t bytes[9];
	unsigned int size;
};

static struct code signal_return(int machine)
{
	/* mov $15, %rax; syscall */
	static const struct code x86_64 = {{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05},
					   9};
	/* mov x8, #139; svc #0 */
	static const struct code aarch64 = {{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}, 8};

	return machine == UNWIND_X86_64 ? x86_64 : aarch64;
}

int elf_is_signal_return(const struct elf_module *m, uint64_t start, uint64_t end)
{
	struct code code = signal_return(m->machine);
	size_t size = end - start < 64 ? (size_t)(end - start) : 64;
	uint8_t bytes[64];

	return elf_module_read(m, start, bytes, size) == 0 &&
	       memmem(bytes, size, code.bytes, code.size) != NULL;
}

/* In [*address, end) of one segment. */
static int scan(const struct elf_module *m, uint64_t *address, uint64_t end)
{
	struct code code = signal_return(m->machine);
	uint8_t bytes[SCAN_CHUNK];

	for (uint64_t at = *address; at + code.size <= end; at += SCAN_CHUNK - code.size + 1) {
		size_t size = end - at < SCAN_CHUNK ? (size_t)(end - at) : SCAN_CHUNK;
		const uint8_t *found;

		if (elf_module_read(m, at, bytes, size) != 0)
			return -ENOENT;
		found = memmem(bytes, size, code.bytes, code.size);
		if (found) {
			*address = at + (uint64_t)(found - bytes);
			return 0;
		}
	}
	return -ENOENT;
}

int elf_find_signal_return(const struct elf_module *m, uint64_t *address, uint64_t *end)
{
	struct code code = signal_return(m->machine);

	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *s = &m->segments[i];
		uint64_t from = *address > s->p_vaddr ? *address : s->p_vaddr;

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_X) || s->p_filesz > SCAN_BYTES_MAX ||
		    s->p_vaddr > UINT64_MAX - s->p_filesz)
			continue;
		if (from < s->p_vaddr + s->p_filesz &&
		    scan(m, &from, s->p_vaddr + s->p_filesz) == 0) {
			*address = from;
			*end = from + code.size;
			return 0;
		}
	}
	return -ENOENT;
}
