/* SPDX-License-Identifier: Apache-2.0 */
/* The recording from its first chunk to its last, samples of CPU time, and the rows at the end of
 * each chunk: see recording.h. */
#include "collector/write/recording_private.h"
#include "collector/write/timeline.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/recording.h"
#include "collector/walk/modules.h"
#include "elf/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BUILD_ID_MAX 64
#define ENDED_MAX 4096 /* processes whose last rows wait for a file that cannot be written */
#define CHUNK_NS UINT64_C(10000000000)
#define CHUNK_BYTES ((uint64_t)16 << 20)
/* The writer ends chunks by these limits, which are too large to be reached: see recording.h. */
#define WRITER_CHUNK_BYTES (((uint64_t)1 << 30) - 1)
#define WRITER_CHUNK_NS (UINT64_MAX / 4)

struct weft_jfr_writer *recording_writer(struct recording *r)
{
	return r->writer;
}

static struct weft_jfr_type *recording_declare(struct recording *r, enum recording_type which)
{
	return declare_type(r->writer, which, &r->tags);
}

/* Those that have a column for each tag. */
static int declare_tagged(struct recording *r)
{
	if (!r->o.inline_context)
		r->type[TYPE_SPAN] = recording_declare(r, TYPE_SPAN);
	if (r->o.inline_context && r->o.engines & WEFT_ENGINE_CPU)
		r->sample = recording_declare(r, TYPE_INLINE_SAMPLE);
	if (r->o.inline_context && r->o.engines & WEFT_ENGINE_WALL)
		r->wall = recording_declare(r, TYPE_INLINE_WALL);
	return (r->type[TYPE_SPAN] || r->o.inline_context) &&
			       (r->sample || !(r->o.engines & WEFT_ENGINE_CPU)) &&
			       (r->wall || !(r->o.engines & WEFT_ENGINE_WALL))
		       ? 0
		       : -ENOMEM;
}

static int redeclare(struct recording *r)
{
	struct weft_jfr_type **const tagged[] = {&r->type[TYPE_SPAN], &r->type[TYPE_RUN],
						 &r->type[TYPE_WAIT], &r->sample, &r->wall};

	for (int i = 0; i < (r->o.inline_context ? 5 : 3); i++) {
		int rc = *tagged[i] ? weft_jfr_retire(r->writer, *tagged[i]) : 0;

		if (rc)
			return rc;
		*tagged[i] = NULL;
	}
	r->columns = r->tags.count;
	return declare_tagged(r);
}

static int declare_types(struct recording *r)
{
	struct weft_jfr_writer *w = r->writer;

	r->setting = weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING);
	if (!r->setting)
		return -ENOMEM;
	for (enum recording_type i = 0; i <= TYPE_MODULE; i++) {
		r->type[i] = recording_declare(r, i);
		if (!r->type[i])
			return -ENOMEM;
	}
	if (!r->o.inline_context && r->o.engines & WEFT_ENGINE_CPU)
		r->sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	if (!r->o.inline_context && r->o.engines & WEFT_ENGINE_WALL)
		r->wall = weft_jfr_standard_type(w, WEFT_JFR_WALL_CLOCK_SAMPLE);
	return declare_tagged(r);
}

static uint64_t open_bytes(const struct recording *r)
{
	struct weft_jfr_written written;

	weft_jfr_written(r->writer, &written);
	return written.open_bytes;
}

static void begin_chunk(struct recording *r)
{
	recording_put_settings(r);
	recording_system_begin(r, r->chunk_start_ns);
	r->begun_bytes = open_bytes(r);
}

static void free_recording(struct recording *r)
{
	struct process *p;

	while ((p = r->first)) {
		r->first = p->work->next;
		process_free(p);
	}
	tag_columns_free(&r->tags);
	label_sets_free(r->labels);
	live_free(&r->published);
	recording_system_free(r->system);
	free(r->chunks.item);
	recording_free_classes(r);
	settings_text_free(&r->text);
	map_free(r->warned);
	free(r->command_line);
	free(r);
}

static void take_options(struct recording *r, const struct recording_options *o)
{
	uint64_t now_ns = clock_mono_ns();

	r->simulated = o->start_ns != 0;
	r->start_ns = r->simulated ? o->start_ns : now_ns;
	r->start_real_ns = clock_ns(CLOCK_REALTIME) - (now_ns - r->start_ns);
	r->now_ns = r->chunk_start_ns = r->start_ns;
	r->o = *o;
	r->pid = o->pid;
	r->o.command_line = r->command_line = strdup(o->command_line);
	r->o.chunk_ns = o->chunk_ns ? o->chunk_ns : CHUNK_NS;
	r->o.chunk_bytes = o->chunk_bytes ? o->chunk_bytes : CHUNK_BYTES;
	r->o.engines = o->engines ? o->engines : WEFT_ENGINE_CPU;
}

int recording_open(struct recording **out, const struct recording_options *o)
{
	struct recording *r = calloc(1, sizeof(*r));
	struct weft_jfr_options jfr = {.size = sizeof(jfr),
				       .path = o->path,
				       .chunk_ns = WRITER_CHUNK_NS,
				       .chunk_bytes = WRITER_CHUNK_BYTES,
				       .max_bytes = o->max_bytes,
				       .max_age_ns = o->max_age_ns};
	int rc;

	if (!r)
		return -ENOMEM;
	r->end = &r->first;
	r->roll = recording_roll;
	take_options(r, o);
	recording_cost_begin(r);
	jfr.start_mono_ns = r->start_ns;
	jfr.start_real_ns = r->start_real_ns;
	snprintf(r->id, sizeof(r->id), "%016llx", (unsigned long long)random_number());
	r->labels = label_sets_new();
	r->writer = weft_jfr_create(&jfr);
	rc = r->writer ? declare_types(r) : -errno;
	if (rc == 0)
		rc = recording_system_open(r, o->machine);
	if (rc == 0 && (!r->command_line || !r->labels))
		rc = -ENOMEM;
	if (rc == 0) {
		recording_begin_settings(r, o->settings);
		begin_chunk(r);
		rc = r->error; /* the file's first bytes could not be written */
	}
	if (rc) {
		weft_jfr_close(r->writer);
		free_recording(r);
		return rc;
	}
	*out = r;
	return 0;
}

int recording_thread(struct recording *r, struct process *p, struct process_thread *t)
{
	struct weft_jfr_thread thread = {.os_id = t->tid, .name = t->name, .group = p->group};
	int first = !t->key;

	if (!first)
		recording_thread_end(r, p, t);
	t->key = first ? recording_account_key(p, t) : 0;
	if (!t->key)
		t->key = weft_jfr_thread(r->writer, &thread, 1);
	/* Starts at random: else a thread that uses less than a period is never seen on a CPU. */
	if (first && r->o.wall_period_ns)
		t->running_ns = hash_mix(t->key) % r->o.wall_period_ns;
	t->named = 1;
	return t->key ? 0 : -errno;
}

static void put_samples(struct recording *r, struct process *p, const struct process_thread *t,
			const struct spread *spread, uint64_t stack, const struct context_key *key)
{
	struct weft_jfr_value v[RECORDING_INLINE_FIXED_FIELDS + COLUMNS_MAX];
	size_t count = 4;
	struct context_texts texts;

	v[1] = (struct weft_jfr_value){.number = (int64_t)t->key};
	v[2].number = (int64_t)stack;
	v[3] = (struct weft_jfr_value){.number = WEFT_JFR_STATE_RUNNABLE};
	if (r->o.inline_context) {
		recording_fill_context(r, p, key, &texts, v + 4);
		count = RECORDING_INLINE_FIXED_FIELDS + r->columns;
	}
	for (uint32_t i = 0; i < spread->count; i++) {
		uint64_t at = spread->first_ns + i * spread->step_ns;

		v[0] = (struct weft_jfr_value){.number = (int64_t)at};
		recording_put(r, r->sample, v, count);
	}
	r->chunk.samples += spread->count;
}

/* No event of the sample may lie before this. When a context is new nobody knows since when it is
 * set: only that it was at the time of the sample. */
static uint64_t earliest_of_sample(const struct process *p, const struct process_thread *t,
				   const struct recorded_sample *sample)
{
	if (sample->has_key && !stretch_continues(&t->stretch, &sample->key))
		return sample->time_ns;
	return t->previous_ns ? t->previous_ns : p->opened_ns;
}

/* By the settings of its type. Samples that are not wanted the program usually does not take, but
 * it does when another type needs them. */
static int is_chosen(enum samples_choice choice, const struct recorded_sample *sample)
{
	if (choice == SAMPLES_IN_CONTEXT)
		return sample->has_key || sample->in_contextual_event;
	return choice == SAMPLES_ALL;
}

void recording_sample(struct recording *r, struct process *p, struct process_thread *t,
		      const struct recorded_sample *sample, const struct recording_trace *trace)
{
	const struct context_key *has = recorded_key(sample);
	struct spread spread = spread_weight(sample->time_ns, sample->weight, r->o.period_ns,
					     earliest_of_sample(p, t, sample));
	uint64_t id;

	recording_time_is(r, sample->time_ns);
	recording_meet_context(r, p, has);
	recording_extend(r, p, t, has, spread.first_ns, sample->time_ns);
	id = weft_jfr_stack(r->writer, trace->frame, trace->count, trace->truncated);
	t->seen_ns += spread.count * r->o.period_ns;
	t->signals += spread.count > 0;
	if (is_chosen(p->work->cpu_choice, sample)) {
		if (r->sample)
			put_samples(r, p, t, &spread, id, has);
	} else {
		p->work->own.counter[WEFT_COUNTER_SAMPLES_UNSELECTED] += r->sample != NULL;
	}
	if (r->wall && is_chosen(p->work->wall_choice, sample))
		recording_put_running(r, p, t, &spread, id, has);
	else if (r->wall && t->timeline)
		t->timeline->time.is_partial = 1;
	t->previous_ns = sample->time_ns;
}

void recording_thread_end(struct recording *r, struct process *p, struct process_thread *t)
{
	struct stretch ended;

	recording_put_stay(r, p, t);
	if (stretch_end(&t->stretch, &ended))
		recording_put_span(r, p, t, &ended);
}

static void end_stretches(struct recording *r, struct process *p)
{
	struct process_thread *t;
	size_t cursor = 0;

	while ((t = process_thread_next(p, &cursor)))
		recording_thread_end(r, p, t);
}

static void put_recording_row(struct recording *r, uint64_t now_ns)
{
	static const char *const engines[] = {
		[WEFT_ENGINE_CPU] = RECORDING_ENGINE_CPU,
		[WEFT_ENGINE_WALL] = RECORDING_ENGINE_WALL,
		[WEFT_ENGINE_CPU | WEFT_ENGINE_WALL] =
			RECORDING_ENGINE_CPU "," RECORDING_ENGINE_WALL,
	};
	struct weft_jfr_value v[] = {
		{.number = (int64_t)r->start_ns},
		{.number = (int64_t)(now_ns - r->start_ns)},
		{.string = text_value(r->id)},
		{.string = text_value(r->o.version)},
		{.string = text_value(r->command_line)},
		{.number = recording_root(r)},
		{.number = (int64_t)r->o.period_ns},
		{.string = text_value(engines[r->o.engines & 3])},
	};

	recording_put(r, r->type[TYPE_RECORDING], v, 8);
}

static void put_process_row(struct recording *r, const struct process *p, uint64_t now_ns)
{
	uint64_t until = p->work->end ? p->work->closed_ns : now_ns;
	char id[17];
	struct weft_jfr_value v[] = {
		{.number = (int64_t)p->opened_ns},
		{.number = (int64_t)(until - p->opened_ns)},
		{.string = {id, 16}},
		{.string = text_value(p->group)},
		{.number = p->pid},
		{.number = p->parent},
		{.string = text_value(p->command_line)},
		{.string = text_value(p->work->end ? p->work->end : RECORDING_END_RUNNING)},
	};

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)p->session_id);
	recording_put(r, r->type[TYPE_PROCESS], v, 8);
}

void recording_module(struct process *p, const struct code *code)
{
	uint64_t *used = map_put(p->work->codes, &code, sizeof(const struct code *), NULL);

	if (used)
		*used = 1;
}

static struct weft_jfr_string build_id(char room[2 * BUILD_ID_MAX], const struct code *code)
{
	const uint8_t *id = NULL;
	size_t bytes = code->elf ? elf_module_build_id(code->elf, &id) : 0;

	if (bytes == 0 || bytes > BUILD_ID_MAX)
		return (struct weft_jfr_string){0};
	return recording_hex(room, id, bytes);
}

/* A row for each file whose code ran in this chunk. */
static void put_modules(struct recording *r, struct process *p, uint64_t now_ns)
{
	char room[2 * BUILD_ID_MAX];
	size_t cursor = 0, bytes;
	const void *key;
	uint64_t *used;

	while (map_next(p->work->codes, &cursor, &key, &bytes, &used)) {
		const struct code *code;

		if (!*used)
			continue;
		*used = 0;
		memcpy(&code, key, sizeof(code));
		recording_put(r, r->type[TYPE_MODULE],
			      (struct weft_jfr_value[]){
				      {.number = (int64_t)now_ns},
				      {.string = text_value(p->group)},
				      {.string = text_value(code->name)},
				      {.string = text_value(code->path)},
				      {.string = build_id(room, code)},
			      },
			      5);
	}
}

void recording_process_begin(struct recording *r, struct process *p)
{
	p->work->next = NULL;
	*r->end = p;
	r->end = &p->work->next;
	recording_system_join(r, p);
}

void recording_process_end(struct recording *r, struct process *p, uint64_t now_ns, const char *end)
{
	struct process_thread *t;
	size_t cursor = 0;

	end_stretches(r, p);
	recording_account_close(r, p);
	p->work->end = end;
	p->work->closed_ns = now_ns;
	while (strcmp(end, RECORDING_END_RUNNING) != 0 && (t = process_thread_next(p, &cursor)))
		recording_thread_gone(r, t, now_ns);
	recording_system_leave(r, p, now_ns);
	recording_look_at_clock(p);
	recording_judge(r, p);
	recording_warn_of_lockstep(r, p);
	process_release(p);
}

void recording_set_root(struct recording *r, pid_t pid)
{
	store_relaxed(&r->pid, pid);
}

/* All but the @most newest of those that are over. */
static void free_ended(struct recording *r, size_t most)
{
	struct process **at = &r->first, *p;
	size_t count = 0;

	for (p = r->first; p; p = p->work->next)
		count += p->work->end != NULL;
	while ((p = *at)) {
		if (p->work->end && count > most) {
			*at = p->work->next;
			process_free(p);
			count--;
		} else {
			at = &p->work->next;
		}
	}
	r->end = at;
}

/* A thread that was renamed goes on under a new key, for no key ever changes its value. Now,
 * between two chunks, nothing is open under the old one. */
static void rename_threads(struct recording *r, struct process *p)
{
	struct process_thread *t;
	size_t cursor = 0;

	while ((t = process_thread_next(p, &cursor)))
		if (t->key && !t->named)
			recording_note_error(r, recording_thread(r, p, t));
}

/* All other threads leave the pool: no event can have them any more. */
static void recording_keep_threads(struct recording *r)
{
	struct buf keys = {0};
	struct process_thread *t;

	for (struct process *p = r->first; p; p = p->work->next) {
		for (size_t cursor = 0; (t = process_thread_next(p, &cursor));)
			if (t->key)
				buf_put(&keys, &t->key, sizeof(t->key));
		recording_account_keys(p, &keys);
	}
	recording_note_error(r, keys.failed
					? -ENOMEM
					: weft_jfr_keep_threads(r->writer, (const void *)keys.data,
								keys.size / sizeof(uint64_t)));
	buf_free(&keys);
}

/* ---- chunks that leave */

/* How many samples are left in a file from which the writer drops the oldest chunks (weft/jfr.h,
 * max_bytes): it tells how many chunks it has dropped, and what each held is remembered here. */
static int recording_kept_append(struct chunk_events *all, const struct recording_events *one)
{
	struct recording_events *added =
		array_add(&all->item, &all->count, &all->room, sizeof(*added));

	if (!added)
		return -1;
	*added = *one;
	return 0;
}

static void recording_kept_leave(struct chunk_events *all, uint64_t count)
{
	for (; count && all->count; count--) {
		recording_events_add(&all->gone, all->item);
		memmove(all->item, all->item + 1, --all->count * sizeof(*all->item));
	}
}

/* A chunk with these events has reached the file; old ones may have left it. The writer begins a
 * file with a chunk without events, which was not told here. */
static void recording_kept(struct recording *r, const struct recording_events *chunk)
{
	static const struct recording_events nothing;
	struct chunk_events *all = &r->chunks;
	struct weft_jfr_written written;

	if (!r->o.max_bytes && !r->o.max_age_ns)
		return;
	weft_jfr_written(r->writer, &written);
	while (all->chunks + 1 < written.chunks && recording_kept_append(all, &nothing) == 0)
		all->chunks++;
	if (recording_kept_append(all, chunk) == 0)
		all->chunks++;
	recording_kept_leave(all, written.dropped_chunks - all->dropped);
	all->dropped = written.dropped_chunks;
}

static void recording_settle_samples(struct recording *r, int reached)
{
	struct recording_events *to = reached ? &r->safe : &r->lost;

	if (reached)
		recording_kept(r, &r->chunk);
	recording_events_add(to, &r->chunk);
	r->chunk = (struct recording_events){0};
}

static void recording_put_rows(struct recording *r, uint64_t now_ns)
{
	for (struct process *p = r->first; p; p = p->work->next) {
		end_stretches(r, p);
		put_process_row(r, p, now_ns);
		recording_put_clock(r, p, now_ns);
		put_modules(r, p, now_ns);
		recording_resource(r, p);
		recording_account_rows(r, p);
		recording_counts(r, p, now_ns);
	}
	recording_system_end(r, now_ns);
	recording_cost(r, now_ns);
	put_recording_row(r, now_ns);
}

/* Behind what the chunk began with: where its types alone are larger than a chunk is to be, the
 * next one would be full as it begins, too, and one would follow the other. */
static uint64_t filled_bytes(const struct recording *r)
{
	uint64_t bytes = open_bytes(r);

	return bytes > r->begun_bytes ? bytes - r->begun_bytes : 0;
}

int recording_is_full(const struct recording *r)
{
	return filled_bytes(r) >= r->o.chunk_bytes;
}

int recording_roll_early(struct recording *r)
{
	if (filled_bytes(r) < 2 * r->o.chunk_bytes)
		return 0;
	return r->roll(r, r->now_ns > r->chunk_start_ns ? r->now_ns : r->chunk_start_ns + 1);
}

int recording_roll(struct recording *r, uint64_t now_ns)
{
	uint64_t bytes;
	int rc;

	recording_time_is(r, now_ns);
	recording_put_rows(r, now_ns);
	bytes = open_bytes(r);
	rc = weft_jfr_rotate(r->writer, now_ns, 1);
	recording_note_error(r, rc);
	recording_settle_samples(r, rc >= 0);
	recording_cost_settle(r, rc >= 0);
	recording_system_settle(r, rc >= 0, bytes);
	for (struct process *p = r->first; p; p = p->work->next) {
		recording_counts_settle(p, rc >= 0);
		rename_threads(r, p);
	}
	free_ended(r, rc >= 0 ? 0 : ENDED_MAX);
	if (r->tags.count > r->columns)
		recording_note_error(r, redeclare(r));
	/* There are too many stacks, which differ by the instruction, to remember them for ever. */
	recording_note_error(r, weft_jfr_forget_stacks(r->writer));
	recording_keep_threads(r);
	recording_forget_labels(r);
	r->chunk_start_ns = now_ns;
	begin_chunk(r);
	return rc < 0 ? rc : 0;
}

void recording_written(const struct recording *r, struct recording_written *out)
{
	struct weft_jfr_written written;

	weft_jfr_written(r->writer, &written);
	*out = (struct recording_written){
		.bytes = written.bytes - written.dropped_bytes,
		.in_file = r->safe,
		.lost = r->lost,
		.dropped_chunks = written.dropped_chunks,
		.dropped_bytes = written.dropped_bytes,
		.used_ns = r->used_ns,
		.seen_ns = r->seen_ns,
		.times_off = r->times_off,
		.error = r->error ? r->error : written.limit_error,
	};
	recording_events_add(&out->in_file, &r->chunk);
	out->in_file.samples -= r->chunks.gone.samples;
	out->in_file.wall -= r->chunks.gone.wall;
	out->in_file.switches -= r->chunks.gone.switches;
	out->in_file.typed -= r->chunks.gone.typed;
}

int recording_close(struct recording *r, uint64_t now_ns, struct recording_written *out)
{
	struct recording_written written;
	struct stat st;
	int rc;

	if (!r)
		return 0;
	r->is_closing = 1;
	recording_put_rows(r, now_ns);
	recording_system_finish(r, now_ns);
	rc = weft_jfr_end(r->writer);
	recording_note_error(r, rc);
	recording_settle_samples(r, rc >= 0);
	recording_written(r, &written);
	written.bytes = 0;
	if (stat(r->o.path, &st) == 0 && S_ISREG(st.st_mode))
		written.bytes = (uint64_t)st.st_size;
	weft_jfr_close(r->writer);
	free_recording(r);
	if (out)
		*out = written;
	return written.error;
}
