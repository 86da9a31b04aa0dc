/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JIT code of one process: names for what lies in no file, from the perf map or the
 * jitdump that the process writes (elf/names/jit_map.h, elf/names/jit_dump.h; docs/names.md).
 *
 * The files are looked at again while they grow, at a bounded pace, and read once more when the
 * process is over. What is in a perf map before the process itself has written to it is of an
 * earlier process with that pid and lends no names. Used by the walker thread, but for jit_new().
 */
#ifndef WEFT_COLLECTOR_JIT_H
#define WEFT_COLLECTOR_JIT_H

#include "collector/process/maps.h"
#include "elf/module.h"

#include <stdint.h>
#include <sys/types.h>

struct jit;

/* What all processes together may remember of their JIT code. */
#define JIT_BUDGET_BYTES ((size_t)512 << 20)

/* Whose code: what is known at the process's first word, for later it may be gone. */
struct jit_owner {
	int root_fd, proc_fd; /* O_PATH, not ours; -1 = cannot be had */
	pid_t inside_pid;     /* as the process sees itself */
	uid_t uid;            /* that its files had then; (uid_t)-1 = not known */
	uint64_t start_ticks; /* since the machine's boot; 0 = not known */
};

/*
 * jit_new() - at the first word of a process, before it has made any code. The owner's descriptors
 * and @maps, its mappings as they are known, must live as long. NULL: out of memory.
 */
struct jit *jit_new(const struct jit_owner *owner, const struct maps *maps);
void jit_free(struct jit *j); /* takes NULL */

/* Can there be JIT code in @m? In what has no ELF file behind it; not in NULL. */
int jit_is_code(const struct mapping *m);

/*
 * jit_moment() - what is asked from now on is of a sample of @time_ns; now it is @now_ns. @budget:
 * see JIT_BUDGET_BYTES.
 */
void jit_moment(struct jit *j, size_t *budget, uint64_t time_ns, uint64_t now_ns);

/* The function at @pc at that moment: 0 and *out, whose strings live as long as @j; -ENOENT.
 * @j may be NULL. */
int jit_find(struct jit *j, uint64_t pc, struct elf_place *out);

/*
 * Is it better to ask for names later? A jitdump stays in a buffer of its writer until that is
 * full, and a process of whose code nothing is known yet may write a file when it ends. Not after a
 * jit_finish() that found no names.
 */
int jit_is_late(struct jit *j, size_t *budget, uint64_t now_ns);

/* Read what there is to its end, whatever the pace. */
void jit_finish(struct jit *j, size_t *budget, uint64_t now_ns);

#endif
