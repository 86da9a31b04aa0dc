/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, stretches, rows and chunks: see recording.h. Counters: recording_counts.c. */
#include "collector/recording_private.h"

#include "base/map.h"
#include "base/recording.h"
#include "collector/clock.h"
#include "collector/modules.h"
#include "elf/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define BUILD_ID_MAX 64
#define CHUNK_NS UINT64_C(10000000000)
#define CHUNK_BYTES ((uint64_t)16 << 20)
/* The writer's own limits, which are never to be reached: see recording.h. */
#define WRITER_CHUNK_BYTES (((uint64_t)1 << 30) - 1)
#define WRITER_CHUNK_NS (UINT64_MAX / 4)

struct weft_jfr_writer *recording_writer(struct recording *r)
{
	return r->writer;
}

static void note_error(struct recording *r, int rc)
{
	if (rc < 0 && r->error == 0)
		r->error = rc;
}

void recording_put(struct recording *r, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count)
{
	note_error(r, type ? weft_jfr_event(r->writer, type, values, count) : -ENOMEM);
}

static int declare_types(struct recording *r)
{
	struct weft_jfr_writer *w = r->writer;

	r->sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	r->setting = weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING);
	r->counter = declare_counter(w);
	r->histogram = declare_histogram(w);
	r->recording = declare_recording(w);
	r->process = declare_process(w);
	r->module = declare_module(w);
	if (r->inline_context)
		r->tagged = declare_inline_sample(w, &r->tags);
	else
		r->tagged = declare_span(w, &r->tags);
	return r->sample && r->setting && r->counter && r->histogram && r->recording &&
			       r->process && r->module && r->tagged
		       ? 0
		       : -ENOMEM;
}

static void put_setting(struct recording *r, const char *name, const char *value)
{
	const struct weft_jfr_type *type = r->inline_context ? r->tagged : r->sample;
	struct weft_jfr_value v[] = {
		{.number = (int64_t)r->chunk_start_ns},
		{.number = weft_jfr_type_id(type)},
		{.string = text_value(name)},
		{.string = text_value(value)},
	};

	recording_put(r, r->setting, v, 4);
}

/* Every chunk says by itself how it was taken. */
static void put_settings(struct recording *r)
{
	char period[32];

	snprintf(period, sizeof(period), "%llu ns", (unsigned long long)r->period_ns);
	put_setting(r, RECORDING_SETTING_ENABLED, "true");
	put_setting(r, RECORDING_SETTING_PERIOD, period);
	put_setting(r, RECORDING_SETTING_ENGINE, "cpu");
	put_setting(r, RECORDING_SETTING_STACK, r->stack_mode);
}

static void free_recording(struct recording *r)
{
	struct process *p;

	while ((p = r->first)) {
		r->first = p->next;
		process_free(p);
	}
	tag_columns_free(&r->tags);
	free(r->path);
	free(r->version);
	free(r->stack_mode);
	free(r->command_line);
	free(r);
}

int recording_open(struct recording **out, const struct recording_options *o)
{
	struct recording *r = calloc(1, sizeof(*r));
	struct weft_jfr_options jfr = {.size = sizeof(jfr), .path = o->path};
	uint64_t id = 0;
	int rc;

	if (!r)
		return -ENOMEM;
	r->start_ns = r->chunk_start_ns = jfr.start_mono_ns = clock_mono_ns();
	jfr.chunk_ns = WRITER_CHUNK_NS;
	jfr.chunk_bytes = WRITER_CHUNK_BYTES;
	r->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : CHUNK_BYTES;
	r->period_ns = o->period_ns;
	r->pid = o->pid;
	r->inline_context = o->inline_context;
	r->path = strdup(o->path);
	r->version = strdup(o->version);
	r->stack_mode = strdup(o->stack_mode);
	r->command_line = strdup(o->command_line);
	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) < 0)
		id = r->start_ns;
	snprintf(r->id, sizeof(r->id), "%016llx", (unsigned long long)id);
	r->writer = weft_jfr_create(&jfr);
	rc = r->writer ? declare_types(r) : -errno;
	if (rc || !r->path || !r->version || !r->stack_mode || !r->command_line) {
		weft_jfr_close(r->writer);
		free_recording(r);
		return rc ? rc : -ENOMEM;
	}
	put_settings(r);
	if (r->error) { /* the file's first bytes could not be written */
		rc = r->error;
		weft_jfr_close(r->writer);
		free_recording(r);
		return rc;
	}
	*out = r;
	return 0;
}

int recording_thread(struct recording *r, const struct process *p, struct process_thread *t)
{
	struct weft_jfr_thread thread = {.os_id = t->tid, .name = t->name, .group = p->group};

	t->key = weft_jfr_thread(r->writer, &thread, 1);
	t->named = 1;
	return t->key ? 0 : -errno;
}

static struct weft_jfr_string hex(char *room, const void *bytes, size_t count)
{
	static const char digit[] = "0123456789abcdef";
	const uint8_t *p = bytes;

	for (size_t i = 0; i < count; i++) {
		room[2 * i] = digit[p[i] >> 4];
		room[2 * i + 1] = digit[p[i] & 15];
	}
	return (struct weft_jfr_string){room, 2 * count};
}

static struct weft_jfr_string hex_id(char *room, uint64_t id)
{
	uint64_t big = __builtin_bswap64(id);

	return id ? hex(room, &big, sizeof(big)) : (struct weft_jfr_string){0};
}

struct context_texts {
	char trace[32], span[16], root[16];
};

static const uint8_t no_trace[16];

/* Trace, span, root span and tags: the fields from @v on. */
static void fill_context(struct recording *r, struct process *p, const struct context_key *key,
			 struct context_texts *texts, struct weft_jfr_value *v)
{
	memset(v, 0, (3 + r->columns) * sizeof(*v));
	if (!key)
		return;
	if (memcmp(key->trace_id, no_trace, sizeof(no_trace)) != 0)
		v[0].string = hex(texts->trace, key->trace_id, sizeof(key->trace_id));
	v[1].string = hex_id(texts->span, key->span_id);
	v[2].string = hex_id(texts->root, key->root_span_id);
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++) {
		const char *value =
			key->tags[i] ? dictionary_string(p->dictionary, key->tags[i]) : NULL;
		int column = p->column[i] - 1;

		if (value && column >= 0 && (size_t)column < r->columns)
			v[3 + column].string = text_value(value);
	}
}

/*
 * Columns for tag names not met before. A new one needs a new declaration of the type, and
 * that a new chunk; there are at most TAG_COLUMNS_MAX of these in a recording.
 */
static void learn_columns(struct recording *r, struct process *p, const struct context_key *key)
{
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++) {
		const char *name;
		int column;

		if (!key->tags[i] || p->column[i])
			continue;
		name = dictionary_tag_name(p->dictionary, i);
		column = name ? tag_columns_find(&r->tags, name) : -ENOENT;
		if (column >= 0)
			p->column[i] = (uint8_t)(column + 1);
	}
}

static int knows_all(const struct process *p, const struct context_key *key)
{
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++)
		if (key->tags[i] &&
		    (!p->column[i] || !dictionary_string(p->dictionary, key->tags[i])))
			return 0;
	return 1;
}

static void learn_context(struct recording *r, struct process *p, const struct context_key *key)
{
	if (knows_all(p, key))
		return;
	if (process_read_dictionary(p))
		p->own.log_invalid++;
	learn_columns(r, p, key);
}

static int redeclare(struct recording *r)
{
	int rc = weft_jfr_retire(r->writer, r->tagged);

	if (rc)
		return rc;
	if (r->inline_context)
		r->tagged = declare_inline_sample(r->writer, &r->tags);
	else
		r->tagged = declare_span(r->writer, &r->tags);
	r->columns = r->tags.count;
	return r->tagged ? 0 : -ENOMEM;
}

static void put_span(struct recording *r, struct process *p, const struct process_thread *t,
		     const struct stretch *s)
{
	struct weft_jfr_value v[RECORDING_SPAN_FIXED_FIELDS + TAG_COLUMNS_MAX];
	struct context_texts texts;

	if (r->inline_context)
		return;
	v[0] = (struct weft_jfr_value){.number = (int64_t)s->first_ns};
	v[1] = (struct weft_jfr_value){.number = (int64_t)(s->last_ns - s->first_ns + 1)};
	v[2] = (struct weft_jfr_value){.number = (int64_t)t->key};
	fill_context(r, p, &s->key, &texts, v + 3);
	recording_put(r, r->tagged, v, RECORDING_SPAN_FIXED_FIELDS + r->columns);
}

static void put_samples(struct recording *r, struct process *p, const struct process_thread *t,
			const struct spread *spread, const struct recording_stack *stack,
			const struct context_key *key)
{
	struct weft_jfr_value v[RECORDING_INLINE_FIXED_FIELDS + TAG_COLUMNS_MAX];
	const struct weft_jfr_type *type = r->inline_context ? r->tagged : r->sample;
	size_t count = 4;
	struct context_texts texts;

	v[1] = (struct weft_jfr_value){.number = (int64_t)t->key};
	v[2].number =
		(int64_t)weft_jfr_stack(r->writer, stack->frame, stack->count, stack->truncated);
	v[3] = (struct weft_jfr_value){.number = WEFT_JFR_STATE_RUNNABLE};
	if (r->inline_context) {
		fill_context(r, p, key, &texts, v + 4);
		count = RECORDING_INLINE_FIXED_FIELDS + r->columns;
	}
	for (uint32_t i = 0; i < spread->count; i++) {
		uint64_t at = spread->first_ns + i * spread->step_ns;

		v[0] = (struct weft_jfr_value){.number = (int64_t)at};
		recording_put(r, type, v, count);
	}
	r->chunk_samples += spread->count;
}

/*
 * No event of the sample may lie before this. Of a context that is new with this sample
 * nobody knows when it was set, only that it stands now.
 */
static uint64_t earliest_of_sample(const struct process *p, const struct process_thread *t,
				   const struct weft_sample_record *sample,
				   const struct context_key *key)
{
	if (key && !stretch_continues(&t->stretch, key))
		return sample->time_ns;
	return t->previous_ns ? t->previous_ns : p->opened_ns;
}

void recording_sample(struct recording *r, struct process *p, struct process_thread *t,
		      const struct weft_sample_record *sample, const struct recording_stack *stack)
{
	struct context_key key;
	int has_context = context_of_sample(sample, &key);
	struct spread spread =
		spread_weight(sample->time_ns, sample->weight, r->period_ns,
			      earliest_of_sample(p, t, sample, has_context ? &key : NULL));
	struct stretch ended;

	if (has_context)
		learn_context(r, p, &key);
	if (r->tags.count > r->columns)
		recording_roll(r, clock_mono_ns());
	if (stretch_add(&t->stretch, has_context ? &key : NULL, spread.first_ns, sample->time_ns,
			&ended))
		put_span(r, p, t, &ended);
	put_samples(r, p, t, &spread, stack, has_context ? &key : NULL);
	t->previous_ns = sample->time_ns;
}

void recording_thread_end(struct recording *r, struct process *p, struct process_thread *t)
{
	struct stretch ended;

	if (stretch_end(&t->stretch, &ended))
		put_span(r, p, t, &ended);
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
	struct weft_jfr_value v[] = {
		{.number = (int64_t)r->start_ns},
		{.number = (int64_t)(now_ns - r->start_ns)},
		{.string = text_value(r->id)},
		{.string = text_value(r->version)},
		{.string = text_value(r->command_line)},
		{.number = r->pid},
		{.number = (int64_t)r->period_ns},
		{.string = text_value("cpu")},
	};

	recording_put(r, r->recording, v, 8);
}

static void put_process_row(struct recording *r, const struct process *p, uint64_t now_ns)
{
	uint64_t until = p->end ? p->closed_ns : now_ns;
	char id[17];
	struct weft_jfr_value v[] = {
		{.number = (int64_t)p->opened_ns},
		{.number = (int64_t)(until - p->opened_ns)},
		{.string = {id, 16}},
		{.string = text_value(p->group)},
		{.number = p->pid},
		{.number = p->parent},
		{.string = text_value(p->command_line)},
		{.string = text_value(p->end ? p->end : RECORDING_END_RUNNING)},
	};

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)p->session_id);
	recording_put(r, r->process, v, 8);
}

void recording_module(struct process *p, const struct code *code)
{
	uint64_t *used = map_put(p->codes, &code, sizeof(const struct code *), NULL);

	if (used)
		*used = 1;
}

static struct weft_jfr_string build_id(char room[2 * BUILD_ID_MAX], const struct code *code)
{
	const uint8_t *id = NULL;
	size_t bytes = code->elf ? elf_module_build_id(code->elf, &id) : 0;

	if (bytes == 0 || bytes > BUILD_ID_MAX)
		return (struct weft_jfr_string){0};
	return hex(room, id, bytes);
}

/* The files whose code ran in this chunk. */
static void put_modules(struct recording *r, struct process *p, uint64_t now_ns)
{
	char room[2 * BUILD_ID_MAX];
	size_t cursor = 0, bytes;
	const void *key;
	uint64_t *used;

	while (map_next(p->codes, &cursor, &key, &bytes, &used)) {
		const struct code *code;

		if (!*used)
			continue;
		*used = 0;
		memcpy(&code, key, sizeof(code));
		recording_put(r, r->module,
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
	p->next = r->first;
	r->first = p;
}

void recording_process_end(struct recording *r, struct process *p, uint64_t now_ns, const char *end)
{
	end_stretches(r, p);
	p->end = end;
	p->closed_ns = now_ns;
	process_release(p);
}

static void free_ended(struct recording *r)
{
	struct process **at = &r->first, *p;

	while ((p = *at)) {
		if (p->end) {
			*at = p->next;
			process_free(p);
		} else {
			at = &p->next;
		}
	}
}

int recording_is_full(const struct recording *r)
{
	struct weft_jfr_written written;

	weft_jfr_written(r->writer, &written);
	return written.open_bytes >= r->chunk_bytes;
}

/* A thread that got another name goes on under another key: no key ever changes its value,
 * and no stretch is open now. */
static void rename_threads(struct recording *r, struct process *p)
{
	struct process_thread *t;
	size_t cursor = 0;

	while ((t = process_thread_next(p, &cursor)))
		if (!t->named)
			note_error(r, recording_thread(r, p, t));
}

static void settle_samples(struct recording *r, int reached)
{
	if (reached)
		r->samples += r->chunk_samples;
	else
		r->samples_lost += r->chunk_samples;
	r->chunk_samples = 0;
}

static void put_rows(struct recording *r, uint64_t now_ns)
{
	for (struct process *p = r->first; p; p = p->next) {
		end_stretches(r, p);
		put_process_row(r, p, now_ns);
		put_modules(r, p, now_ns);
		recording_counts(r, p, now_ns);
	}
	put_recording_row(r, now_ns);
}

int recording_roll(struct recording *r, uint64_t now_ns)
{
	int rc;

	put_rows(r, now_ns);
	rc = weft_jfr_rotate(r->writer, now_ns, 1);
	note_error(r, rc);
	settle_samples(r, rc >= 0);
	for (struct process *p = r->first; p; p = p->next) {
		recording_counts_settle(p, rc >= 0);
		rename_threads(r, p);
	}
	if (rc >= 0)
		free_ended(r);
	if (r->tags.count > r->columns)
		note_error(r, redeclare(r));
	/* Stacks down to the instruction are too many to be remembered for ever. */
	note_error(r, weft_jfr_forget_stacks(r->writer));
	r->chunk_start_ns = now_ns;
	put_settings(r);
	return rc < 0 ? rc : 0;
}

void recording_written(const struct recording *r, struct recording_written *out)
{
	struct weft_jfr_written written;

	weft_jfr_written(r->writer, &written);
	*out = (struct recording_written){
		.bytes = written.bytes,
		.samples = r->samples + r->chunk_samples,
		.samples_lost = r->samples_lost,
		.error = r->error,
	};
}

static uint64_t file_bytes(const char *path, uint64_t otherwise)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : otherwise;
}

int recording_close(struct recording *r, uint64_t now_ns, struct recording_written *out)
{
	struct recording_written written;
	int rc;

	if (!r)
		return 0;
	put_rows(r, now_ns);
	rc = weft_jfr_close(r->writer);
	note_error(r, rc);
	settle_samples(r, rc >= 0);
	written = (struct recording_written){
		.bytes = file_bytes(r->path, 0),
		.samples = r->samples,
		.samples_lost = r->samples_lost,
		.error = r->error,
	};
	free_recording(r);
	if (out)
		*out = written;
	return written.error;
}
