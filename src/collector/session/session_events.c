/* SPDX-License-Identifier: Apache-2.0 */
/* Typed events of a session: see session_events.h. */
#include "collector/session/session_private.h"

#include "base/dictionary.h"
#include "base/event_row.h"
#include "base/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Samples by their rows: what they are called everywhere, and in a file with inline context. */
const char *const session_sample_names[] = {
	[WEFT_EVENT_ROW_CPU] = RECORDING_EXECUTION_SAMPLE,
	[WEFT_EVENT_ROW_WALL] = RECORDING_WALL_SAMPLE,
};
static const char *const inline_names[] = {
	[WEFT_EVENT_ROW_CPU] = RECORDING_INLINE_SAMPLE,
	[WEFT_EVENT_ROW_WALL] = RECORDING_INLINE_WALL_SAMPLE,
};

static struct weft_event_row *session_events_row_of(const struct session *s, uint32_t number)
{
	return (struct weft_event_row *)(void *)((uint8_t *)s->process->base +
						 s->process->layout.event_area_offset +
						 (size_t)number * WEFT_EVENT_ROW_BYTES);
}

static void publish_text(const struct session *s)
{
	uint8_t *area = (uint8_t *)s->process->base + s->process->layout.event_area_offset;

	settings_text_publish(&s->events.text, (void *)(area + WEFT_EVENT_ROWS_BYTES));
}

/* ---- rows */

static void show_type(const struct session *s, const struct session_type *t)
{
	event_row_fill(session_events_row_of(s, t->def->number), &t->settings, t->def->flags,
		       tsc_clock_hz(s->event_options.clock), !s->events.is_off);
}

static void show_types(const struct session *s)
{
	for (size_t i = 0; s->events.type && i < WEFT_EVENT_TYPES_MAX; i++)
		if (s->events.type[i].def)
			show_type(s, &s->events.type[i]);
}

/* Of a row of samples. */
static void session_events_show_flags(const struct session *s, uint32_t number, uint32_t flags)
{
	if (s->events.is_off)
		flags = 0;
	store_release(&session_events_row_of(s, number)->flags, flags | WEFT_EVENT_SET);
}

/* The CPU timer ticks for the samples of the file, and for the wall engine. */
static uint32_t cpu_row_flags(const struct session *s)
{
	static const uint32_t engine[] = {
		[WEFT_EVENT_ROW_CPU] = WEFT_ENGINE_CPU, [WEFT_EVENT_ROW_WALL] = WEFT_ENGINE_WALL};
	uint32_t flags = 0;

	for (uint32_t row = WEFT_EVENT_ROW_CPU; row <= WEFT_EVENT_ROW_WALL; row++) {
		const struct event_settings *of = &s->events.sample[row];

		if (!(s->event_options.engines & engine[row]) || !of->enabled)
			continue;
		if (of->select == SELECT_ALL)
			return WEFT_EVENT_ON;
		flags = WEFT_EVENT_ON | WEFT_EVENT_IF_CONTEXT;
	}
	return flags;
}

enum samples_choice samples_choice_of(const struct event_settings *s)
{
	if (!s->enabled)
		return SAMPLES_NONE;
	return s->select == SELECT_IF_CONTEXT ? SAMPLES_IN_CONTEXT : SAMPLES_ALL;
}

static void show_samples(struct session *s)
{
	const struct event_settings *wall = &s->events.sample[WEFT_EVENT_ROW_WALL];

	session_events_show_flags(s, WEFT_EVENT_ROW_CPU, cpu_row_flags(s));
	session_events_show_flags(s, WEFT_EVENT_ROW_WALL, event_row_flags(wall, 0, 1));
	store_relaxed(&s->process->wall_asked, samples_choice_of(wall));
}

/* By the name that they have everywhere, then by the one that they have in this file. */
static void settle_samples(struct session *s)
{
	const struct settings_text *text = &s->events.text;

	s->events.warned = 0;
	for (uint32_t row = WEFT_EVENT_ROW_CPU; row <= WEFT_EVENT_ROW_WALL; row++) {
		struct event_settings settings = {.enabled = 1, .stack_trace = 1};
		uint32_t wrong;

		if (text->text)
			weft_settings_apply(&settings, session_sample_names[row], text->text,
					    text->bytes);
		if (text->text && s->event_options.has_inline_context)
			weft_settings_apply(&settings, inline_names[row], text->text, text->bytes);
		wrong = (uint32_t)weft_settings_settle(&settings, 0) |
			(settings.wrong >> SETTING_SELECT & 1);
		s->events.warned |= (uint32_t)(wrong != 0) << row;
		s->events.sample[row] = settings;
	}
}

/* ---- types */

static const struct event_type *known_type(const struct session *s, uint32_t number)
{
	return s->events.type && number < WEFT_EVENT_TYPES_MAX ? s->events.type[number].def : NULL;
}

/* The type is off from now on, so that the program makes no events that nobody takes. */
static void refuse_type(struct session *s, uint32_t number)
{
	s->events.types_refused++;
	if (number >= WEFT_EVENT_ROW_FIRST && number < WEFT_EVENT_TYPES_MAX &&
	    !known_type(s, number))
		store_release(&session_events_row_of(s, number)->flags, 0);
}

static void settle_type(struct session *s, struct session_type *t, int *wrong)
{
	t->settings = event_type_settle(t->def, s->events.text.text, s->events.text.bytes, wrong);
}

static void session_events_take_type(void *arg, const struct weft_log_record *record,
				     const uint8_t *data)
{
	struct session *s = arg;
	struct session_type *t;
	struct event_type *def;
	int wrong;

	if (record->type != WEFT_LOG_EVENT_TYPE)
		return;
	if (!s->events.type)
		s->events.type = calloc(WEFT_EVENT_TYPES_MAX, sizeof(struct session_type));
	if (!s->events.type || event_type_new(&def, record->id, data, record->data_bytes)) {
		refuse_type(s, record->id);
		return;
	}
	t = &s->events.type[def->number];
	if (t->def) { /* never given again */
		event_type_free(def);
		refuse_type(s, record->id);
		return;
	}
	t->def = def;
	settle_type(s, t, &wrong);
	s->events.untold++;
	show_type(s, t);
}

void session_events_read(struct session *s)
{
	const struct weft_session_header *h = s->process->base;
	uint64_t head = load_acquire(&h->dict_head);

	if (head == s->events.log_position ||
	    s->events.log_position == s->process->layout.dict_bytes)
		return;
	/* The worker reads the log, too, and counts that it is malformed. */
	if (log_read((const uint8_t *)s->process->base + s->process->layout.dict_offset,
		     s->process->layout.dict_bytes, head, &s->events.log_position,
		     session_events_take_type, s))
		s->events.log_position = s->process->layout.dict_bytes;
}

/* ---- telling the worker */

static void push_word(struct session *s, struct queue *q, const struct type_word *word,
		      const struct event_type *definition)
{
	size_t more = definition ? definition->data_bytes : 0;
	struct batch *b = batch_new(BATCH_TYPE, s->process, sizeof(*word) + more);

	if (!b)
		return; /* its events are then counted as invalid */
	memcpy(b->data, word, sizeof(*word));
	if (definition)
		memcpy(b->data + sizeof(*word), definition->data, more);
	queue_push(q, b);
}

static void tell_type(struct session *s, struct queue *q, struct session_type *t, int wrong)
{
	struct type_word word = {
		.number = t->def->number, .wrong_select = wrong != 0, .settings = t->settings};

	push_word(s, q, &word, t->is_told ? NULL : t->def);
	s->events.untold -= !t->is_told;
	t->is_told = 1;
}

static void tell_sample(struct session *s, struct queue *q, uint32_t row)
{
	struct type_word word = {.number = row,
				 .wrong_select = s->events.warned >> row & 1,
				 .settings = s->events.sample[row]};

	push_word(s, q, &word, NULL);
}

void session_events_tell(struct session *s, struct queue *q)
{
	int wrong;

	if (!s->events.is_told) {
		s->events.is_told = 1;
		tell_sample(s, q, WEFT_EVENT_ROW_CPU);
		tell_sample(s, q, WEFT_EVENT_ROW_WALL);
	}
	for (size_t i = 0; s->events.untold && i < WEFT_EVENT_TYPES_MAX; i++) {
		struct session_type *t = &s->events.type[i];

		if (!t->def || t->is_told)
			continue;
		settle_type(s, t, &wrong);
		tell_type(s, q, t, wrong);
	}
}

/* ---- life */

int session_events_begin(struct session *s, const struct event_options *o)
{
	static const struct tsc_clock no_clock;

	s->event_options = *o;
	if (!s->event_options.clock)
		s->event_options.clock = &no_clock;
	if (!s->event_options.engines)
		s->event_options.engines = WEFT_ENGINE_CPU;
	if (o->text &&
	    o->text->bytes) { /* its lines are in order: adding each anew would be dear */
		s->events.text.text = malloc(o->text->bytes);
		if (!s->events.text.text)
			return -ENOMEM;
		memcpy(s->events.text.text, o->text->text, o->text->bytes);
		s->events.text.bytes = o->text->bytes;
	}
	s->events.is_told = !s->events.text.bytes;
	publish_text(s);
	session_events_clock(s);
	settle_samples(s);
	show_samples(s);
	session_events_read(s);
	return 0;
}

void session_events_free(struct session *s)
{
	for (size_t i = 0; s->events.type && i < WEFT_EVENT_TYPES_MAX; i++)
		event_type_free(s->events.type[i].def);
	free(s->events.type);
	settings_text_free(&s->events.text);
}

void session_events_off(struct session *s)
{
	s->events.is_off = 1;
	show_samples(s);
	session_events_read(s);
	show_types(s);
}

/* Rows that were filled before the clock's rate was known have no thresholds in its ticks. */
void session_events_clock(struct session *s)
{
	const struct tsc_clock *c = s->event_options.clock;
	struct weft_session_header *h = s->process->base;
	uint64_t hz = c->is_usable ? tsc_clock_hz(c) : 0;

	if (!hz) {
		__atomic_and_fetch(&h->features, ~(uint64_t)WEFT_FEATURE_CLOCKSOURCE_TSC,
				   __ATOMIC_RELEASE);
		return;
	}
	store_relaxed(&h->tsc_hz, hz);
	if (!(load_relaxed(&h->features) & WEFT_FEATURE_CLOCKSOURCE_TSC))
		show_types(s);
	__atomic_or_fetch(&h->features, WEFT_FEATURE_CLOCKSOURCE_TSC, __ATOMIC_RELEASE);
}

/* ---- changes */

/* An unknown select counts as "all", and is reported even if that changes nothing. */
static void set_samples(struct session *s, struct queue *q,
			void (*changed)(void *arg, const char *name), void *arg)
{
	struct event_settings before[WEFT_EVENT_ROW_WALL + 1];

	memcpy(before, s->events.sample, sizeof(before));
	settle_samples(s);
	show_samples(s);
	for (uint32_t row = WEFT_EVENT_ROW_CPU; row <= WEFT_EVENT_ROW_WALL; row++) {
		int has_changed = !event_settings_equal(&before[row], &s->events.sample[row]);

		if (has_changed || s->events.warned >> row & 1)
			tell_sample(s, q, row);
		if (has_changed)
			changed(arg, session_sample_names[row]);
	}
}

static int session_events_set_type(struct session *s, struct queue *q, struct session_type *t)
{
	struct event_settings before = t->settings;
	int wrong, has_changed;

	settle_type(s, t, &wrong);
	has_changed = !event_settings_equal(&before, &t->settings);
	if (has_changed)
		show_type(s, t);
	if (has_changed || wrong)
		tell_type(s, q, t, wrong);
	return has_changed;
}

/* The text is published first: a type that is being registered reads it, or is in the log by now.
 */
int session_events_set(struct session *s, struct queue *q, const char *lines, size_t bytes,
		       void (*changed)(void *arg, const char *name), void *arg)
{
	int rc = settings_text_add(&s->events.text, lines, bytes);

	if (rc)
		return rc;
	publish_text(s);
	session_events_read(s);
	session_events_tell(s, q);
	set_samples(s, q, changed, arg);
	for (size_t i = 0; s->events.type && i < WEFT_EVENT_TYPES_MAX; i++)
		if (s->events.type[i].def && session_events_set_type(s, q, &s->events.type[i]))
			changed(arg, s->events.type[i].def->name);
	return 0;
}

/* ---- events */

/* 0: the clock cannot tell, or the event ends before it begins. */
static int convert_times(const struct session *s, const struct weft_event_record *r,
			 struct checked_event *out)
{
	const struct tsc_clock *clock = s->event_options.clock;

	out->begin_ns = r->begin;
	out->end_ns = r->end;
	if (r->begin > r->end)
		return 0;
	if (!(r->record.flags & WEFT_EVENT_IN_TSC))
		return 1;
	if (tsc_clock_ns(clock, r->begin, &out->begin_ns) ||
	    tsc_clock_ns(clock, r->end, &out->end_ns))
		return 0;
	if (out->begin_ns > out->end_ns)
		out->begin_ns = out->end_ns;
	return 1;
}

enum record_fault session_event_fault(struct checked_event *event, struct session *s)
{
	const struct weft_event_record *r = (const void *)event->record;
	const struct event_type *t;
	int64_t bytes;

	if (r->record.bytes < sizeof(*r))
		return RECORD_MALFORMED;
	t = known_type(s, r->record.rsv);
	if (!t) {
		session_events_read(s);
		t = known_type(s, r->record.rsv);
	}
	bytes = t ? event_values_bytes(t, r) : -EBADMSG;
	if (bytes < 0 || !convert_times(s, r, event))
		return RECORD_MALFORMED;
	event->values_bytes = (uint64_t)bytes;
	return fault_of_time(event->end_ns, s);
}
