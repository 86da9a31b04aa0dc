/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a Go runtime: see go_threads.h. */
#include "reader/context/go_threads.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

#define GO_THREADS_MAX 16384
#define GO_WORDS_MAX 3
#define SCAN_WORDS 4096           /* that are read at once */
#define SCAN_BYTES_MAX (8u << 20) /* in which the list is looked for */
#define SCAN_PROBES_MAX 65536     /* of what might be an M */

/* ---- the list */

int go_read_words(const struct target *t, const uint64_t *address, uint64_t *word,
		  unsigned int count)
{
	struct iovec to[GO_WORDS_MAX], from[GO_WORDS_MAX];
	ssize_t n;

	for (unsigned int i = 0; i < count; i++) {
		to[i] = (struct iovec){&word[i], sizeof(*word)};
		from[i] = (struct iovec){(void *)(uintptr_t)address[i], sizeof(*word)};
	}
	n = target_readv(t, to, from, count);
	if (n < 0)
		return (int)n;
	return (size_t)n == count * sizeof(*word) ? 0 : -EFAULT;
}

/* One that is being made has no tid yet, and may have no goroutine of its own. */
static int go_add_thread(const struct target *t, struct go_threads *all, uint64_t m, uint64_t tid,
			 uint64_t g0)
{
	struct go_thread *one;
	uint64_t named = 0;

	if (!tid)
		return 0;
	if (tid > INT32_MAX || target_read_u64(t, g0 + GO_G_M, &named) || named != m)
		return -ENOEXEC;
	one = array_add(&all->thread, &all->count, &all->room, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct go_thread){tid, m};
	return 0;
}

static int go_walk_threads(const struct target *t, const struct go_layout *l, uint64_t list,
			   uint64_t link, struct go_threads *all)
{
	uint64_t m = 0;
	int rc = target_read_u64(t, list, &m);

	for (int i = 0; i < GO_THREADS_MAX && m && rc == 0; i++) {
		uint64_t at[] = {m + GO_M_G0, m + l->m_procid, m + link}, word[3];

		rc = go_read_words(t, at, word, 3);
		rc = rc ? rc : go_add_thread(t, all, m, word[1], word[0]);
		m = rc ? 0 : word[2];
	}
	return rc;
}

static int go_compare_threads(const void *a, const void *b)
{
	const struct go_thread *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Into @out, when it is longer than what is there: by another link it is no list, or ends early. */
static int go_read_longer(const struct target *t, const struct go_layout *l, uint64_t list,
			  uint64_t link, struct go_threads *out)
{
	struct go_threads one = {0};
	int rc = go_walk_threads(t, l, list, link, &one);

	if (rc == 0 && one.count > out->count) {
		struct go_threads shorter = *out;

		one.is_unlike = out->is_unlike;
		*out = one;
		one = shorter;
	}
	go_threads_free(&one);
	return rc;
}

static int go_read_list(const struct target *t, const struct go_layout *l, uint64_t list,
			struct go_threads *out)
{
	int rc = 0;

	for (int i = 0; i < GO_LINKS && l->m_alllink[i] && rc == 0; i++) {
		rc = go_read_longer(t, l, list, l->m_alllink[i], out);
		if (rc == -ENOEXEC || rc == -EFAULT) {
			out->is_unlike = 1;
			rc = 0;
		}
	}
	return rc;
}

int go_threads_read(const struct target *t, const struct go_program *p, struct go_threads *out)
{
	int rc = 0;

	out->count = 0;
	out->is_unlike = 0;
	for (int k = 0; k < p->list_count && rc == 0; k++)
		rc = go_read_list(t, p->layout, p->list[k], out);
	if (rc)
		out->count = 0;
	if (out->count)
		qsort(out->thread, out->count, sizeof(*out->thread), go_compare_threads);
	out->is_unlike = out->is_unlike && !out->count;
	return rc;
}

void go_threads_free(struct go_threads *all)
{
	free(all->thread);
	*all = (struct go_threads){0};
}

const struct go_thread *go_threads_find(const struct go_threads *all, int32_t tid)
{
	size_t n;

	if (tid <= 0)
		return NULL;
	n = array_upto(all->thread, all->count, sizeof(*all->thread),
		       offsetof(struct go_thread, tid), (uint64_t)tid);
	return n && all->thread[n - 1].tid == (uint64_t)tid ? &all->thread[n - 1] : NULL;
}

/* ---- where the list begins, when no symbol says so */

struct scan {
	const struct target *target;
	const struct go_layout *layout;
	uint64_t *found;
	int count, room;
	int longest; /* of the lists that begin at these */
	int probes;  /* left */
};

static int may_lead_to_m(const struct target *t, uint64_t address)
{
	const struct proc_map *m =
		address % sizeof(uint64_t) ? NULL : target_mapping_at(t, address);

	return m && m->permissions[0] == 'r' && m->permissions[1] == 'w' &&
	       m->end - address > GO_OFFSETS_MAX;
}

/* Its own goroutine names it. */
static int leads_to_m(struct scan *s, uint64_t m)
{
	uint64_t at[] = {m + GO_M_G0, m + s->layout->m_procid}, word[2], named;

	if (!m || !may_lead_to_m(s->target, m) || s->probes == 0)
		return 0;
	s->probes--;
	return go_read_words(s->target, at, word, 2) == 0 && word[1] <= INT32_MAX &&
	       may_lead_to_m(s->target, word[0]) &&
	       target_read_u64(s->target, word[0] + GO_G_M, &named) == 0 && named == m;
}

/* 0: by this link it is no list. */
static int list_length(struct scan *s, uint64_t m, uint64_t link)
{
	int length = 0;

	for (; m && length < GO_THREADS_MAX; length++)
		if (!leads_to_m(s, m) || target_read_u64(s->target, m + link, &m))
			return 0;
	return length;
}

static int longest_length(struct scan *s, uint64_t m)
{
	int longest = 0;

	for (int i = 0; i < GO_LINKS && s->layout->m_alllink[i]; i++) {
		int length = list_length(s, m, s->layout->m_alllink[i]);

		longest = length > longest ? length : longest;
	}
	return longest;
}

static void scan_word(struct scan *s, uint64_t address, uint64_t word)
{
	int length = leads_to_m(s, word) ? longest_length(s, word) : 0;

	if (!length || length < s->longest)
		return;
	if (length > s->longest)
		s->count = 0;
	s->longest = length;
	if (s->count < s->room)
		s->found[s->count++] = address;
}

int go_scan(const struct target *t, const struct go_layout *layout, uint64_t start, uint64_t bytes,
	    uint64_t *found, int room)
{
	struct scan s = {.target = t,
			 .layout = layout,
			 .found = found,
			 .room = room,
			 .probes = SCAN_PROBES_MAX};
	uint64_t word[SCAN_WORDS];

	bytes = bytes < SCAN_BYTES_MAX ? bytes : SCAN_BYTES_MAX;
	for (uint64_t at = 0; at < bytes; at += sizeof(word)) {
		uint64_t piece = bytes - at < sizeof(word) ? bytes - at : sizeof(word);

		if (target_read(t, start + at, word, piece))
			break;
		for (uint64_t i = 0; i < piece / sizeof(word[0]); i++)
			scan_word(&s, start + at + i * sizeof(word[0]), word[i]);
	}
	return s.count;
}
