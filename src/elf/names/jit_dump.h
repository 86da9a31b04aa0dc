/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitdump, jit-PID.dump: what a JIT compiler tells of its code in binary records (Linux,
 * tools/perf/Documentation/jitdump-specification.txt), in the byte order of its writer.
 *
 *   header  magic "JiTD" u32, version u32, total size u32, ELF machine u32, pad u32, pid u32,
 *           timestamp u64, flags u64
 *   record  id u32, total size u32, timestamp u64, then by its id
 *     0 LOAD        pid, tid u32; vma, code address, code size, code index u64; name, 0; code
 *     1 MOVE        pid, tid u32; vma, old address, new address, code size, code index u64
 *     2 DEBUG_INFO  code address, number of entries u64; entries {address u64, line u32,
 *                   discriminator u32, file, 0}: of the LOAD that follows
 *     3 CLOSE       the end
 *     4 UNWINDING_INFO, and others: passed over
 *
 * The file is read while it grows: a record that is not whole yet waits. Names and lines are
 * taken; the code itself and its unwind data are not read.
 */
#ifndef WEFT_ELF_JIT_DUMP_H
#define WEFT_ELF_JIT_DUMP_H

#include "elf/names/jit_code.h"

#include <stdint.h>

struct jit_dump {
	uint64_t position; /* of the first byte not yet taken; 0 = the header is to come */
	int swapped;       /* the other byte order */
	int foreign_clock; /* timestamps are a counter of the CPU */
	int closed;        /* by a CLOSE record */
	uint32_t pid;      /* whose code it is, as the process itself says */
	int lines_exact;   /* see jit_dump.c, shift_of() */
	/* Of the last DEBUG_INFO, until its LOAD comes. */
	uint64_t lines_address;
	uint32_t line_first, line_count;
};

/*
 * Takes the whole records that are new in @fd, but at most @most_bytes or so. @pid: the only
 * one whose records are taken, in its own namespace. @since_ns: the time of a record whose own
 * cannot be used. Returns the number of bytes taken, 0 = nothing new, or -errno: -ENOEXEC for
 * what is no jitdump or damaged, -ESRCH for one of another process, -ENOMEM: in all cases the
 * rest is not worth asking for.
 */
int64_t jit_dump_read(struct jit_dump *d, int fd, uint32_t pid, uint64_t since_ns,
		      uint64_t most_bytes, struct jit_code *code);

#endif
