/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of events, registered at their first use. A type is encoded as in the dictionary log
 * (weft/abi/events.h); only that record, in the log's mirror, is kept, so that nothing points into
 * the program's memory, which dlclose may unmap. Two definitions are equal if their records are.
 *
 * Order of stores: the number, the row of settings, the definition in the log, then type->row
 * (release, pairs with the acquire in weft_event_is_on()): whoever sees the row sees the rest.
 *
 * Under the log's lock: not in signal handlers. A caller that cannot get the lock within a second
 * (it interrupted the holder) goes without: the type is off for this one use.
 * weft_event_types_replay() takes no lock: it runs in the first SIGPROF of a forked child, and
 * reads what is there.
 */
#include "runtime/event/event.h"

#include <string.h>

#include "base/event_row.h"
#include "runtime/core/sys.h"

#define NAME_BYTES_MAX 255
#define DEFINITION_BYTES_MAX (32 * 1024)
#define PATIENCE_NS UINT64_C(1000000000)
#define TEXT_TRIES 100
#define FLAGS_KNOWN                                                                                \
	(WEFT_EVENT_CONTEXTUAL | WEFT_EVENT_STACK | WEFT_EVENT_INSTANT | WEFT_EVENT_OFF |          \
	 WEFT_EVENT_EXPERIMENTAL | WEFT_EVENT_HOUSEKEEPING)

/* Definitions in the mirror, by number. */
static WEFT_LARGE struct {
	const uint8_t *data;
	uint32_t bytes;
} known[WEFT_EVENT_TYPES_MAX];
static uint32_t known_end = WEFT_EVENT_ROW_FIRST;

/* row of types that were refused, or not registered yet */
static const struct weft_event_row never;

/* ---- a definition */

static WEFT_LARGE struct {
	_Alignas(8) uint8_t bytes[DEFINITION_BYTES_MAX];
	uint32_t texts, end; /* where they begin; where all ends */
	int failed;
} draft;

static struct weft_event_type_head *draft_head(void)
{
	return (struct weft_event_type_head *)(void *)draft.bytes;
}

static struct weft_event_type_field *draft_field(uint32_t index)
{
	return (struct weft_event_type_field *)(void *)(draft_head() + 1) + index;
}

static uint32_t event_type_put_text(const char *text)
{
	uint32_t at = draft.end - draft.texts;
	size_t bytes;

	if (!text)
		return 0;
	bytes = strnlen(text, DEFINITION_BYTES_MAX - draft.end);
	if (bytes >= DEFINITION_BYTES_MAX - draft.end) {
		draft.failed = 1;
		return 0;
	}
	/* Not by memcpy(): ThreadSanitizer's own sees the bytes, and not the lock that guards them.
	 */
	for (size_t i = 0; i < bytes; i++) {
		draft.bytes[draft.end + i] = (uint8_t)text[i];
		KEEP_ORDER(); /* nor made one by the compiler */
	}
	draft.bytes[draft.end + bytes] = 0;
	draft.end += (uint32_t)bytes + 1;
	return at;
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* Skips a Java identifier of ASCII characters; NULL: there is none. */
static const char *skip_identifier(const char *at)
{
	if (!is_letter(*at))
		return NULL;
	while (is_letter(*at) || (*at >= '0' && *at <= '9'))
		at++;
	return at;
}

/* Of a field, or (@has_dots) of a type. */
static int is_name(const char *name, int has_dots)
{
	const char *at = name ? skip_identifier(name) : NULL;

	while (at && has_dots && *at == '.')
		at = skip_identifier(at + 1);
	return at && !*at && at - name <= NAME_BYTES_MAX;
}

/* Names of fields that each event of a recording has. */
static int event_type_is_taken(const struct weft_event_type *type, uint32_t index)
{
	static const char *const own[] = {"startTime", "duration", "eventThread", "stackTrace"};
	const char *name = type->fields[index].name;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(own[i], name))
			return 1;
	for (uint32_t i = 0; i < index; i++)
		if (!strcmp(type->fields[i].name, name))
			return 1;
	return 0;
}

static int is_field_sound(const struct weft_event_type *type, uint32_t index)
{
	const struct weft_event_field *f = &type->fields[index];

	return is_name(f->name, 0) && !event_type_is_taken(type, index) &&
	       (unsigned int)f->kind >= WEFT_EVENT_BOOLEAN &&
	       (unsigned int)f->kind <= WEFT_EVENT_ID;
}

static int is_sound(const struct weft_event_type *type)
{
	if (!is_name(type->name, 1) || type->field_count > WEFT_EVENT_FIELDS_MAX ||
	    (type->field_count && !type->fields) || (type->flags & ~(uint32_t)FLAGS_KNOWN))
		return 0;
	if ((type->flags & WEFT_EVENT_CONTEXTUAL) && (type->flags & WEFT_EVENT_INSTANT))
		return 0;
	for (uint32_t i = 0; i < type->field_count; i++)
		if (!is_field_sound(type, i))
			return 0;
	return 1;
}

static void draft_fields(const struct weft_event_type *type)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct weft_event_field *f = &type->fields[i];

		*draft_field(i) = (struct weft_event_type_field){
			.name = event_type_put_text(f->name),
			.label = event_type_put_text(f->label),
			.description = event_type_put_text(f->description),
			.kind = (uint16_t)f->kind,
			.content = f->content,
		};
	}
}

/* 0, or -EINVAL: malformed, or too long. */
static int draft_type(const struct weft_event_type *type)
{
	struct weft_event_type_head *head = draft_head();

	if (!is_sound(type))
		return -EINVAL;
	draft.failed = 0;
	draft.texts = (uint32_t)(sizeof(*head) +
				 type->field_count * sizeof(struct weft_event_type_field));
	draft.end = draft.texts + 1;
	draft.bytes[draft.texts] = 0;
	*head = (struct weft_event_type_head){
		.head_bytes = sizeof(*head),
		.field_bytes = sizeof(struct weft_event_type_field),
		.flags = type->flags,
		.field_count = type->field_count,
		.name = event_type_put_text(type->name),
		.label = event_type_put_text(type->label),
		.description = event_type_put_text(type->description),
		.category = event_type_put_text(type->category),
		.threshold = event_type_put_text(type->threshold),
		.throttle = event_type_put_text(type->throttle),
		.select = event_type_put_text(type->select),
	};
	draft_fields(type);
	head->text_bytes = draft.end - draft.texts;
	return draft.failed ? -EINVAL : 0;
}

/* ---- its settings */

static const struct weft_event_type_head *head_of(const uint8_t *data)
{
	return (const struct weft_event_type_head *)(const void *)data;
}

static const char *event_type_text_of(const uint8_t *data, uint32_t place)
{
	const struct weft_event_type_head *head = head_of(data);

	return (const char *)data + sizeof(*head) +
	       head->field_count * sizeof(struct weft_event_type_field) + place;
}

static const struct weft_event_text *session_text(void)
{
	return (const void *)(weft_rt.base + weft_layout.event_area_offset + WEFT_EVENT_ROWS_BYTES);
}

static void apply_text(struct event_settings *s, const char *name)
{
	const struct weft_event_text *text = session_text();
	uint32_t bytes = load_relaxed(&text->bytes);

	if (bytes > WEFT_EVENT_TEXT_BYTES - sizeof(*text))
		bytes = WEFT_EVENT_TEXT_BYTES - sizeof(*text);
	weft_settings_apply(s, name, (const char *)(text + 1), bytes);
}

/* Pairs: the release stores of seq by the writer of the text (the collector). */
static void apply_session(struct event_settings *s, const char *name)
{
	const struct weft_event_text *text = session_text();
	const struct event_settings defaults = *s;

	for (int i = 0; i < TEXT_TRIES; i++) {
		uint64_t seq = load_acquire(&text->seq);

		*s = defaults;
		apply_text(s, name);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && load_relaxed(&text->seq) == seq)
			return;
		sys_call0(SYS_sched_yield);
	}
}

/* In a forked child no zeros can be mapped there where system calls are filtered. */
static int rows_are_parents(void)
{
	return weft_rt_is_unbegun_child() && weft_rt_is_careful();
}

static void write_row(uint32_t number, const uint8_t *data)
{
	const struct weft_event_type_head *head = head_of(data);
	const struct event_row_defaults defaults = {
		.flags = head->flags,
		.threshold = event_type_text_of(data, head->threshold),
		.throttle = event_type_text_of(data, head->throttle),
		.select = event_type_text_of(data, head->select),
	};
	struct event_settings s;
	uint64_t hz = 0;
	int is_on = 0;

	if (rows_are_parents())
		return;
	event_row_begin(&s, &defaults);
	if (weft_rt_has_session()) {
		apply_session(&s, event_type_text_of(data, head->name));
		hz = load_relaxed(&weft_rt.header->tsc_hz);
		is_on = weft_rt_run_state() == WEFT_RUN_RECORDING;
	}
	(void)weft_settings_settle(&s, (head->flags & WEFT_EVENT_CONTEXTUAL) != 0);
	event_row_fill(&weft_event_rows[number], &s, head->flags, hz, is_on);
}

void weft_event_types_replay(void)
{
	uint32_t end = load_acquire(&known_end);

	for (uint32_t number = WEFT_EVENT_ROW_FIRST; weft_event_rows && number < end; number++)
		write_row(number, known[number].data);
}

/* ---- registration */

static uint32_t event_type_find(const char *name)
{
	for (uint32_t number = WEFT_EVENT_ROW_FIRST; number < known_end; number++) {
		const uint8_t *data = known[number].data;

		if (!strcmp(event_type_text_of(data, head_of(data)->name), name))
			return number;
	}
	return 0;
}

static int is_draft(uint32_t number)
{
	return known[number].bytes == draft.end &&
	       !memcmp(known[number].data, draft.bytes, draft.end);
}

/* 0 or -errno. The new type's number is known_end. */
static int event_type_append(void)
{
	struct weft_log_record record = {.type = WEFT_LOG_EVENT_TYPE, .id = known_end};
	int failed;

	if (known_end == WEFT_EVENT_TYPES_MAX)
		return -ENOSPC;
	write_row(known_end, draft.bytes);
	failed = weft_log_append(WEFT_LOG_DICT, &record, draft.bytes, draft.end, NULL, 0);
	if (failed)
		return failed;
	known[known_end].data = (const uint8_t *)weft_log_last_data(WEFT_LOG_DICT, &record);
	known[known_end].bytes = draft.end;
	store_release(&known_end, known_end + 1);
	return 0;
}

/* The type's number, or -errno. */
static int event_type_number_of(const struct weft_event_type *type)
{
	int failed = weft_event_rows ? draft_type(type) : -ENOMEM;
	uint32_t number;

	if (failed)
		return failed;
	number = event_type_find(type->name);
	if (number)
		return is_draft(number) ? (int)number : -EBUSY;
	failed = event_type_append();
	return failed ? failed : (int)known_end - 1;
}

static uint32_t payload_bytes(const struct weft_event_type *type)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].kind == WEFT_EVENT_STRING)
			return 0;
	return type->field_count * 8;
}

static uint64_t floats(const struct weft_event_type *type)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].kind == WEFT_EVENT_FLOAT)
			mask |= UINT64_C(1) << i;
	return mask;
}

static const struct weft_event_row *event_type_publish(struct weft_event_type *type,
						       const struct weft_event_row *row)
{
	store_release(&type->row, row);
	return row;
}

static const struct weft_event_row *enrol_locked(struct weft_event_type *type)
{
	const struct weft_event_row *row = load_relaxed(&type->row);
	int number;

	if (row)
		return row;
	number = event_type_number_of(type);
	if (number < 0) {
		if (weft_rt_has_session())
			weft_rt_count(WEFT_COUNTER_EVENT_TYPES_REFUSED, 1);
		return event_type_publish(type, &never);
	}
	type->number = (uint32_t)number;
	type->payload_bytes = payload_bytes(type);
	type->rsv[0] = floats(type);
	type->rsv[1] = !type->rsv[0] && (type->payload_bytes || !type->field_count);
	return event_type_publish(type, &weft_event_rows[number]);
}

const struct weft_event_row *weft_event_enrol_own(struct weft_event_type *type)
{
	const struct weft_event_row *row;

	/* Until this copy has begun it is not known which copy will own the type. */
	if (load_acquire(&weft_rt.state) == WEFT_RT_NONE)
		return &never;
	weft_fork_check();
	if (!weft_log_lock_within(PATIENCE_NS))
		return &never;
	row = enrol_locked(type);
	weft_log_unlock();
	return row;
}

WEFT_API const struct weft_event_row *weft_event_type_enrol(struct weft_event_type *type)
{
	int saved = errno;
	const struct weft_event_row *row =
		weft_event_master ? weft_event_master->enrol(type) : weft_event_enrol_own(type);

	errno = saved;
	return row;
}
