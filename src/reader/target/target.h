/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another process, looked at from outside: its memory and what is mapped there. Nothing that is
 * read there is believed: every length is bounded by the caller, every address may be a lie.
 * One thread at a time. The process may end or exec at any moment: then calls say -ESRCH.
 *
 *   target.c       memory and mappings
 *   target_file.c  the file behind a mapping
 *   target_image.c a file that is gone, from memory
 *   settle.c       read what may change meanwhile
 *   still.c        proof that a thread stood still
 *   thread_stop.c  a thread, stopped for a moment
 *   live.c         a context, copied out
 */
#ifndef WEFT_READER_TARGET_H
#define WEFT_READER_TARGET_H

#include "proc/proc_maps.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct target;
struct glibc;

/*
 * Where memory and files come from; tests and fuzzers have one of their own. A file is a descriptor
 * or -errno, only ever a regular one.
 */
struct target_source {
	ssize_t (*readv)(const struct target *t, const struct iovec *to, const struct iovec *from,
			 unsigned int count);
	int (*open_file)(const struct target *t, const struct proc_map *m); /* of a mapping */
	int (*open_program)(const struct target *t);
};

/* A thread whose thread pointer is known: thread_lists.c has these. */
struct target_thread {
	int32_t tid; /* in its innermost PID namespace */
	uint64_t pointer;
};

struct target {
	int32_t pid;
	/* Memory is read through it: @pid, or another thread when the first one has ended. */
	int32_t member;
	uint64_t pid_start; /* field 22 of stat: another process under this pid has another */
	int proc_fd;        /* /proc/PID; -1: not a process, see target_from_text() */
	struct proc_map *mappings; /* by address */
	size_t mapping_count, mapping_room;
	const struct target_source *source;
	void *source_arg;
	/* The rest belongs to reader/tls, which looks for threads; target_refresh() resets it. */
	struct glibc *glibc;
	struct target_thread *known;
	size_t known_count, known_room;
	uint64_t ring; /* any thread of musl's ring; 0 = none is known */
	int has_scanned;
	uint64_t robust_distance; /* from the thread pointer to the robust list; 0: not known yet */
};

/*
 * target_open() - -ESRCH (never was, has ended, or has no memory: a zombie, a kernel thread),
 * -EACCES or -EPERM (not ours to read), -ENOMEM. target_refresh() reads the mappings again: after
 * -ESRCH by a call below, too, for the thread through which memory was read may have ended.
 */
int target_open(struct target **out, int32_t pid);
int target_refresh(struct target *t);
void target_close(struct target *t);

/* Whether it still runs: 0 or -ESRCH. A pid that was given to another process is not it. */
int target_is_there(const struct target *t);

/* What looks like a process: @maps is text as in /proc/PID/maps, memory and files are @source's. */
int target_from_text(struct target **out, const char *maps, size_t bytes,
		     const struct target_source *source, void *source_arg);

/* The mapping that @address lies in, or NULL. */
const struct proc_map *target_mapping_at(const struct target *t, uint64_t address);

/* All of @bytes or an error: -EFAULT, -ESRCH, -EPERM. */
int target_read(const struct target *t, uint64_t address, void *to, size_t bytes);
int target_read_u64(const struct target *t, uint64_t address, uint64_t *to);
/* Several places by one system call, in order: total bytes read, or -errno. */
ssize_t target_readv(const struct target *t, const struct iovec *to, const struct iovec *from,
		     unsigned int count);

/* Threads: calls @f for each tid until it returns not 0, and returns that; -errno. */
int target_threads(const struct target *t, int (*f)(void *arg, int32_t tid), void *arg);

/* --- for target*.c: the files of a real process */

/*
 * A mapping's file, by map_files or root (another mount namespace): the one that is mapped. An ELF
 * file that is not to be had is put together from memory, without section headers; else -ESTALE
 * when another has its name now.
 */
int target_file_open(const struct target *t, const struct proc_map *m);
int target_program_open(const struct target *t); /* /proc/PID/exe */
/* The file whose first mapping is @first, put together from memory. */
int target_image_open(const struct target *t, const struct proc_map *first);

#endif
