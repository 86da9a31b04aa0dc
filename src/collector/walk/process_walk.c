/* SPDX-License-Identifier: Apache-2.0 */
/* The walker's part of a process: see process_walk.h. */
#include "collector/walk/process_walk.h"

#include "base/clock.h"
#include "base/dictionary.h"
#include "collector/process/libraries.h"
#include "collector/walk/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Looking at mappings may take a fiftieth of a CPU, and so much at once. */
#define LOOK_SHARE 50
#define LOOK_CREDIT_NS 20000000

void process_walk_release(struct process_walk *w)
{
	if (!w)
		return;
	free(w->first_maps);
	w->first_maps = NULL;
	maps_free(&w->maps);
	loads_free(&w->loads);
	jit_free(w->jit);
	w->jit = NULL;
}

int process_walk_jit(struct process *p)
{
	struct jit_owner owner = {
		.root_fd = p->root_fd,
		.proc_fd = p->proc_fd,
		.inside_pid = p->inside_pid,
		.uid = p->files_user,
		.start_ticks = p->start_ticks,
	};

	p->walk->jit = jit_new(&owner, &p->walk->maps);
	return p->walk->jit ? 0 : -ENOMEM;
}

/* A module as the process itself tells it: one mapping from its first to its last byte. */
static void add_told(struct process *p, const struct load_module *m)
{
	struct mapping one = m->mapping;

	one.path = strdup(one.path);
	if (one.path)
		maps_add(&p->walk->maps, &one);
}

static void take_module(void *arg, const struct weft_log_record *record, const uint8_t *data)
{
	struct process *p = arg;
	size_t before = p->walk->loads.module_count;

	loads_take(&p->walk->loads, record, data);
	if (p->walk->told_by_log && p->walk->loads.module_count > before)
		add_told(p, &p->walk->loads.module[before]);
}

static void process_walk_read_log(struct process *p)
{
	uint64_t head = load_acquire(&p->base->modules_head);

	log_read((const uint8_t *)p->base + p->layout.modules_offset, p->layout.modules_bytes, head,
		 &p->walk->modules_position, take_module, p);
}

static uint64_t epoch_now(const struct process *p)
{
	/* Pairs with the release add in weft_modules_epoch_add(): the log is as new. */
	return load_acquire(&p->base->modules_epoch);
}

int process_map_is_stale(const struct process *p)
{
	return epoch_now(p) != p->walk->epoch;
}

static void believe_the_log(struct process *p)
{
	if (p->walk->told_by_log)
		return;
	p->walk->told_by_log = 1;
	for (size_t i = 0; i < p->walk->loads.module_count; i++)
		add_told(p, &p->walk->loads.module[i]);
}

/* A list that the worker has not taken yet goes into the new one. */
static void tell_libraries(struct process *p, const char *text, size_t bytes)
{
	struct libraries *now = libraries_read(text, bytes);

	if (!now)
		return;
	libraries_follow(now, __atomic_exchange_n(&p->told, NULL, __ATOMIC_ACQUIRE));
	/* Pairs with the acquire in process_take_libraries(). */
	store_release(&p->told, now);
	p->walk->libraries_told = p->walk->maps.generation;
}

void process_look_libraries(struct process *p)
{
	size_t bytes;
	char *text = process_read_own(p, "maps", &bytes);

	if (text)
		tell_libraries(p, text, bytes);
	free(text);
}

/* The epoch is read first: what is unloaded from then on changes it. */
static void process_walk_look(struct process *p)
{
	uint64_t epoch = epoch_now(p) & ~(uint64_t)UINT32_MAX, now_ns = clock_mono_ns();
	struct process_walk *w = p->walk;
	size_t bytes = w->first_maps_bytes;
	char *text = w->first_maps;

	if (text) {
		epoch = 0;
		now_ns = p->opened_ns;
	}
	w->first_maps = NULL;
	w->maps.looked_ns = now_ns;
	if (!text && !w->told_by_log)
		text = process_read_own(p, "maps", &bytes);
	process_walk_read_log(p);
	if (text && bytes) {
		maps_update(&w->maps, text, bytes);
		if (w->libraries_told != w->maps.generation)
			tell_libraries(p, text, bytes);
	} else if (w->maps.count == 0) {
		believe_the_log(p); /* else it is ending, or another program: nothing is new */
	}
	free(text);
	w->epoch = epoch;
	w->maps_ns = now_ns;
}

static void process_walk_earn(struct process_walk *w, uint64_t now_ns)
{
	uint64_t earned = now_ns > w->looked_ns ? (now_ns - w->looked_ns) / LOOK_SHARE : 0;

	w->look_credit_ns += (int64_t)(earned < LOOK_CREDIT_NS ? earned : LOOK_CREDIT_NS);
	if (w->look_credit_ns > LOOK_CREDIT_NS)
		w->look_credit_ns = LOOK_CREDIT_NS;
	w->looked_ns = now_ns;
}

/* The first look was taken by the drain thread. */
int process_look(struct process *p, uint64_t now_ns)
{
	struct process_walk *w = p->walk;
	uint32_t before = w->maps.generation;
	int is_fresh = !w->first_maps && w->maps_ns >= now_ns;
	uint64_t start_ns;

	process_walk_earn(w, now_ns);
	w->look_is_owed = !w->first_maps && !is_fresh && w->look_credit_ns <= 0;
	if (is_fresh || w->look_is_owed) {
		process_walk_read_log(p);
		return (int)(w->maps.generation - before);
	}
	start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	process_walk_look(p);
	w->look_credit_ns -= (int64_t)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
	return (int)(w->maps.generation - before);
}

int process_look_is_owed(struct process *p, uint64_t now_ns)
{
	struct process_walk *w = p->walk;

	if (w->first_maps || w->told_by_log || !(w->look_is_owed || process_map_is_stale(p)))
		return 0;
	process_walk_earn(w, now_ns);
	return w->look_credit_ns <= 0;
}
