/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of threads: see tls_place.h. They change while they are read, and a list of lies may
 * lead in circles: a walk is as long as the process has threads, and some more. What was found is
 * kept, and believed again only while the thread's struct still has its number.
 *
 * musl, x86-64: each thread begins with its own address; the ring's pointers and the thread's
 * number follow. Where a first one is, musl tells nobody: it is in the C library's or the
 * program's data, in the heap, or at the end of a thread's stack, and is known by its two
 * neighbours, who point back. While musl's loader starts it has a first struct, which it leaves as
 * it is for a larger one: only the one that lives on gets a stack canary.
 */
#include "reader/tls/tls_place.h"

#include "base/array.h"
#include "reader/tls/glibc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WALK_MORE 64
#define WALK_CANNED 4096 /* where no process tells how many threads it has */
#define TRIES 3

#define RING_PREVIOUS 2
#define RING_NEXT 3
#define RING_CANARY 5
#define RING_TID 6
#define RING_WORDS 7
#define SCAN_BLOCK 65536
#define SCAN_HEAD_BLOCKS 16
#define SCAN_MAX (UINT64_C(64) << 20)

static int count_thread(void *arg, int32_t tid)
{
	(void)tid;
	++*(size_t *)arg;
	return 0;
}

static size_t walk_limit(const struct target *t)
{
	size_t count = 0;

	return target_threads(t, count_thread, &count) < 0 ? WALK_CANNED : 2 * count + WALK_MORE;
}

static int thread_lists_remember(struct target *t, int32_t tid, uint64_t pointer)
{
	struct target_thread *one =
		array_add(&t->known, &t->known_count, &t->known_room, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = (struct target_thread){tid, pointer};
	return 0;
}

static int tid_matches(struct target *t, int32_t tid, uint64_t pointer)
{
	uint64_t words[RING_WORDS];
	const struct glibc *g;
	int32_t found = 0;

	if (glibc_find(t, &g) == 0) {
		uint64_t thread = pointer;

#if defined(__aarch64__)
		thread -= g->pthread_bytes;
#endif
		return target_read(t, thread + g->fields[GLIBC_PTHREAD_TID].offset, &found,
				   sizeof(found)) == 0 &&
		       found == tid;
	}
	return target_read(t, pointer, words, sizeof(words)) == 0 && words[0] == pointer &&
	       (int32_t)words[RING_TID] == tid;
}

static int thread_lists_find_known(struct target *t, int32_t tid, uint64_t *pointer)
{
	for (size_t i = 0; i < t->known_count; i++)
		if (t->known[i].tid == tid && tid_matches(t, tid, t->known[i].pointer)) {
			*pointer = t->known[i].pointer;
			return 0;
		}
	return -ENOTSUP;
}

static int walk_glibc_list(struct target *t, const struct glibc *g, enum glibc_name list,
			   size_t limit)
{
	uint64_t head = g->rtld_global + g->fields[list].offset, node;
	int rc = glibc_word(t, g, GLIBC_LIST_NEXT, head, &node);

	for (size_t i = 0; rc == 0 && node != head && i < limit; i++) {
		uint64_t thread = node - g->fields[GLIBC_PTHREAD_LIST].offset;
		int32_t tid;

		rc = target_read(t, thread + g->fields[GLIBC_PTHREAD_TID].offset, &tid,
				 sizeof(tid));
#if defined(__aarch64__)
		thread += g->pthread_bytes;
#endif
		rc = rc ? rc : thread_lists_remember(t, tid, thread);
		rc = rc ? rc : glibc_word(t, g, GLIBC_LIST_NEXT, node, &node);
	}
	return rc;
}

static int walk_glibc(struct target *t)
{
	size_t limit = walk_limit(t);
	const struct glibc *g;
	int rc = glibc_find(t, &g);

	if (rc)
		return rc;
	rc = walk_glibc_list(t, g, GLIBC_STACK_USED, limit);
	return rc ? rc : walk_glibc_list(t, g, GLIBC_STACK_USER, limit);
}

static int thread_lists_read_ring(const struct target *t, uint64_t at, uint64_t *words)
{
	int rc = at & 7 ? -EFAULT : target_read(t, at, words, RING_WORDS * sizeof(*words));

	if (rc)
		return rc;
	return words[0] == at && words[RING_CANARY] && (int32_t)words[RING_TID] > 0 ? 0 : -EFAULT;
}

/* A copy of a thread's struct, or what is left of one, has neighbours that do not know it. */
static int is_in_ring(const struct target *t, uint64_t at, const uint64_t *words)
{
	uint64_t next[RING_WORDS], previous[RING_WORDS];

	return thread_lists_read_ring(t, words[RING_NEXT], next) == 0 &&
	       next[RING_PREVIOUS] == at &&
	       thread_lists_read_ring(t, words[RING_PREVIOUS], previous) == 0 &&
	       previous[RING_NEXT] == at;
}

/* Remembers all threads of musl's ring, of which one is at @pointer. 0, -ENOTSUP or -ENOMEM. */
static int walk_ring(struct target *t, uint64_t pointer)
{
	uint64_t words[RING_WORDS], at = pointer;
	size_t limit = walk_limit(t);

	t->known_count = 0;
	for (size_t i = 0; i < limit; i++) {
		if (thread_lists_read_ring(t, at, words) || !is_in_ring(t, at, words))
			return -ENOTSUP;
		if (thread_lists_remember(t, (int32_t)words[RING_TID], at))
			return -ENOMEM;
		at = words[RING_NEXT];
		if (at == pointer)
			return 0;
	}
	return -ENOTSUP;
}

#if defined(__x86_64__)
struct scan {
	uint64_t left; /* bytes that may still be looked at */
	uint64_t block[SCAN_BLOCK / 8];
};

static int scan_block(struct target *t, struct scan *s, uint64_t at, uint64_t bytes,
		      uint64_t *found)
{
	if (bytes > s->left || target_read(t, at, s->block, bytes))
		return 0;
	s->left -= bytes;
	for (size_t i = 0; i + RING_WORDS <= bytes / 8; i++) {
		uint64_t words[RING_WORDS];

		if (s->block[i] != at + i * 8 || thread_lists_read_ring(t, at + i * 8, words) ||
		    !is_in_ring(t, at + i * 8, words))
			continue;
		*found = at + i * 8;
		return 1;
	}
	return 0;
}

/* Of a large mapping its beginning and its end: there heaps and stacks have threads' structs. */
static int scan_mapping(struct target *t, struct scan *s, const struct proc_map *m, uint64_t *found)
{
	uint64_t bytes = m->end - m->start, at = 0;

	if (memcmp(m->permissions, "rw-p", 4) != 0 || strcmp(m->path, "[stack]") == 0)
		return 0;
	while (at < bytes) {
		uint64_t n = bytes - at < SCAN_BLOCK ? bytes - at : SCAN_BLOCK;

		if (scan_block(t, s, m->start + at, n, found))
			return 1;
		at += n;
		if (at == SCAN_HEAD_BLOCKS * SCAN_BLOCK && bytes - at > SCAN_BLOCK)
			at = bytes - SCAN_BLOCK;
	}
	return 0;
}

/* The libraries' and the program's data first: mostly it is there. */
static int scan_for_thread(struct target *t, uint64_t *found)
{
	struct scan *s = malloc(sizeof(*s));
	int is_found = 0;

	if (!s)
		return -ENOMEM;
	s->left = SCAN_MAX;
	for (size_t i = t->mapping_count; i-- > 0 && !is_found;)
		is_found = scan_mapping(t, s, &t->mappings[i], found);
	free(s);
	return is_found ? 0 : -ENOTSUP;
}
#else
static int scan_for_thread(struct target *t, uint64_t *found)
{
	(void)t, (void)found;
	return -ENOTSUP;
}
#endif

/* Walks from a thread that is known, else from one that is searched for in memory. */
static int walk_musl(struct target *t)
{
	uint64_t first = t->ring;
	int rc = -ENOTSUP;

	for (int i = 0; i < TRIES && first && rc; i++)
		rc = walk_ring(t, first);
	if (rc == 0 || t->has_scanned)
		return rc;
	t->has_scanned = 1;
	rc = scan_for_thread(t, &first);
	for (int i = 0; i < TRIES && rc == 0; i++)
		if (walk_ring(t, first) == 0) {
			t->ring = first;
			return 0;
		}
	return rc ? rc : -ENOTSUP;
}

int thread_lists_find(struct target *t, int32_t tid, uint64_t *pointer)
{
	int rc = thread_lists_find_known(t, tid, pointer);

	if (rc == 0)
		return 0;
	t->known_count = 0;
	rc = tls_libc_of(t) == TLS_LIBC_GLIBC ? walk_glibc(t) : walk_musl(t);
	return rc == -ENOMEM ? rc : thread_lists_find_known(t, tid, pointer);
}
