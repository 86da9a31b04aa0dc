/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events in the file. A type is declared when a program defines it. Equal definitions of
 * several processes are one type in the file (a class here); different ones of the same name are
 * two types of that name, as the JDK has it with classes of two loaders.
 */
#include "collector/session/session_events.h"
#include "collector/walk/walking.h"
#include "collector/write/recording_private.h"

#include <stdio.h>
#include <stdlib.h>

#define CLASSES_MAX 4096
#define GIVEN_FIELDS 4 /* startTime, duration, eventThread, stackTrace */
#define CATEGORIES_MAX 16
#define SETTINGS_MAX 5
#define STRANGERS_NAMED 1000

/* ---- declaring */

static unsigned int content_flags(uint32_t content)
{
	static const struct {
		uint32_t content;
		unsigned int flag;
	} of[] = {
		{WEFT_EVENT_CONTEXTUAL_FIELD, WEFT_JFR_CONTEXTUAL},
		{WEFT_EVENT_UNSIGNED, WEFT_JFR_UNSIGNED},
		{WEFT_EVENT_BYTES, WEFT_JFR_BYTES},
		{WEFT_EVENT_BITS, WEFT_JFR_BITS},
		{WEFT_EVENT_ADDRESS, WEFT_JFR_ADDRESS},
		{WEFT_EVENT_PERCENTAGE, WEFT_JFR_PERCENTAGE},
		{WEFT_EVENT_FREQUENCY, WEFT_JFR_FREQUENCY},
		{WEFT_EVENT_TIMESPAN_NS, WEFT_JFR_TIMESPAN_NS},
		{WEFT_EVENT_TIMESPAN_MS, WEFT_JFR_TIMESPAN_MS},
		{WEFT_EVENT_TIMESTAMP_MS, WEFT_JFR_TIMESTAMP_MS},
		{WEFT_EVENT_EXPERIMENTAL_FIELD, WEFT_JFR_EXPERIMENTAL},
	};
	unsigned int flags = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (content & of[i].content)
			flags |= of[i].flag;
	return flags;
}

static enum weft_jfr_kind jfr_kind(enum weft_event_kind kind)
{
	static const enum weft_jfr_kind of[] = {
		[WEFT_EVENT_BOOLEAN] = WEFT_JFR_BOOLEAN,
		[WEFT_EVENT_BYTE] = WEFT_JFR_BYTE,
		[WEFT_EVENT_CHAR] = WEFT_JFR_CHAR,
		[WEFT_EVENT_SHORT] = WEFT_JFR_SHORT,
		[WEFT_EVENT_INT] = WEFT_JFR_INT,
		[WEFT_EVENT_LONG] = WEFT_JFR_LONG,
		[WEFT_EVENT_FLOAT] = WEFT_JFR_FLOAT,
		[WEFT_EVENT_DOUBLE] = WEFT_JFR_DOUBLE,
		[WEFT_EVENT_STRING] = WEFT_JFR_STRING,
		[WEFT_EVENT_STRING_POOLED] = WEFT_JFR_STRING,
		[WEFT_EVENT_THREAD] = WEFT_JFR_THREAD,
		[WEFT_EVENT_ID] = WEFT_JFR_STRING,
	};

	return of[kind];
}

static const char *or_none(const char *text)
{
	return *text ? text : NULL;
}

static size_t fill_fields(const struct event_type *t, struct weft_jfr_field *out)
{
	unsigned int all = t->flags & WEFT_EVENT_CONTEXTUAL ? WEFT_JFR_CONTEXTUAL : 0;
	size_t count = 0;

	out[count++] = (struct weft_jfr_field){"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP,
					       "Start Time", NULL};
	if (!(t->flags & WEFT_EVENT_INSTANT))
		out[count++] = (struct weft_jfr_field){"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN,
						       "Duration", NULL};
	out[count++] =
		(struct weft_jfr_field){"eventThread", WEFT_JFR_THREAD, 0, "Event Thread", NULL};
	if (t->flags & WEFT_EVENT_STACK)
		out[count++] = (struct weft_jfr_field){"stackTrace", WEFT_JFR_STACK, 0,
						       "Stack Trace", NULL};
	for (size_t i = 0; i < t->field_count; i++) {
		const struct event_field *f = &t->field[i];

		out[count++] = (struct weft_jfr_field){f->name, jfr_kind(f->kind),
						       content_flags(f->content) | all,
						       or_none(f->label), or_none(f->description)};
	}
	return count;
}

/* "A|B" into its parts; @room is where their texts go. */
static void split_category(const char *text, char *room, size_t bytes, const char **part)
{
	size_t count = 0;

	snprintf(room, bytes, "%s", text);
	for (char *at = room; at && count < CATEGORIES_MAX; count++) {
		part[count] = at;
		at = strchr(at, '|');
		if (at)
			*at++ = 0;
	}
	part[count] = NULL;
}

struct setting_texts {
	struct weft_jfr_type_setting setting[SETTINGS_MAX];
	char value[SETTINGS_MAX][64];
	size_t count;
};

/* The settings that this kind of type has, as text. */
static void fill_settings(const struct event_type *t, const struct event_settings *s,
			  struct setting_texts *out)
{
	static const enum event_setting all[SETTINGS_MAX] = {SETTING_ENABLED, SETTING_THRESHOLD,
							     SETTING_THROTTLE, SETTING_STACK_TRACE,
							     SETTING_SELECT};

	out->count = 0;
	for (size_t i = 0; i < SETTINGS_MAX; i++) {
		if ((all[i] == SETTING_THRESHOLD && t->flags & WEFT_EVENT_INSTANT) ||
		    (all[i] == SETTING_STACK_TRACE && !(t->flags & WEFT_EVENT_STACK)))
			continue;
		weft_setting_text(s, all[i], out->value[out->count], sizeof(out->value[0]));
		out->setting[out->count] = (struct weft_jfr_type_setting){weft_setting_name(all[i]),
									  out->value[out->count]};
		out->count++;
	}
}

static struct weft_jfr_type *recording_event_declare(struct recording *r,
						     const struct event_type *t)
{
	struct weft_jfr_field field[GIVEN_FIELDS + WEFT_EVENT_FIELDS_MAX];
	const char *category[CATEGORIES_MAX + 1];
	char room[1024];
	struct event_settings defaults = event_type_defaults(t);
	struct setting_texts settings;
	struct weft_jfr_type_def def = {
		.name = t->name,
		.label = or_none(t->label),
		.description = or_none(t->description),
		.flags = WEFT_JFR_TYPE_TWIN |
			 (t->flags & WEFT_EVENT_CONTEXTUAL ? WEFT_JFR_TYPE_CONTEXTUAL : 0) |
			 (t->flags & WEFT_EVENT_EXPERIMENTAL ? WEFT_JFR_TYPE_EXPERIMENTAL : 0),
		.fields = field,
		.field_count = fill_fields(t, field),
	};

	weft_settings_settle(&defaults, (t->flags & WEFT_EVENT_CONTEXTUAL) != 0);
	fill_settings(t, &defaults, &settings);
	def.settings = settings.setting;
	def.setting_count = settings.count;
	if (*t->category) {
		split_category(t->category, room, sizeof(room), category);
		def.category = category;
	}
	return weft_jfr_type(r->writer, &def);
}

/* ---- classes: the types of the recording */

static struct event_class *class_new(const struct type_word *word, const uint8_t *data,
				     size_t bytes)
{
	struct event_class *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (event_type_new(&c->def, word->number, data, bytes)) {
		free(c);
		return NULL;
	}
	return c;
}

static void class_free(struct event_class *c)
{
	if (c)
		event_type_free(c->def);
	free(c);
}

void recording_free_classes(struct recording *r)
{
	struct event_class *c;

	while ((c = r->classes)) {
		r->classes = c->next;
		class_free(c);
	}
}

void recording_put_class_settings(struct recording *r, const struct event_class *c)
{
	struct setting_texts texts;

	fill_settings(c->def, &c->settings, &texts);
	for (size_t i = 0; i < texts.count; i++)
		recording_put_setting(r, c->type, texts.setting[i].name,
				      texts.setting[i].default_value);
}

static struct event_class *find_class(const struct recording *r, const struct event_type *t,
				      int *has_other)
{
	*has_other = 0;
	for (struct event_class *c = r->classes; c; c = c->next) {
		if (event_type_equals(c->def, t))
			return c;
		*has_other |= strcmp(c->def->name, t->name) == 0;
	}
	return NULL;
}

/* Takes @c over. Returns it, or an equal one that is there already; NULL: no memory, or too many.
 */
static struct event_class *recording_event_add_class(struct recording *r, struct event_class *c)
{
	int has_other;
	struct event_class *found = find_class(r, c->def, &has_other);
	char text[EVENT_NAME_MAX + 128];

	if (found) {
		class_free(c);
		return found;
	}
	c->type = r->class_count < CLASSES_MAX ? recording_event_declare(r, c->def) : NULL;
	if (!c->type) {
		class_free(c);
		return NULL;
	}
	c->next = r->classes;
	r->classes = c;
	r->class_count++;
	if (has_other) {
		snprintf(text, sizeof(text),
			 "event type %s: defined with different fields by different programs; "
			 "both are in the recording",
			 c->def->name);
		recording_put_warning(r, text);
	}
	return c;
}

static void warn_of_select(struct recording *r, const struct event_type *t)
{
	char text[EVENT_NAME_MAX + 128];

	snprintf(text, sizeof(text),
		 "event type %s: its setting select is none that a type which is %scontextual can "
		 "have (all, %s): taken as all",
		 t->name, t->flags & WEFT_EVENT_CONTEXTUAL ? "" : "not ",
		 t->flags & WEFT_EVENT_CONTEXTUAL ? "if-triggered" : "if-context");
	recording_put_warning(r, text);
}

static void settle_class(struct recording *r, struct event_class *c, const struct type_word *word)
{
	int is_told = c->is_told && event_settings_equal(&c->settings, &word->settings);

	c->settings = word->settings;
	c->is_told = 1;
	if (!is_told)
		recording_put_class_settings(r, c);
	if (word->wrong_select)
		warn_of_select(r, c->def);
}

void recording_event_type(struct recording *r, struct process *p, const struct type_word *word,
			  const uint8_t *data, size_t bytes)
{
	struct event_class *c;

	if (word->number < WEFT_EVENT_ROW_FIRST) {
		recording_sample_settings(r, p, word);
		return;
	}
	if (!p->work->classes)
		p->work->classes = calloc(WEFT_EVENT_TYPES_MAX, sizeof(struct event_class *));
	if (!p->work->classes || word->number >= WEFT_EVENT_TYPES_MAX)
		return;
	if (bytes) {
		c = class_new(word, data, bytes);
		p->work->classes[word->number] = c ? recording_event_add_class(r, c) : NULL;
	}
	c = p->work->classes[word->number];
	if (c)
		settle_class(r, c, word);
	else
		p->work->own.counter[WEFT_COUNTER_EVENT_TYPES_REFUSED]++;
}

/* ---- events */

struct value_texts {
	char id[WEFT_EVENT_FIELDS_MAX][16];
};

static struct weft_jfr_string recording_event_pooled(struct process *p, int64_t id)
{
	const char *text = NULL;

	if (id > 0 && id <= UINT32_MAX)
		text = dictionary_string(p->work->dictionary, (uint32_t)id);
	if (!text && id > 0 && id <= UINT32_MAX) {
		if (process_read_dictionary(p))
			p->work->own.log_invalid++;
		text = dictionary_string(p->work->dictionary, (uint32_t)id);
	}
	return text_value(text);
}

/* The key of a thread that has no samples or events; it may even have ended. The main thread has
 * the process's name; others' names are read, but only so many, for a program may make numbers up.
 */
static int64_t stranger_key(struct recording *r, struct process *p, int64_t tid)
{
	struct weft_jfr_thread thread = {.os_id = tid, .group = p->group};
	char name[64];

	if (tid == p->inside_pid)
		thread.name = p->command;
	if (p->work->strangers < STRANGERS_NAMED && p->pid == p->inside_pid) {
		p->work->strangers++;
		if (process_thread_name(p, (int32_t)tid, name, sizeof(name)))
			thread.name = name;
	}
	return (int64_t)weft_jfr_thread(r->writer, &thread, 0);
}

static int64_t thread_key(struct recording *r, struct process *p, int64_t tid)
{
	const struct process_thread *t;

	if (tid <= 0 || tid > INT32_MAX)
		return 0;
	t = process_thread_by_tid(p, (int32_t)tid);
	return t && t->key ? (int64_t)t->key : stranger_key(r, p, tid);
}

static size_t fill_values(struct recording *r, struct process *p, const struct event_type *t,
			  const uint8_t *at, struct value_texts *texts, struct weft_jfr_value *out)
{
	for (size_t i = 0; i < t->field_count; i++) {
		struct event_value v = event_value_next(t->field[i].kind, &at);

		out[i] = (struct weft_jfr_value){
			.number = v.number,
			.real = v.real,
			.string = {v.text, v.text_bytes},
		};
		if (t->field[i].kind == WEFT_EVENT_STRING_POOLED)
			out[i].string = recording_event_pooled(p, v.number);
		else if (t->field[i].kind == WEFT_EVENT_THREAD)
			out[i].number = thread_key(r, p, v.number);
		else if (t->field[i].kind == WEFT_EVENT_ID)
			out[i].string = recording_hex_id(texts->id[i], (uint64_t)v.number);
		else if (t->field[i].kind == WEFT_EVENT_BOOLEAN)
			out[i].number = v.number != 0;
	}
	return t->field_count;
}

struct recorded_event recording_event_of(struct recording *r, const struct walked_event *e)
{
	const struct weft_event_context *c = &e->context;
	struct recorded_event out = {
		.begin_ns = e->begin_ns,
		.end_ns = e->end_ns,
		.number = e->number,
		.values_bytes = e->values_bytes,
		.values = walked_event_values(e),
		.key = {.span_id = c->span_id,
			.root_span_id = c->root_span_id,
			.coroutine = c->coroutine,
			.labels = recording_label_set(r, walked_event_labels(e), c->label_bytes)},
	};

	memcpy(out.key.trace_id, c->trace_id, sizeof(out.key.trace_id));
	memcpy(out.key.tags, c->tags, sizeof(out.key.tags));
	return out;
}

static const struct context_key *recording_event_key(const struct recorded_event *e)
{
	static const struct context_key nothing;

	return memcmp(&e->key, &nothing, sizeof(nothing)) != 0 ? &e->key : NULL;
}

/* An event prolongs the thread's span as a sample at its end would. One that comes too late for
 * that gets a span of its own, so that it has its context. */
static void extend(struct recording *r, struct process *p, struct process_thread *t,
		   const struct context_key *key, uint64_t end_ns)
{
	if (end_ns > t->previous_ns || (key && stretch_continues(&t->stretch, key))) {
		recording_extend(r, p, t, key, end_ns, end_ns);
		if (end_ns > t->previous_ns)
			t->previous_ns = end_ns;
	} else if (key) {
		recording_put_span(
			r, p, t,
			&(struct stretch){.key = *key, .first_ns = end_ns, .last_ns = end_ns});
	}
}

void recording_event(struct recording *r, struct process *p, struct process_thread *t,
		     const struct recorded_event *e, const struct recording_trace *trace)
{
	const struct event_class *c = p->work->classes ? p->work->classes[e->number] : NULL;
	struct weft_jfr_value v[GIVEN_FIELDS + WEFT_EVENT_FIELDS_MAX];
	struct value_texts texts;
	const struct context_key *has = recording_event_key(e);
	uint64_t begin = e->begin_ns, end = e->end_ns;
	size_t count = 0;

	if (!c) {
		p->work->own.counter[WEFT_COUNTER_EVENTS_INVALID]++;
		return;
	}
	recording_time_is(r, end);
	recording_meet_context(r, p, has);
	extend(r, p, t, has, end);
	v[count++] = (struct weft_jfr_value){.number = (int64_t)begin};
	if (!(c->def->flags & WEFT_EVENT_INSTANT))
		v[count++] = (struct weft_jfr_value){.number = (int64_t)(end - begin)};
	v[count++] = (struct weft_jfr_value){.number = (int64_t)t->key};
	if (c->def->flags & WEFT_EVENT_STACK)
		v[count++] = (struct weft_jfr_value){.number = recording_stack(r, trace)};
	count += fill_values(r, p, c->def, e->values, &texts, v + count);
	recording_put(r, c->type, v, count);
	r->chunk.typed++;
}
