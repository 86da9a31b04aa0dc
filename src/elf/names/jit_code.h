/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that a process made at run time, by address and time: filled from perf maps
 * (jit_map.h) and jitdumps (jit_dump.h), asked for the function at a pc.
 *
 * An address may hold one function now and another later. Entries are added in the order in
 * which they became true, each since its moment; of those that cover a pc the last one that
 * was there at the time of the sample is its function.
 *
 * The producer is hostile: memory is taken out of a budget that may be shared by many, and a
 * lookup looks at a bounded number of entries, the newest of a page of 4 KiB. Not thread-safe,
 * but for one thing: another thread may free, when nobody uses it, what shares the budget, and
 * read strings that were found.
 */
#ifndef WEFT_ELF_JIT_CODE_H
#define WEFT_ELF_JIT_CODE_H

#include "elf/module.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jit_code;

/* Longer names are cut, larger functions rejected. */
#define JIT_NAME_MAX 1024
#define JIT_CODE_MAX (UINT64_C(64) << 20)

/* @budget: bytes that may still be used; taken from as needed, given back by the free. */
struct jit_code *jit_code_new(size_t *budget);
void jit_code_free(struct jit_code *c); /* takes NULL */

struct jit_entry {
	uint64_t start, size;
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0 = always */
	const char *name;  /* copied */
	size_t name_bytes;
	uint32_t line_first, line_count; /* of jit_code_add_line(); 0 = none */
};

/* 0; -EINVAL: no such function can be; -ENOMEM: no memory, or the budget is spent. */
int jit_code_add(struct jit_code *c, const struct jit_entry *e);

/*
 * One line of a source, from @address on. Lines are added first, in ascending order of their
 * addresses, and then belong to the entry that names them. @file NULL: unknown from here on.
 * Returns the line's number, to be used as line_first, or -1.
 */
int64_t jit_code_add_line(struct jit_code *c, uint64_t address, uint32_t line, const char *file,
			  size_t file_bytes);

/* What was loaded at @start before @time_ns is now at @to as well. 0, -ENOENT or as above. */
int jit_code_move(struct jit_code *c, uint64_t start, uint64_t to, uint64_t time_ns);

/*
 * The function at @pc at that time; if there was none yet, the first one after it (some compilers
 * report code only after it has run). 0 or -ENOENT. Strings live as long as @c.
 */
int jit_code_find(const struct jit_code *c, uint64_t pc, uint64_t time_ns, struct elf_place *out);

size_t jit_code_count(const struct jit_code *c);

#endif
