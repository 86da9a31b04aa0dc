/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a process's threads: see threads.h. Sorted by tid. A list that the kernel returns
 * while threads begin and end may lack a living one: a missing thread is looked up by its tid
 * before it counts as ended.
 */
#include "collector/look/threads.h"

#include "base/array.h"
#include "base/clock.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIST_PAUSE_NS UINT64_C(1000000000)
#define DIRECTORY_LINKS 2 /* of a directory without subdirectories */
#define STRANGE_LISTS 2   /* lists in which a slot's thread must be missing */

struct listed {
	int32_t tid;
	uint64_t inode;
};

/* What is known of a slot; examined again when its state word changes. */
struct known_slot {
	uint64_t word;    /* LIVE, and found to be @tid's; else 0 */
	uint64_t strange; /* LIVE, and of nobody that is known */
	int32_t tid;
	uint32_t lists; /* that there were since then */
};

struct threads {
	struct process *process;
	struct threads_callbacks callbacks;
	DIR *task; /* NULL: it cannot be read */
	int nested;
	uint64_t links, listed_ns;
	uint32_t lists, matched_lists;
	struct watched_thread **thread, **inside; /* sorted by tid, and by inside_tid */
	size_t count, room;
	struct listed *list;
	size_t listed, list_room;
	struct known_slot *known;
	size_t known_count;
};

struct threads *threads_new(struct process *p, const struct threads_callbacks *callbacks)
{
	struct threads *t = calloc(1, sizeof(*t));
	struct thread_masks masks;

	if (!t)
		return NULL;
	t->process = p;
	t->callbacks = *callbacks;
	t->task = proc_directory(p->proc_fd, "task");
	t->nested = thread_masks_read(p->proc_fd, (int32_t)p->pid, &masks) == 0 && masks.levels > 1;
	return t;
}

static void threads_forget(struct threads *t, struct watched_thread *w)
{
	t->callbacks.on_dead_thread(t->callbacks.arg, w);
	free(w);
}

void threads_free(struct threads *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++) {
		t->thread[i]->slot_is_its = 0; /* we do not know whether it has ended */
		threads_forget(t, t->thread[i]);
	}
	if (t->task)
		closedir(t->task);
	free(t->thread);
	free(t->inside);
	free(t->list);
	free(t->known);
	free(t);
}

/* ---- the list that the kernel gives */

static int32_t threads_parse_tid(const char *name)
{
	char *end;
	long tid = strtol(name, &end, 10);

	return *end || tid <= 0 || tid > INT32_MAX ? 0 : (int32_t)tid;
}

static int put_listed(struct threads *t, int32_t tid, uint64_t inode)
{
	struct listed *grown = array_grown(t->list, t->listed + 1, &t->list_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	t->list = grown;
	t->list[t->listed++] = (struct listed){tid, inode};
	return 0;
}

static int by_listed_tid(const void *a, const void *b)
{
	int32_t x = ((const struct listed *)a)->tid, y = ((const struct listed *)b)->tid;

	return (x > y) - (x < y);
}

static int is_sorted(const struct threads *t)
{
	for (size_t i = 1; i < t->listed; i++)
		if (t->list[i - 1].tid >= t->list[i].tid)
			return 0;
	return 1;
}

static int threads_read_list(struct threads *t)
{
	const struct dirent *entry;

	t->listed = 0;
	rewinddir(t->task);
	while ((errno = 0, entry = readdir(t->task))) {
		int32_t tid = threads_parse_tid(entry->d_name);

		if (tid && put_listed(t, tid, entry->d_ino))
			return -ENOMEM;
	}
	if (errno || !t->listed)
		return errno ? -errno : -ESRCH;
	if (!is_sorted(t))
		qsort(t->list, t->listed, sizeof(*t->list), by_listed_tid);
	return 0;
}

/* ---- old list and new one */

static struct watched_thread *threads_meet(struct threads *t, const struct listed *l,
					   uint64_t now_ns)
{
	struct watched_thread *w = calloc(1, sizeof(*w));
	struct thread_masks masks = {.inside_tid = l->tid};
	struct thread_stat stat;

	if (!w || thread_stat_read(t->process->proc_fd, l->tid, &stat) ||
	    (t->nested && thread_masks_read(t->process->proc_fd, l->tid, &masks)) ||
	    !process_runs_on(t->process)) {
		/* has ended already, is not visible, or is the next program's */
		free(w);
		return NULL;
	}
	w->tid = l->tid;
	w->inode = l->inode;
	w->inside_tid = masks.inside_tid;
	w->start = stat.start;
	w->slot = THREADS_NO_SLOT;
	w->seen_ns = now_ns;
	if (process_has_thread(t->process, l->tid, stat.stack_start))
		memcpy(w->name, stat.name, sizeof(w->name));
	else
		memcpy(w->name, t->process->command, sizeof(w->name) - 1);
	return w;
}

/* No thread has that number, and no process that shares the memory. */
static int is_nobody(const struct threads *t, int32_t tid)
{
	return !t->nested && kill(tid, 0) != 0 && errno == ESRCH;
}

/* The list lacks it, or has another inode for it. 1: it has ended. */
static int is_gone(const struct threads *t, struct watched_thread *w)
{
	struct thread_stat stat;
	int rc = thread_stat_read(t->process->proc_fd, w->tid, &stat);

	if (rc == 0 && stat.start == w->start)
		return 0;
	if (rc == -ENOENT || rc == -ESRCH)
		w->slot_is_its |= w->slot != THREADS_NO_SLOT && is_nobody(t, w->tid);
	else if (rc)
		return 0; /* an error of the look-up proves nothing */
	return 1;
}

static int by_inside_tid(const void *a, const void *b)
{
	int32_t x = (*(struct watched_thread *const *)a)->inside_tid;
	int32_t y = (*(struct watched_thread *const *)b)->inside_tid;

	return (x > y) - (x < y);
}

static int threads_make_room(struct threads *t, struct watched_thread ***fresh)
{
	size_t room = t->count + t->listed + 1;
	struct watched_thread **inside = realloc(t->inside, room * sizeof(*inside));

	if (inside)
		t->inside = inside;
	*fresh = inside ? malloc(room * sizeof(**fresh)) : NULL;
	return *fresh ? 0 : -ENOMEM;
}

/* The next of the old list, and of the new one, with the same tid or without a partner. */
static struct watched_thread *threads_merge(struct threads *t, struct watched_thread *old,
					    const struct listed *l, uint64_t now_ns)
{
	struct watched_thread *w = old;

	if (old && l && old->inode == l->inode) {
		old->slot_is_its |= old->slot != THREADS_NO_SLOT;
		return old;
	}
	if (old && is_gone(t, old)) {
		threads_forget(t, old);
		w = NULL;
	} else if (old && l) {
		old->inode = l->inode;
		old->slot_is_its |= old->slot != THREADS_NO_SLOT;
	}
	if (w || !l)
		return w;
	w = threads_meet(t, l, now_ns);
	if (w)
		t->callbacks.on_new_thread(t->callbacks.arg, w);
	return w;
}

static int take_list(struct threads *t, uint64_t now_ns)
{
	struct watched_thread **fresh, *w;
	size_t count = 0, i = 0, k = 0;

	if (threads_make_room(t, &fresh))
		return -ENOMEM;
	while (i < t->count || k < t->listed) {
		struct watched_thread *old = i < t->count ? t->thread[i] : NULL;
		const struct listed *l = k < t->listed ? &t->list[k] : NULL;

		if (old && l && old->tid != l->tid) {
			l = old->tid < l->tid ? NULL : l;
			old = l ? NULL : old;
		}
		i += old != NULL;
		k += l != NULL;
		w = threads_merge(t, old, l, now_ns);
		if (w)
			fresh[count++] = w;
	}
	free(t->thread);
	t->thread = fresh;
	t->count = count;
	memcpy(t->inside, fresh, count * sizeof(*fresh));
	if (t->nested)
		qsort(t->inside, count, sizeof(*fresh), by_inside_tid);
	return 0;
}

static int count_links(const struct threads *t, uint64_t *links)
{
	struct stat st;

	if (!t->task)
		return -EACCES;
	if (fstat(dirfd(t->task), &st))
		return -errno;
	*links = (uint64_t)st.st_nlink;
	return *links <= DIRECTORY_LINKS ? -ESRCH : 0;
}

int threads_list(struct threads *t, uint64_t now_ns)
{
	uint64_t links = 0;
	int rc = count_links(t, &links);

	if (rc == 0)
		rc = threads_read_list(t);
	if (rc == 0)
		rc = take_list(t, now_ns);
	if (rc)
		return rc;
	t->links = links;
	t->listed_ns = now_ns;
	t->lists++;
	return (int)t->count;
}

int threads_look(struct threads *t, uint64_t now_ns)
{
	uint64_t links = 0;
	int rc = count_links(t, &links);

	if (rc)
		return rc;
	if (t->listed_ns && links == t->links && now_ns - t->listed_ns < LIST_PAUSE_NS)
		return (int)(links - DIRECTORY_LINKS);
	return threads_list(t, now_ns);
}

size_t threads_count(const struct threads *t)
{
	return t->count;
}

int threads_count_changed(const struct threads *t)
{
	struct stat st;

	return t->task && fstat(dirfd(t->task), &st) == 0 && st.st_nlink != t->links;
}

struct watched_thread *threads_next(struct threads *t, size_t *cursor)
{
	return *cursor < t->count ? t->thread[(*cursor)++] : NULL;
}

const struct weft_slot *watched_slot(const struct process *p, const struct watched_thread *t)
{
	return t->slot < p->layout.slot_count && p->base ? process_slot(p, t->slot) : NULL;
}

uint64_t watched_attempted(const struct process *p, const struct watched_thread *t)
{
	const struct weft_slot *slot = watched_slot(p, t);

	return slot ? load_relaxed(&slot->counters[WEFT_COUNTER_ATTEMPTED]) : 0;
}

int threads_slot_is_live(const struct process *p, uint32_t slot, uint64_t generation)
{
	uint64_t word = load_acquire(process_slot_state(p, slot));

	return WEFT_STATE_OF(word) == WEFT_SLOT_LIVE && WEFT_GENERATION_OF(word) == generation;
}

int threads_are_sampled(const struct process *p)
{
	const struct weft_session_header *h = p->base;

	return h && load_relaxed(&h->run_state) == WEFT_RUN_RECORDING &&
	       load_relaxed(&h->target_state) == WEFT_TARGET_LIVE &&
	       (load_relaxed(&h->engines) & WEFT_ENGINE_CPU) &&
	       (!(load_relaxed(&h->features) & WEFT_FEATURE_RUNTIME_MADE) ||
		load_acquire(&h->engines_run));
}

/* ---- whose slot is whose */

static struct watched_thread *find_inside(const struct threads *t, int32_t inside_tid)
{
	const struct watched_thread key = {.inside_tid = inside_tid}, *at = &key;
	struct watched_thread **found =
		t->count ? bsearch(&at, t->inside, t->count, sizeof(*t->inside), by_inside_tid)
			 : NULL;

	return found ? *found : NULL;
}

static int make_known(struct threads *t, uint32_t high)
{
	struct known_slot *grown;

	if (high <= t->known_count)
		return 0;
	grown = realloc(t->known, high * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + t->known_count, 0, (high - t->known_count) * sizeof(*grown));
	t->known = grown;
	t->known_count = high;
	return 0;
}

static uint64_t threads_word_of(const struct process *p, uint32_t index)
{
	uint64_t word = load_acquire(process_slot_state(p, index));

	return word & ~(uint64_t)WEFT_SLOT_HELD;
}

/* The slot has ended, or is another's. */
static void unmatch(struct threads *t, uint32_t index)
{
	struct known_slot *k = &t->known[index];
	struct watched_thread *w = find_inside(t, k->tid);

	if (w && w->slot == index && w->generation == WEFT_GENERATION_OF(k->word)) {
		w->slot = THREADS_NO_SLOT;
		w->slot_is_its = 0;
	}
	k->word = 0;
}

/* Of two slots with one tid, the older is a previous thread's. */
static int threads_is_older(const struct threads *t, const struct watched_thread *w, uint32_t index)
{
	const struct process *p = t->process;
	const struct weft_slot *mine, *other;

	if (w->slot == THREADS_NO_SLOT || w->slot == index)
		return 0;
	mine = process_slot(p, index);
	other = process_slot(p, w->slot);
	return load_relaxed(&mine->thread.claimed_ns) < load_relaxed(&other->thread.claimed_ns);
}

static void match(struct threads *t, uint32_t index, uint64_t word, struct watched_thread *w)
{
	t->known[index].word = word;
	t->known[index].strange = 0;
	t->known[index].tid = w->inside_tid;
	if (threads_is_older(t, w, index))
		return;
	w->slot = w->had_slot = index;
	w->generation = w->had_generation = WEFT_GENERATION_OF(word);
	w->had_claimed_ns = process_slot_claimed(process_slot(t->process, index), clock_mono_ns());
	w->slot_is_its = 0;
}

/* The slot's tid was read after its generation, and has been missing in lists since: if nobody has
 * it, no thread of that generation can store anything. */
static void doubt(struct threads *t, uint32_t index, uint64_t word, int32_t tid)
{
	struct known_slot *k = &t->known[index];
	struct thread_stat stat;
	int rc;

	if (k->strange != word || k->tid != tid) {
		k->strange = word;
		k->tid = tid;
		k->lists = t->lists;
		return;
	}
	if (t->nested || !t->callbacks.on_lost_slot || t->lists - k->lists < STRANGE_LISTS)
		return;
	k->lists = t->lists;
	rc = thread_stat_read(t->process->proc_fd, tid, &stat);
	if ((rc == -ENOENT || rc == -ESRCH) && is_nobody(t, tid))
		t->callbacks.on_lost_slot(t->callbacks.arg, index, WEFT_GENERATION_OF(word));
}

static void find_owner(struct threads *t, uint32_t index, uint64_t word)
{
	struct process *p = t->process;
	const struct weft_slot *slot = process_slot(p, index);
	int32_t tid = load_relaxed(&slot->thread.tid);
	struct watched_thread *w = tid > 0 ? find_inside(t, tid) : NULL;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (tid <= 0 || threads_word_of(p, index) != word)
		return;
	if (w)
		match(t, index, word, w);
	else
		doubt(t, index, word, tid);
}

int threads_has_strangers(const struct threads *t)
{
	uint32_t high = process_slots_high(t->process);

	for (uint32_t i = 0; i < high; i++) {
		uint64_t word = threads_word_of(t->process, i);
		const struct known_slot *k = i < t->known_count ? &t->known[i] : NULL;

		if (WEFT_STATE_OF(word) == WEFT_SLOT_LIVE && WEFT_GENERATION_OF(word) &&
		    !(k && (k->word == word || (k->strange == word && t->lists != k->lists))))
			return 1;
	}
	return 0;
}

static int threads_is_known(const struct threads *t, uint32_t index, uint64_t word)
{
	const struct known_slot *k = &t->known[index];
	const struct watched_thread *w;

	if (!k->word || k->word != word)
		return 0;
	if (t->lists == t->matched_lists)
		return 1;
	w = find_inside(t, k->tid);
	return w && w->slot != THREADS_NO_SLOT;
}

void threads_find_slots(struct threads *t)
{
	uint32_t high = process_slots_high(t->process);

	if (make_known(t, high))
		return;
	for (uint32_t i = 0; i < high; i++) {
		uint64_t word = threads_word_of(t->process, i);

		if (threads_is_known(t, i, word))
			continue;
		if (t->known[i].word)
			unmatch(t, i);
		if (WEFT_STATE_OF(word) == WEFT_SLOT_LIVE && WEFT_GENERATION_OF(word))
			find_owner(t, i, word);
	}
	t->matched_lists = t->lists;
}
