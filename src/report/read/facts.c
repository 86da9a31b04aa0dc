/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/facts.h"

#include "base/map.h"
#include "report/read/rows.h"

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
	free(f->levels);
	map_free(f->index);
	map_free(f->settings);
	memset(f, 0, sizeof(*f));
}

/* Rows of facts are found by a key whose first word is their kind. */
enum fact_kind {
	A_COUNTER,
	A_BUCKET,
	A_PROCESS,
	A_TYPE,
	A_MODULE,
	A_CLOCK,
	A_CPU,
	A_TIME,
	A_LEVEL
};

#define FACT_KEY 3

_Static_assert(A_LEVEL + 1 == sizeof(((struct facts *)0)->room) / sizeof(size_t),
	       "a room for each kind");

/* A row, zeroed when new. NULL: out of memory, which f->failed remembers. */
static void *facts_row(struct facts *f, enum fact_kind kind, const uint32_t key[FACT_KEY],
		       void *array, uint32_t *count, size_t each)
{
	const uint32_t whole[1 + FACT_KEY] = {kind, key[0], key[1], key[2]};
	uint32_t number =
		rows_put(&f->index, whole, sizeof(whole), array, count, &f->room[kind], each);

	f->failed |= !number;
	return number ? *(char **)array + (number - 1) * each : NULL;
}

void facts_count(struct facts *f, uint32_t name, uint32_t kind, int64_t value)
{
	struct fact_counter *c = facts_row(f, A_COUNTER, (uint32_t[FACT_KEY]){name}, &f->counters,
					   &f->counter_count, sizeof(*c));

	if (!c)
		return;
	c->name = name;
	c->kind = c->kind ? c->kind : kind;
	c->value += value;
}

void facts_level(struct facts *f, uint32_t name, uint32_t kind, uint32_t process,
		 const struct fact_level *level)
{
	struct fact_level *row = facts_row(f, A_LEVEL, (uint32_t[FACT_KEY]){name, process},
					   &f->levels, &f->level_count, sizeof(*row));

	if (!row || level->time_ns < row->time_ns || level->value < 0)
		return;
	facts_count(f, name, kind, level->value - row->value);
	*row = *level;
}

void facts_bucket(struct facts *f, uint32_t name, int64_t up_to, int64_t count)
{
	const uint32_t key[FACT_KEY] = {name, (uint32_t)up_to, (uint32_t)((uint64_t)up_to >> 32)};
	struct fact_bucket *b =
		facts_row(f, A_BUCKET, key, &f->buckets, &f->bucket_count, sizeof(*b));

	if (b)
		*b = (struct fact_bucket){name, up_to, b->count + count};
}

void facts_process(struct facts *f, const struct fact_process *p)
{
	uint32_t before = f->process_count;
	struct fact_process *row = facts_row(f, A_PROCESS, (uint32_t[FACT_KEY]){p->id},
					     &f->processes, &f->process_count, sizeof(*row));

	if (row && (f->process_count > before || row->duration_ns <= p->duration_ns))
		*row = *p;
}

void facts_module(struct facts *f, const struct fact_module *module)
{
	const uint32_t key[FACT_KEY] = {module->name, module->path, module->build_id};
	struct fact_module *row =
		facts_row(f, A_MODULE, key, &f->modules, &f->module_count, sizeof(*row));

	if (row)
		*row = *module;
}

void facts_clock(struct facts *f, const struct fact_clock *c)
{
	struct fact_clock *row = facts_row(f, A_CLOCK, (uint32_t[FACT_KEY]){c->process}, &f->clocks,
					   &f->clock_count, sizeof(*row));

	if (row)
		*row = *c;
}

int64_t facts_added(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

void facts_cpu(struct facts *f, const struct fact_cpu *more)
{
	struct fact_cpu *row =
		facts_row(f, A_CPU, (uint32_t[FACT_KEY]){more->process, more->thread}, &f->cpus,
			  &f->cpu_count, sizeof(*row));

	if (row)
		*row = (struct fact_cpu){
			.process = more->process,
			.thread = more->thread,
			.used_ns = facts_added(row->used_ns, more->used_ns),
			.seen_ns = facts_added(row->seen_ns, more->seen_ns),
			.samples = facts_added(row->samples, more->samples),
		};
}

void facts_time(struct facts *f, const struct fact_time *more)
{
	uint32_t before = f->time_count;
	struct fact_time *row = facts_row(f, A_TIME, (uint32_t[FACT_KEY]){more->thread}, &f->times,
					  &f->time_count, sizeof(*row));

	if (!row)
		return;
	if (f->time_count > before)
		*row = (struct fact_time){.process = more->process, .thread = more->thread};
	for (int i = 0; i < FACT_PLACES; i++) {
		row->due_ns[i] = facts_added(row->due_ns[i], more->due_ns[i]);
		row->seen_ns[i] = facts_added(row->seen_ns[i], more->seen_ns[i]);
	}
}

struct fact_type *facts_type(struct facts *f, uint32_t name)
{
	struct fact_type *t = facts_row(f, A_TYPE, (uint32_t[FACT_KEY]){name}, &f->types,
					&f->type_count, sizeof(*t));

	if (t)
		t->name = name;
	return t;
}

void facts_setting(struct facts *f, uint32_t name, uint32_t value)
{
	uint64_t *at;

	if (!f->settings)
		f->settings = map_new();
	at = f->settings ? map_put(f->settings, &name, sizeof(name), NULL) : NULL;
	if (at)
		*at = value;
	else
		f->failed = 1;
}

/* The number, from 1, of the row of a key in its array; 0: there is none. */
static uint64_t facts_find(const struct facts *f, enum fact_kind kind, uint32_t id)
{
	const uint32_t key[1 + FACT_KEY] = {kind, id};
	const uint64_t *at = f->index ? map_get(f->index, key, sizeof(key)) : NULL;

	return at ? *at : 0;
}

struct fact_type *facts_type_named(const struct facts *f, const char *name)
{
	uint64_t number = facts_find(f, A_TYPE, names_find(&f->model->names, name));

	return number ? &f->types[number - 1] : NULL;
}

const struct fact_clock *facts_clock_of(const struct facts *f, uint32_t process)
{
	uint64_t number = facts_find(f, A_CLOCK, process);

	return number ? &f->clocks[number - 1] : NULL;
}

const struct fact_time *facts_time_of(const struct facts *f, uint32_t thread)
{
	uint64_t number = facts_find(f, A_TIME, thread);

	return number ? &f->times[number - 1] : NULL;
}

uint64_t facts_duration(const struct facts *f)
{
	return f->end_ns > f->start_ns ? (uint64_t)(f->end_ns - f->start_ns) : 0;
}

const char *facts_name(const struct facts *f, uint32_t id)
{
	return names_text(&f->model->names, id);
}

const char *facts_thread(const struct facts *f, uint32_t thread)
{
	return thread ? facts_name(f, model_thread_at(f->model, thread)->key) : NULL;
}

int64_t facts_value(const struct facts *f, const char *name)
{
	uint32_t id = names_find(&f->model->names, name);

	for (uint32_t i = 0; i < f->counter_count; i++)
		if (f->counters[i].name == id)
			return f->counters[i].value;
	return 0;
}

int64_t facts_sum(const struct facts *f, const char *kind)
{
	uint32_t id = names_find(&f->model->names, kind);
	int64_t sum = 0;

	for (uint32_t i = 0; i < f->counter_count; i++)
		if (f->counters[i].kind == id)
			sum += f->counters[i].value;
	return sum;
}
