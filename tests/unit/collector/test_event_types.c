/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of event types and the shape of events: what a program means is read, and what does
 * not hold is refused as a whole, whatever the lie. Settings by source; texts of settings.
 */
#include "collector/session/event_types.h"
#include "collector/session/settings_text.h"
#include "typed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct weft_event_type order = {
	.name = "shop.Order",
	.label = "Order",
	.category = "Shop|Orders",
	.flags = WEFT_EVENT_STACK,
	.threshold = "20 ms",
	.throttle = "100/s",
	WEFT_EVENT_FIELDS(
		{.name = "number", .kind = WEFT_EVENT_LONG},
		{.name = "customer", .kind = WEFT_EVENT_STRING},
		{.name = "share", .kind = WEFT_EVENT_FLOAT, .content = WEFT_EVENT_PERCENTAGE}),
};

static const struct weft_event_type request = {
	.name = "shop.Request",
	.flags = WEFT_EVENT_CONTEXTUAL,
	.select = "if-triggered",
};

static struct event_type *read_type(const struct definition *d, int expect)
{
	struct event_type *t = NULL;

	assert_int_equal(event_type_new(&t, WEFT_EVENT_ROW_FIRST, d->data, d->bytes), expect);
	return t;
}

static struct event_type *type_of(const struct weft_event_type *type)
{
	struct definition d;

	define(&d, type);
	return read_type(&d, 0);
}

static void a_definition_is_read(void **state)
{
	struct event_type *t = type_of(&order);

	(void)state;
	assert_string_equal(t->name, "shop.Order");
	assert_string_equal(t->label, "Order");
	assert_string_equal(t->description, "");
	assert_string_equal(t->category, "Shop|Orders");
	assert_int_equal(t->flags, WEFT_EVENT_STACK);
	assert_int_equal(t->field_count, 3);
	assert_string_equal(t->field[1].name, "customer");
	assert_int_equal(t->field[1].kind, WEFT_EVENT_STRING);
	assert_int_equal(t->field[2].content, WEFT_EVENT_PERCENTAGE);
	event_type_free(t);
}

static void a_later_head_and_fields_are_longer(void **state)
{
	struct definition d, longer = {.bytes = 0};
	struct weft_event_type_head *head = definition_head(&longer);
	struct event_type *t;

	(void)state;
	define(&d, &order);
	memcpy(longer.data, d.data, sizeof(*head));
	head->head_bytes += 16;
	head->field_bytes += 8;
	longer.bytes = head->head_bytes;
	for (uint32_t i = 0; i < head->field_count; i++) {
		memcpy(longer.data + longer.bytes, definition_field(&d, i),
		       sizeof(struct weft_event_type_field));
		longer.bytes += head->field_bytes;
	}
	memcpy(longer.data + longer.bytes, d.data + d.texts, head->text_bytes);
	longer.bytes += head->text_bytes;
	t = read_type(&longer, 0);
	assert_string_equal(t->field[2].name, "share");
	event_type_free(t);
}

static void head_too_short(struct definition *d)
{
	definition_head(d)->head_bytes = 8;
}

static void head_too_long(struct definition *d)
{
	definition_head(d)->head_bytes = 0xFFF0;
}

static void field_too_short(struct definition *d)
{
	definition_head(d)->field_bytes = 4;
}

static void too_many_fields(struct definition *d)
{
	definition_head(d)->field_count = WEFT_EVENT_FIELDS_MAX + 1;
}

static void many_fields(struct definition *d)
{
	definition_head(d)->field_count = WEFT_EVENT_FIELDS_MAX;
}

static void texts_too_long(struct definition *d)
{
	definition_head(d)->text_bytes++;
}

static void texts_of_all_memory(struct definition *d)
{
	definition_head(d)->text_bytes = UINT32_MAX;
}

static void no_texts(struct definition *d)
{
	definition_head(d)->text_bytes = 0;
}

static void last_text_without_end(struct definition *d)
{
	d->data[d->bytes - 1] = 'x';
}

static void first_text_is_something(struct definition *d)
{
	d->data[d->texts] = 'x';
}

static void name_outside(struct definition *d)
{
	definition_head(d)->name = definition_head(d)->text_bytes;
}

static void label_outside(struct definition *d)
{
	definition_head(d)->label = UINT32_MAX;
}

static void no_name(struct definition *d)
{
	definition_head(d)->name = 0;
}

static void name_with_a_blank(struct definition *d)
{
	d->data[d->texts + 3] = ' ';
}

static void name_ends_in_a_dot(struct definition *d)
{
	d->data[d->texts + strlen("shop.Order")] = '.';
}

static void field_without_name(struct definition *d)
{
	definition_field(d, 0)->name = 0;
}

static void field_name_outside(struct definition *d)
{
	definition_field(d, 2)->name = definition_head(d)->text_bytes + 1;
}

static void two_fields_of_a_name(struct definition *d)
{
	definition_field(d, 0)->name = definition_field(d, 1)->name;
}

static void no_such_kind(struct definition *d)
{
	definition_field(d, 1)->kind = WEFT_EVENT_ID + 1;
}

static void kind_of_nothing(struct definition *d)
{
	definition_field(d, 1)->kind = 0;
}

static void less_than_a_head(struct definition *d)
{
	d->bytes = sizeof(struct weft_event_type_head) - 1;
}

static void what_lies_is_refused(void **state)
{
	static void (*const lies[])(struct definition *) = {
		head_too_short,   head_too_long,       field_too_short,
		too_many_fields,  many_fields,         texts_too_long,
		no_texts,         texts_of_all_memory, last_text_without_end,
		name_outside,     label_outside,       first_text_is_something,
		no_name,          name_with_a_blank,   name_ends_in_a_dot,
		no_such_kind,     kind_of_nothing,     field_without_name,
		less_than_a_head, field_name_outside,  two_fields_of_a_name,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct definition d;

		define(&d, &order);
		lies[i](&d);
		read_type(&d, -EBADMSG);
	}
}

static void names_that_mean_something_already_are_refused(void **state)
{
	static const char *const names[] = {"jdk.ExecutionSample", "weft.Span", "weft.Counter",
					    "java.lang.String",    "long",      "weft.Warning"};
	static const char *const fields[] = {"startTime", "duration", "eventThread", "stackTrace"};
	struct definition d;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		define(&d, &(struct weft_event_type){.name = names[i]});
		read_type(&d, -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct weft_event_field field = {.name = fields[i], .kind = WEFT_EVENT_LONG};

		define(&d, &(struct weft_event_type){
				   .name = "a.B", .fields = &field, .field_count = 1});
		read_type(&d, -EBADMSG);
	}
}

static void numbers_out_of_range_are_refused(void **state)
{
	static const uint32_t numbers[] = {0, WEFT_EVENT_ROW_FIRST - 1, WEFT_EVENT_TYPES_MAX,
					   UINT32_MAX};
	struct event_type *t;
	struct definition d;

	(void)state;
	define(&d, &order);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(event_type_new(&t, numbers[i], d.data, d.bytes), -EBADMSG);
}

/* ---- settings */

static struct event_settings settle(struct event_type *t, const char *text, int expect_wrong)
{
	int wrong;
	struct event_settings s = event_type_settle(t, text, text ? strlen(text) : 0, &wrong);

	assert_int_equal(wrong, expect_wrong);
	return s;
}

static void settings_are_the_types_own_and_those_of_the_text(void **state)
{
	struct event_type *t = type_of(&order);
	struct event_settings s;

	(void)state;
	s = settle(t, NULL, 0);
	assert_true(s.enabled && s.stack_trace);
	assert_int_equal(s.threshold_ns, 20000000);
	assert_int_equal(s.throttle_count, 100);
	s = settle(t, "other.*#enabled=false\nshop.*#threshold=0 ns\nOrder#select=if-context\n", 0);
	assert_true(s.enabled);
	assert_int_equal(s.threshold_ns, 0);
	assert_int_equal(s.select, SELECT_IF_CONTEXT);
	event_type_free(t);
}

static void a_select_that_cannot_be_is_all_and_told(void **state)
{
	static const struct {
		const struct weft_event_type *type;
		const char *text;
	} wrong[] = {
		{&order, "*#select=if-triggered\n"},
		{&order, "*#select=sometimes\n"},
		{&request, "*#select=if-context\n"},
		{&request, "*#select=\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct event_type *t = type_of(wrong[i].type);
		struct event_settings s;

		s = settle(t, wrong[i].text, 1);
		assert_int_equal(s.select, SELECT_ALL);
		event_type_free(t);
	}
}

/* ---- texts of settings */

static void a_later_line_takes_the_place_of_one_like_it(void **state)
{
	static const char lines[] = "a.B#enabled=true\nnonsense\na.B#enabled=false";
	struct settings_text t = {0};

	(void)state;
	assert_int_equal(settings_text_add(&t, "x#select=all\na.B#Enabled=true\n", 29), 0);
	assert_int_equal(settings_text_add(&t, lines, strlen(lines)), 0);
	assert_int_equal(t.bytes, strlen("x#select=all\na.B#enabled=false\n"));
	assert_memory_equal(t.text, "x#select=all\na.B#enabled=false\n", t.bytes);
	settings_text_free(&t);
}

static void what_does_not_fit_changes_nothing(void **state)
{
	struct settings_text t = {0};
	char *lines = malloc(SETTINGS_TEXT_MAX + 64);
	size_t bytes = 0;

	(void)state;
	assert_non_null(lines);
	for (int i = 0; bytes + 32 < SETTINGS_TEXT_MAX; i++)
		bytes += (size_t)sprintf(lines + bytes, "a%d#enabled=true\n", i);
	assert_int_equal(settings_text_add(&t, "keep#enabled=true\nk2#enabled=true\n", 34), 0);
	assert_int_equal(settings_text_add(&t, lines, bytes), -ENOSPC);
	assert_int_equal(t.bytes, 34);
	settings_text_free(&t);
	free(lines);
}

/* ---- events */

static struct written sound_event(void)
{
	static const uint64_t pc[] = {0x1000, 0x2000};
	struct written w = event_of(WEFT_EVENT_ROW_FIRST, 1, 2);
	float share = 0.25f;

	put_number(&w, -5);
	put_text(&w, "joe");
	put_bytes(&w, &share, sizeof(share));
	put_context(&w, 7);
	put_frames(&w, pc, 2);
	return w;
}

static void an_event_is_taken_apart(void **state)
{
	struct event_type *t = type_of(&order);
	struct written w = sound_event();
	struct event_value v;
	const uint8_t *at;

	(void)state;
	assert_int_equal(event_values_bytes(t, &w.r), 24);
	at = (const uint8_t *)(&w.r + 1);
	assert_int_equal(event_value_next(WEFT_EVENT_LONG, &at).number, -5);
	v = event_value_next(WEFT_EVENT_STRING, &at);
	assert_int_equal(v.text_bytes, 3);
	assert_memory_equal(v.text, "joe", 3);
	assert_true(event_value_next(WEFT_EVENT_FLOAT, &at).real == 0.25);
	assert_ptr_equal(at, (const uint8_t *)(&w.r + 1) + 24);
	event_type_free(t);
}

static uint32_t *text_length(struct written *w)
{
	return (uint32_t *)(void *)(w->rest + 8);
}

static struct weft_event_context *context_in(struct written *w)
{
	return (struct weft_event_context *)(void *)(w->rest + 24);
}

static struct weft_event_stack *stack_in(struct written *w)
{
	return (struct weft_event_stack *)(void *)(context_in(w) + 1);
}

static void too_short(struct written *w)
{
	w->r.record.bytes -= 8;
}

static void too_long(struct written *w)
{
	w->r.record.bytes += 8;
}

static void no_values(struct written *w)
{
	w->r.record.bytes = sizeof(w->r);
}

static void text_without_end(struct written *w)
{
	*text_length(w) = WEFT_EVENT_NULL - 1;
}

static void text_into_the_context(struct written *w)
{
	*text_length(w) = 20;
}

static void stack_not_there(struct written *w)
{
	w->r.record.flags &= (uint16_t)~WEFT_EVENT_HAS_STACK;
}

static void context_not_there(struct written *w)
{
	w->r.record.flags &= (uint16_t)~WEFT_EVENT_HAS_CONTEXT;
}

static void labels_outside(struct written *w)
{
	context_in(w)->label_bytes = WEFT_EVENT_LABELS_BYTES;
}

static void more_labels_than_can_be(struct written *w)
{
	context_in(w)->label_bytes = UINT32_MAX;
}

static void frames_outside(struct written *w)
{
	stack_in(w)->frame_count = 3;
}

static void more_frames_than_can_be(struct written *w)
{
	stack_in(w)->frame_count = UINT32_MAX;
}

static void a_copy_of_nothing(struct written *w)
{
	stack_in(w)->stack = WEFT_SAMPLE_RAW;
	stack_in(w)->copy_bytes = 64;
}

static void a_copy_of_all_memory(struct written *w)
{
	stack_in(w)->stack = WEFT_SAMPLE_RAW;
	stack_in(w)->copy_bytes = UINT32_MAX;
}

static void more_registers_than_can_be(struct written *w)
{
	stack_in(w)->stack = WEFT_SAMPLE_RAW;
	stack_in(w)->register_count = UINT16_MAX;
}

static void a_stack_of_no_kind(struct written *w)
{
	stack_in(w)->stack = 9;
}

static void an_event_that_lies_is_refused(void **state)
{
	static void (*const lies[])(struct written *) = {
		too_short,
		too_long,
		no_values,
		text_without_end,
		text_into_the_context,
		stack_not_there,
		context_not_there,
		labels_outside,
		frames_outside,
		more_labels_than_can_be,
		more_frames_than_can_be,
		a_copy_of_nothing,
		a_copy_of_all_memory,
		more_registers_than_can_be,
		a_stack_of_no_kind,
	};
	struct event_type *t = type_of(&order);

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct written w = sound_event();

		lies[i](&w);
		assert_int_equal(event_values_bytes(t, &w.r), -EBADMSG);
	}
	event_type_free(t);
}

static const struct weft_event_type note = {
	.name = "a.Note",
	WEFT_EVENT_FIELDS({.name = "text", .kind = WEFT_EVENT_STRING}),
};

static void the_longest_text_is_taken_and_no_longer_one(void **state)
{
	static uint8_t text[4 + WEFT_EVENT_STRING_MAX + 1];
	struct event_type *t = type_of(&note);

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct written w = event_of(WEFT_EVENT_ROW_FIRST, 1, 2);
		uint32_t bytes = WEFT_EVENT_STRING_MAX + more;

		memcpy(text, &bytes, sizeof(bytes));
		put_bytes(&w, text, 4 + bytes);
		assert_int_equal(event_values_bytes(t, &w.r),
				 more ? -EBADMSG : WEFT_EVENT_STRING_MAX + 8);
	}
	event_type_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_definition_is_read),
		cmocka_unit_test(a_later_head_and_fields_are_longer),
		cmocka_unit_test(what_lies_is_refused),
		cmocka_unit_test(names_that_mean_something_already_are_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(settings_are_the_types_own_and_those_of_the_text),
		cmocka_unit_test(a_select_that_cannot_be_is_all_and_told),
		cmocka_unit_test(a_later_line_takes_the_place_of_one_like_it),
		cmocka_unit_test(what_does_not_fit_changes_nothing),
		cmocka_unit_test(an_event_is_taken_apart),
		cmocka_unit_test(an_event_that_lies_is_refused),
		cmocka_unit_test(the_longest_text_is_taken_and_no_longer_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
