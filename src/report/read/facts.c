/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/facts.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void facts_free(struct facts *f)
{
	free(f->counters);
	free(f->buckets);
	free(f->processes);
	free(f->types);
	free(f->modules);
	free(f->clocks);
	free(f->cpus);
	free(f->times);
	map_free(f->index);
	memset(f, 0, sizeof(*f));
}

/* One more zeroed element at the end of an array; NULL: out of memory, and remembered. */
static void *one_more(struct facts *f, void *array_pointer, uint32_t *count, size_t each)
{
	char **array = array_pointer;
	char *bigger = realloc(*array, ((size_t)*count + 1) * each);

	if (!bigger) {
		f->failed = 1;
		return NULL;
	}
	*array = bigger;
	return memset(bigger + each * (*count)++, 0, each);
}

void facts_count(struct facts *f, uint32_t name, uint32_t kind, int64_t value)
{
	struct fact_counter *c;

	for (uint32_t i = 0; i < f->counter_count; i++) {
		if (f->counters[i].name == name) {
			f->counters[i].value += value;
			return;
		}
	}
	c = one_more(f, &f->counters, &f->counter_count, sizeof(*c));
	if (c)
		*c = (struct fact_counter){name, kind, value};
}

void facts_bucket(struct facts *f, uint32_t name, int64_t up_to, int64_t count)
{
	struct fact_bucket *b;

	for (uint32_t i = 0; i < f->bucket_count; i++) {
		if (f->buckets[i].name == name && f->buckets[i].up_to == up_to) {
			f->buckets[i].count += count;
			return;
		}
	}
	b = one_more(f, &f->buckets, &f->bucket_count, sizeof(*b));
	if (b)
		*b = (struct fact_bucket){name, up_to, count};
}

void facts_process(struct facts *f, const struct fact_process *p)
{
	struct fact_process *known = NULL;

	for (uint32_t i = 0; i < f->process_count && !known; i++)
		if (f->processes[i].id == p->id)
			known = &f->processes[i];
	if (known && known->duration_ns > p->duration_ns)
		return;
	if (!known)
		known = one_more(f, &f->processes, &f->process_count, sizeof(*known));
	if (known)
		*known = *p;
}

void facts_module(struct facts *f, const struct fact_module *module)
{
	struct fact_module *new;

	for (uint32_t i = 0; i < f->module_count; i++)
		if (memcmp(&f->modules[i], module, sizeof(*module)) == 0)
			return;
	new = one_more(f, &f->modules, &f->module_count, sizeof(*new));
	if (new)
		*new = *module;
}

/* Where the index of (kind, process, thread) stands; NULL: out of memory, and remembered. */
static uint64_t *index_of(struct facts *f, uint32_t kind, uint32_t process, uint32_t thread)
{
	const uint32_t key[] = {kind, process, thread};
	uint64_t *at;

	if (!f->index)
		f->index = map_new();
	at = f->index ? map_put(f->index, key, sizeof(key), NULL) : NULL;
	f->failed |= !at;
	return at;
}

void facts_clock(struct facts *f, const struct fact_clock *c)
{
	uint64_t *at = index_of(f, 0, c->process, 0);
	struct fact_clock *all = f->clocks;

	if (at && !*at) {
		all = array_grown(all, f->clock_count + 1u, &f->clock_room, sizeof(*all));
		if (!all) {
			f->failed = 1;
			return;
		}
		f->clocks = all;
		*at = ++f->clock_count;
	}
	if (at)
		all[*at - 1] = *c;
}

int64_t facts_added(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

void facts_cpu(struct facts *f, const struct fact_cpu *more)
{
	uint64_t *at = index_of(f, 1, more->process, more->thread);
	struct fact_cpu *all = f->cpus;

	if (at && !*at) {
		all = array_grown(all, f->cpu_count + 1u, &f->cpu_room, sizeof(*all));
		if (!all) {
			f->failed = 1;
			return;
		}
		f->cpus = all;
		*at = ++f->cpu_count;
		all[*at - 1] = (struct fact_cpu){.process = more->process, .thread = more->thread};
	}
	if (!at)
		return;
	all[*at - 1].used_ns = facts_added(all[*at - 1].used_ns, more->used_ns);
	all[*at - 1].seen_ns = facts_added(all[*at - 1].seen_ns, more->seen_ns);
	all[*at - 1].samples = facts_added(all[*at - 1].samples, more->samples);
}

void facts_time(struct facts *f, const struct fact_time *more)
{
	uint64_t *at = index_of(f, 2, 0, more->thread);
	struct fact_time *all = f->times;

	if (at && !*at) {
		all = array_grown(all, f->time_count + 1u, &f->time_room, sizeof(*all));
		if (!all) {
			f->failed = 1;
			return;
		}
		f->times = all;
		*at = ++f->time_count;
		all[*at - 1] = (struct fact_time){.process = more->process, .thread = more->thread};
	}
	for (int i = 0; at && i < FACT_PLACES; i++) {
		int64_t *due = &all[*at - 1].due_ns[i], *seen = &all[*at - 1].seen_ns[i];

		*due = facts_added(*due, more->due_ns[i]);
		*seen = facts_added(*seen, more->seen_ns[i]);
	}
}

struct fact_type *facts_type(struct facts *f, uint32_t name)
{
	struct fact_type *t;

	for (uint32_t i = 0; i < f->type_count; i++)
		if (f->types[i].name == name)
			return &f->types[i];
	t = one_more(f, &f->types, &f->type_count, sizeof(*t));
	if (t)
		t->name = name;
	return t;
}

int64_t facts_value(const struct facts *f, const struct model *m, const char *name)
{
	uint32_t id = names_find(&m->names, name);

	for (uint32_t i = 0; i < f->counter_count; i++)
		if (f->counters[i].name == id)
			return f->counters[i].value;
	return 0;
}

int64_t facts_sum(const struct facts *f, const struct model *m, const char *kind)
{
	uint32_t id = names_find(&m->names, kind);
	int64_t sum = 0;

	for (uint32_t i = 0; i < f->counter_count; i++)
		if (f->counters[i].kind == id)
			sum += f->counters[i].value;
	return sum;
}
