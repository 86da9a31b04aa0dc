/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's part of a process: see process_work.h. */
#include "collector/write/process_work.h"

#include "base/map.h"
#include "collector/process/libraries.h"
#include "collector/process/published_context.h"
#include "collector/walk/process_walk.h"
#include "collector/write/recording.h"

#include <errno.h>
#include <stdlib.h>

static struct process_work *work_new(void)
{
	struct process_work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->dictionary = dictionary_new();
	w->threads = map_new();
	w->codes = map_new();
	if (w->dictionary && w->threads && w->codes)
		return w;
	dictionary_free(w->dictionary);
	map_free(w->threads);
	map_free(w->codes);
	free(w);
	return NULL;
}

int process_new(struct process **out, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));
	int rc = -ENOMEM;

	if (!p)
		return rc;
	p->root_fd = p->proc_fd = -1;
	p->walk = calloc(1, sizeof(*p->walk));
	p->work = work_new();
	if (p->walk && p->work)
		rc = process_meet(p, pid);
	if (rc == 0)
		p->walk->first_maps = proc_read_all(p->proc_fd, "maps", &p->walk->first_maps_bytes);
	if (rc) {
		process_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

static void forget_threads(struct process *p)
{
	map_free_values(p->work->threads, free);
	p->work->threads = NULL;
	map_free(p->work->tids);
	p->work->tids = NULL;
}

void process_release(struct process *p)
{
	if (p->work) {
		forget_threads(p);
		free(p->work->first_environ);
		p->work->first_environ = NULL;
		free(p->work->classes);
		p->work->classes = NULL;
		dictionary_free(p->work->dictionary);
		p->work->dictionary = NULL;
	}
	process_walk_release(p->walk);
	process_leave(p);
}

void process_free(struct process *p)
{
	if (!p)
		return;
	process_release(p);
	if (p->work) {
		map_free(p->work->codes);
		libraries_free(p->work->libraries);
		recording_account_free(p);
		recording_lockstep_free(p);
		free(p->work);
	}
	process_forget_contexts(p);
	free(p->walk);
	free(p->command_line);
	free(p);
}

struct slot_key {
	uint64_t slot, generation;
};

struct process_thread *process_thread(struct process *p, uint32_t slot, uint64_t generation,
				      int *fresh)
{
	struct slot_key key = {slot, generation};
	uint64_t *value = map_put(p->work->threads, &key, sizeof(key), fresh);
	struct process_thread *t;

	if (!value)
		return NULL;
	*fresh = *value == 0;
	if (*fresh)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct process_thread));
	t = (struct process_thread *)(uintptr_t)*value;
	if (t) {
		t->slot = slot;
		t->generation = generation;
	}
	return t;
}

struct process_thread *process_thread_find(const struct process *p, uint32_t slot,
					   uint64_t generation)
{
	struct slot_key key = {slot, generation};
	const uint64_t *value = map_get(p->work->threads, &key, sizeof(key));

	return value ? (struct process_thread *)(uintptr_t)*value : NULL;
}

void process_thread_tell_tid(struct process *p, struct process_thread *t, int32_t tid)
{
	uint64_t *value;

	t->tid = tid;
	if (!p->work->tids)
		p->work->tids = map_new();
	value = p->work->tids ? map_put(p->work->tids, &tid, sizeof(tid), NULL) : NULL;
	if (value)
		*value = (uint64_t)(uintptr_t)t;
}

struct process_thread *process_thread_by_tid(const struct process *p, int32_t tid)
{
	const uint64_t *value = p->work->tids ? map_get(p->work->tids, &tid, sizeof(tid)) : NULL;

	return value ? (struct process_thread *)(uintptr_t)*value : NULL;
}

void process_thread_drop(struct process *p, struct process_thread *t)
{
	struct slot_key key;
	const uint64_t *value;

	if (!t)
		return;
	key = (struct slot_key){t->slot, t->generation};
	value = p->work->tids ? map_get(p->work->tids, &t->tid, sizeof(t->tid)) : NULL;
	if (value && *value == (uint64_t)(uintptr_t)t)
		map_remove(p->work->tids, &t->tid, sizeof(t->tid));
	map_remove(p->work->threads, &key, sizeof(key));
	free(t);
}

struct process_thread *process_thread_next(struct process *p, size_t *cursor)
{
	const void *key;
	uint64_t *value;
	size_t bytes;

	if (!p->work->threads)
		return NULL;
	while (map_next(p->work->threads, cursor, &key, &bytes, &value))
		if (*value)
			return (struct process_thread *)(uintptr_t)*value;
	return NULL;
}

void process_take_counts(struct process *p)
{
	p->work->own.counter[WEFT_COUNTER_TABLES_REFUSED] = load_relaxed(&p->walk->tables_refused);
}

int process_read_dictionary(struct process *p)
{
	uint64_t head = load_acquire(&p->base->dict_head);

	return log_read((const uint8_t *)p->base + p->layout.dict_offset, p->layout.dict_bytes,
			head, &p->work->dict_position, dictionary_take, p->work->dictionary);
}

void process_take_libraries(struct process *p)
{
	struct libraries *told = __atomic_exchange_n(&p->told, NULL, __ATOMIC_ACQUIRE);

	if (!told)
		return;
	libraries_follow(told, p->work->libraries);
	p->work->libraries = told;
}
