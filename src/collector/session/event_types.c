/* SPDX-License-Identifier: Apache-2.0 */
/* Event types, their settings and the shape of their events: see event_types.h. */
#include "collector/session/event_types.h"

#include "base/event_row.h"
#include "base/recording.h"
#include "collector/process/label_sets.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KINDS (WEFT_EVENT_ID + 1)
#define CONTENTS ((WEFT_EVENT_EXPERIMENTAL_FIELD << 1) - 1)
#define TYPE_FLAGS ((WEFT_EVENT_HOUSEKEEPING << 1) - 1)

/* ---- names */

static int event_types_is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* A Java identifier, up to @end. */
static int is_identifier(const char *at, const char *end)
{
	if (at == end || isdigit((unsigned char)*at))
		return 0;
	for (; at < end; at++)
		if (!event_types_is_name_byte(*at))
			return 0;
	return 1;
}

/* Identifiers with dots between. */
static int event_types_is_type_name(const char *name)
{
	const char *at = name, *dot;

	if (strlen(name) > EVENT_NAME_MAX)
		return 0;
	while ((dot = strchr(at, '.'))) {
		if (!is_identifier(at, dot))
			return 0;
		at = dot + 1;
	}
	return is_identifier(at, at + strlen(at));
}

/* Names by which readers know what weft and the format say themselves. */
static int event_types_is_reserved(const char *name)
{
	static const char *const ours[] = {
		RECORDING_SPAN,
		RECORDING_INLINE_SAMPLE,
		RECORDING_INLINE_WALL_SAMPLE,
		RECORDING_WALL_SAMPLE,
		RECORDING_COROUTINE_RUN,
		RECORDING_COROUTINE_WAIT,
		RECORDING_COUNTER,
		RECORDING_HISTOGRAM,
		RECORDING_RECORDING,
		RECORDING_PROCESS,
		RECORDING_CLOCK,
		RECORDING_RESOURCE,
		RECORDING_MODULE,
		RECORDING_WARNING,
		"weft.Key",
		"boolean",
		"byte",
		"char",
		"short",
		"int",
		"long",
		"float",
		"double",
	};
	static const char *const families[] = {"jdk.", "java.", "weft.settings."};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strcmp(name, ours[i]) == 0)
			return 1;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strncmp(name, families[i], strlen(families[i])) == 0)
			return 1;
	return 0;
}

static int is_given_field(const char *name)
{
	return strcmp(name, "startTime") == 0 || strcmp(name, "duration") == 0 ||
	       strcmp(name, "eventThread") == 0 || strcmp(name, "stackTrace") == 0;
}

/* ---- definitions */

struct texts {
	const char *at;
	uint32_t bytes;
	int is_passed; /* a place lay outside */
};

static const char *text_at(struct texts *t, uint32_t place)
{
	if (place < t->bytes)
		return t->at + place;
	t->is_passed = 1;
	return "";
}

static int event_types_read_head(struct event_type *t, const struct weft_event_type_head *head,
				 struct texts *texts)
{
	t->flags = head->flags & TYPE_FLAGS;
	t->name = text_at(texts, head->name);
	t->label = text_at(texts, head->label);
	t->description = text_at(texts, head->description);
	t->category = text_at(texts, head->category);
	t->threshold = text_at(texts, head->threshold);
	t->throttle = text_at(texts, head->throttle);
	t->select = text_at(texts, head->select);
	return !texts->is_passed && event_types_is_type_name(t->name) &&
	       !event_types_is_reserved(t->name);
}

static int read_field(struct event_type *t, const struct weft_event_type_field *from,
		      struct texts *texts)
{
	struct event_field *f = &t->field[t->field_count];

	f->name = text_at(texts, from->name);
	f->label = text_at(texts, from->label);
	f->description = text_at(texts, from->description);
	f->content = from->content & CONTENTS;
	if (texts->is_passed || from->kind == 0 || from->kind >= KINDS)
		return 0;
	f->kind = (enum weft_event_kind)from->kind;
	if (strlen(f->name) > EVENT_NAME_MAX || is_given_field(f->name) ||
	    !is_identifier(f->name, f->name + strlen(f->name)))
		return 0;
	for (size_t i = 0; i < t->field_count; i++)
		if (strcmp(t->field[i].name, f->name) == 0)
			return 0;
	t->field_count++;
	return 1;
}

/* Head, fields and texts lie within the data, and the texts end. */
static int is_whole(const struct weft_event_type_head *head, const uint8_t *data, size_t bytes)
{
	uint64_t fields, texts;

	if (head->head_bytes < sizeof(*head) || head->field_count > WEFT_EVENT_FIELDS_MAX ||
	    head->field_bytes < sizeof(struct weft_event_type_field) || head->head_bytes % 4 ||
	    head->field_bytes % 4)
		return 0;
	fields = (uint64_t)head->field_bytes * head->field_count;
	texts = head->head_bytes + fields;
	return head->text_bytes && texts + head->text_bytes <= bytes && data[texts] == 0 &&
	       data[texts + head->text_bytes - 1] == 0;
}

static int event_types_read_all(struct event_type *t, const struct weft_event_type_head *head)
{
	const uint8_t *at = t->data + head->head_bytes;
	struct texts texts = {
		.at = (const char *)at + (size_t)head->field_bytes * head->field_count,
		.bytes = head->text_bytes,
	};

	if (!event_types_read_head(t, head, &texts))
		return 0;
	for (uint32_t i = 0; i < head->field_count; i++) {
		struct weft_event_type_field field;

		memcpy(&field, at + (size_t)i * head->field_bytes, sizeof(field));
		if (!read_field(t, &field, &texts))
			return 0;
	}
	return 1;
}

int event_type_new(struct event_type **out, uint32_t number, const uint8_t *data, size_t bytes)
{
	struct weft_event_type_head head;
	struct event_type *t;

	if (number < WEFT_EVENT_ROW_FIRST || number >= WEFT_EVENT_TYPES_MAX || bytes < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.field_count > WEFT_EVENT_FIELDS_MAX)
		return -EBADMSG;
	t = calloc(1, sizeof(*t) + head.field_count * sizeof(t->field[0]));
	if (t)
		t->data = malloc(bytes);
	if (!t || !t->data) {
		event_type_free(t);
		return -ENOMEM;
	}
	/* What it is from here on: the program's own may change. */
	memcpy(t->data, data, bytes);
	memcpy(t->data, &head, sizeof(head));
	t->number = number;
	t->data_bytes = bytes;
	if (!is_whole(&head, t->data, bytes) || !event_types_read_all(t, &head)) {
		event_type_free(t);
		return -EBADMSG;
	}
	*out = t;
	return 0;
}

void event_type_free(struct event_type *t)
{
	if (!t)
		return;
	free(t->data);
	free(t);
}

int event_type_equals(const struct event_type *a, const struct event_type *b)
{
	if (strcmp(a->name, b->name) != 0 || a->flags != b->flags ||
	    a->field_count != b->field_count)
		return 0;
	for (size_t i = 0; i < a->field_count; i++)
		if (strcmp(a->field[i].name, b->field[i].name) != 0 ||
		    a->field[i].kind != b->field[i].kind ||
		    a->field[i].content != b->field[i].content)
			return 0;
	return 1;
}

/* ---- settings */

struct event_settings event_type_defaults(const struct event_type *t)
{
	const struct event_row_defaults defaults = {
		.flags = t->flags,
		.threshold = t->threshold,
		.throttle = t->throttle,
		.select = t->select,
	};
	struct event_settings s;

	event_row_begin(&s, &defaults);
	s.given = 0;
	return s;
}

struct event_settings event_type_settle(const struct event_type *t, const char *text, size_t bytes,
					int *wrong_select)
{
	struct event_settings s = event_type_defaults(t);

	if (text)
		weft_settings_apply(&s, t->name, text, bytes);
	*wrong_select = weft_settings_settle(&s, (t->flags & WEFT_EVENT_CONTEXTUAL) != 0);
	*wrong_select |= (s.wrong >> SETTING_SELECT & 1) != 0;
	return s;
}

/* ---- events */

/* How long a value is, with its padding; 0: it does not fit into @left bytes, or is too long. */
static size_t value_bytes(enum weft_event_kind kind, const uint8_t *at, size_t left)
{
	uint32_t length;
	size_t need;

	if (left < 8)
		return 0;
	if (kind != WEFT_EVENT_STRING)
		return 8;
	memcpy(&length, at, sizeof(length));
	if (length == WEFT_EVENT_NULL)
		return 8;
	need = (sizeof(length) + (size_t)length + 7) & ~(size_t)7;
	return length <= WEFT_EVENT_STRING_MAX && need <= left ? need : 0;
}

/* The context with its labels; 0: it does not fit, or is none. */
static size_t event_types_context_bytes(const uint8_t *at, size_t left)
{
	struct weft_event_context c;
	size_t need;

	if (left < sizeof(c))
		return 0;
	memcpy(&c, at, sizeof(c));
	need = sizeof(c) + ((c.label_bytes + (size_t)7) & ~(size_t)7);
	if (c.label_bytes > WEFT_EVENT_LABELS_BYTES || need > left ||
	    (c.label_bytes && !label_bytes_are_sound(at + sizeof(c), c.label_bytes)))
		return 0;
	return need;
}

int64_t captured_bytes(uint8_t kind, uint64_t registers, uint64_t copy_bytes, uint64_t frames)
{
	if (kind == WEFT_SAMPLE_RAW && registers <= CAPTURED_REGISTERS_MAX &&
	    copy_bytes <= WEFT_STACK_COPY_MAX)
		return (int64_t)(registers * 8 + ((copy_bytes + 7) & ~UINT64_C(7)));
	if (kind == WEFT_SAMPLE_FRAMES && frames <= WEFT_FRAMES_MAX)
		return (int64_t)(frames * 8);
	return -EBADMSG;
}

/* The stack's own length; 0: it does not fit, or is none. */
static size_t stack_bytes(const uint8_t *at, size_t left)
{
	struct weft_event_stack s;
	int64_t bytes;

	if (left < sizeof(s))
		return 0;
	memcpy(&s, at, sizeof(s));
	bytes = captured_bytes(s.stack, s.register_count, s.copy_bytes, s.frame_count);
	return bytes >= 0 && sizeof(s) + (size_t)bytes <= left ? sizeof(s) + (size_t)bytes : 0;
}

/* Takes a part of @bytes off the record; -EBADMSG: there is none. */
static int take_part(const uint8_t **at, size_t *left, size_t bytes)
{
	*at += bytes;
	*left -= bytes;
	return bytes ? 0 : -EBADMSG;
}

int64_t event_values_bytes(const struct event_type *t, const struct weft_event_record *record)
{
	const uint8_t *values = (const uint8_t *)(record + 1), *at = values;
	size_t left = record->record.bytes - sizeof(*record);
	int64_t bytes;

	for (size_t i = 0; i < t->field_count; i++)
		if (take_part(&at, &left, value_bytes(t->field[i].kind, at, left)))
			return -EBADMSG;
	bytes = at - values;
	if (record->record.flags & WEFT_EVENT_HAS_CONTEXT &&
	    take_part(&at, &left, event_types_context_bytes(at, left)))
		return -EBADMSG;
	if (record->record.flags & WEFT_EVENT_HAS_STACK &&
	    take_part(&at, &left, stack_bytes(at, left)))
		return -EBADMSG;
	return left ? -EBADMSG : bytes;
}

struct event_value event_value_next(enum weft_event_kind kind, const uint8_t **at)
{
	struct event_value v = {0};
	uint32_t length;
	float real;

	switch (kind) {
	case WEFT_EVENT_STRING:
		memcpy(&length, *at, sizeof(length));
		if (length != WEFT_EVENT_NULL) {
			v.text = (const char *)*at + sizeof(length);
			v.text_bytes = length;
		}
		break;
	case WEFT_EVENT_FLOAT:
		memcpy(&real, *at, sizeof(real));
		v.real = (double)real;
		break;
	case WEFT_EVENT_DOUBLE:
		memcpy(&v.real, *at, sizeof(v.real));
		break;
	default:
		memcpy(&v.number, *at, sizeof(v.number));
		break;
	}
	*at += value_bytes(kind, *at, SIZE_MAX);
	return v;
}
