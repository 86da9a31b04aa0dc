/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of events: what is refused, what is one type, how a definition stands in the log; and the
 * row that its defaults and the session's settings give it, in a forked child's session too.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "base/event_row.h"
#include "events_unit.h"

static int begin(void **state)
{
	(void)state;
	assert_non_null(weft_thread_own_slot());
	record(WEFT_RUN_RECORDING);
	set_text("");
	return 0;
}

static uint64_t refused(void)
{
	return weft_rt.header->counters[WEFT_COUNTER_EVENT_TYPES_REFUSED];
}

static const struct weft_log_record *last_record(void)
{
	const uint8_t *at = weft_rt.base + weft_layout.dict_offset;
	const uint8_t *end = at + weft_rt.header->dict_head;
	const struct weft_log_record *last = NULL;

	for (; at < end; at += last->bytes)
		last = (const void *)at;
	assert_non_null(last);
	return last;
}

/* ---- definitions */

static struct weft_event_type whole = {
	.name = "test.Whole$_1",
	.label = "Whole",
	.description = "All of it",
	.category = "Test|Types",
	.flags = WEFT_EVENT_STACK | WEFT_EVENT_EXPERIMENTAL,
	.threshold = "20 ms",
	.throttle = "100/s",
	.select = "if-context",
	WEFT_EVENT_FIELDS({"order", WEFT_EVENT_LONG, WEFT_EVENT_UNSIGNED, "Order", "Its number"},
			  {.name = "who", .kind = WEFT_EVENT_STRING}),
};

static void a_definition_stands_in_the_log(void **state)
{
	const struct weft_log_record *record;
	const struct weft_event_type_head *head;
	const struct weft_event_type_field *field;
	const char *texts;

	(void)state;
	weft_event_type_enrol(&whole);
	assert_ptr_equal(whole.row, row_of_type(&whole));
	record = last_record();
	head = (const void *)(record + 1);
	field = (const void *)(head + 1);
	texts = (const char *)(field + 2);
	assert_int_equal(record->type, WEFT_LOG_EVENT_TYPE);
	assert_int_equal(record->id, whole.number);
	assert_true(whole.number >= WEFT_EVENT_ROW_FIRST);
	assert_int_equal(head->head_bytes, sizeof(*head));
	assert_int_equal(head->field_bytes, sizeof(*field));
	assert_int_equal(head->field_count, 2);
	assert_int_equal(head->flags, whole.flags);
	assert_int_equal(record->data_bytes, sizeof(*head) + 2 * sizeof(*field) + head->text_bytes);
	assert_string_equal(texts, "");
	assert_string_equal(texts + head->name, "test.Whole$_1");
	assert_string_equal(texts + head->label, "Whole");
	assert_string_equal(texts + head->description, "All of it");
	assert_string_equal(texts + head->category, "Test|Types");
	assert_string_equal(texts + head->threshold, "20 ms");
	assert_string_equal(texts + head->throttle, "100/s");
	assert_string_equal(texts + head->select, "if-context");
	assert_string_equal(texts + field[0].name, "order");
	assert_string_equal(texts + field[0].label, "Order");
	assert_string_equal(texts + field[0].description, "Its number");
	assert_int_equal(field[0].kind, WEFT_EVENT_LONG);
	assert_int_equal(field[0].content, WEFT_EVENT_UNSIGNED);
	assert_string_equal(texts + field[1].name, "who");
	assert_int_equal(field[1].label, 0);
	assert_int_equal(whole.payload_bytes, 0); /* it has a string */
}

static struct weft_event_type two_fields(const char *name, const char *one, const char *other)
{
	static struct weft_event_field fields[2];

	fields[0] = (struct weft_event_field){.name = one, .kind = WEFT_EVENT_INT};
	fields[1] = (struct weft_event_field){.name = other, .kind = WEFT_EVENT_INT};
	return (struct weft_event_type){.name = name, .fields = fields, .field_count = 2};
}

static void expect_refused(struct weft_event_type type, const char *why)
{
	const uint64_t before = refused(), head = weft_rt.header->dict_head;
	struct weft_event event;

	if (weft_event_is_on(&type))
		fail_msg("%s: not refused", why);
	assert_int_equal(refused(), before + 1);
	assert_int_equal(weft_rt.header->dict_head, head);
	assert_int_equal(weft_event_emit(&type), 0);
	weft_event_begin(&event, &type);
	assert_int_equal(weft_event_commit(&event), 0);
	assert_int_equal(refused(), before + 1); /* once */
}

static void what_is_malformed_is_refused(void **state)
{
	static char long_name[400], long_text[64 * 1024];
	static struct weft_event_field strange = {.name = "a", .kind = (enum weft_event_kind)13};

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	memset(long_text, 't', sizeof(long_text) - 1);
	expect_refused((struct weft_event_type){.name = NULL}, "no name");
	expect_refused((struct weft_event_type){.name = ""}, "an empty name");
	expect_refused((struct weft_event_type){.name = "test."}, "a dot at the end");
	expect_refused((struct weft_event_type){.name = ".test"}, "a dot at the begin");
	expect_refused((struct weft_event_type){.name = "test..A"}, "two dots");
	expect_refused((struct weft_event_type){.name = "test.1A"},
		       "a part that begins with a digit");
	expect_refused((struct weft_event_type){.name = "test.A-B"}, "no identifier");
	expect_refused((struct weft_event_type){.name = long_name}, "a name of 399 bytes");
	expect_refused((struct weft_event_type){.name = "test.L", .label = long_text},
		       "a long label");
	expect_refused((struct weft_event_type){.name = "test.F", .flags = 1u << 20},
		       "unknown flags");
	expect_refused(
		(struct weft_event_type){.name = "test.C",
					 .flags = WEFT_EVENT_CONTEXTUAL | WEFT_EVENT_INSTANT},
		"a context of no duration");
	expect_refused((struct weft_event_type){.name = "test.N", .field_count = 1}, "no fields");
	expect_refused(
		(struct weft_event_type){.name = "test.M", .fields = &strange, .field_count = 65},
		"too many fields");
	expect_refused(
		(struct weft_event_type){.name = "test.K", .fields = &strange, .field_count = 1},
		"an unknown kind");
	expect_refused(two_fields("test.Two", "a", "a"), "two fields of one name");
	expect_refused(two_fields("test.Two", "a", "startTime"), "a name that the file has");
	expect_refused(two_fields("test.Two", "a", "b c"), "a field that is no identifier");
	expect_refused(two_fields("test.Two", "a", NULL), "a field without a name");
}

static struct weft_event_type first = {.name = "test.Same",
				       WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG})};
static struct weft_event_type second = {.name = "test.Same",
					WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG})};

static void equal_definitions_are_one_type(void **state)
{
	struct weft_event_type other = {.name = "test.Same",
					WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_INT})};
	struct weft_event_type label = second;
	uint64_t head;

	(void)state;
	weft_event_type_enrol(&first);
	head = weft_rt.header->dict_head;
	assert_ptr_equal(weft_event_type_enrol(&second), first.row);
	assert_int_equal(second.number, first.number);
	assert_int_equal(weft_rt.header->dict_head, head);
	expect_refused(other, "another kind of field");
	label.label = "another";
	expect_refused(label, "another label");
	assert_true(weft_event_is_on(&first)); /* it is none the worse */
}

/* As dlclose and dlopen do: the memory is gone, and comes again elsewhere. */
static void a_type_outlives_its_memory(void **state)
{
	struct weft_event_type *type;
	char *name;
	uint32_t number = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		name = strdup("test.Plugin");
		type = calloc(1, sizeof(*type));
		assert_true(name && type);
		type->name = name;
		assert_true(weft_event_is_on(type));
		assert_int_equal(weft_event_emit(type), 1);
		assert_true(i == 0 || type->number == number);
		number = type->number;
		memset(name, 'x', strlen(name));
		memset(type, 0xAA, sizeof(*type));
		free(name);
		free(type);
	}
}

/* ---- settings */

static struct weft_event_row row_after(const char *text, struct weft_event_type *type)
{
	static unsigned int serial;
	static char name[32];

	snprintf(name, sizeof(name), "test.Set%u", serial++);
	type->name = name;
	type->row = NULL;
	set_text(text);
	return *weft_event_type_enrol(type);
}

static void defaults_are_the_types(void **state)
{
	struct weft_event_type type = {.threshold = "20 ms",
				       .throttle = "100/s",
				       .select = "if-context",
				       .flags = WEFT_EVENT_STACK};
	struct weft_event_row row;

	(void)state;
	weft_rt.header->tsc_hz = 3000000001;
	row = row_after("", &type);
	assert_int_equal(row.flags, WEFT_EVENT_ON | WEFT_EVENT_WITH_STACK | WEFT_EVENT_IF_CONTEXT |
					    WEFT_EVENT_THROTTLED);
	assert_int_equal(row.threshold_ns, 20000000);
	assert_int_equal(row.threshold_tsc, 60000001); /* rounded up */
	assert_int_equal(row.throttle_count, 100);
	assert_int_equal(row.throttle_window, 1000000000);
	weft_rt.header->tsc_hz = 0;
	type = (struct weft_event_type){.flags = WEFT_EVENT_OFF};
	assert_int_equal(row_after("", &type).flags, 0);
	type = (struct weft_event_type){.flags = WEFT_EVENT_CONTEXTUAL, .select = "if-triggered"};
	assert_int_equal(row_after("", &type).flags, WEFT_EVENT_ON | WEFT_EVENT_IF_TRIGGERED);
	type = (struct weft_event_type){.threshold = "soon", .throttle = "much"};
	row = row_after("", &type); /* nonsense is none */
	assert_int_equal(row.flags, WEFT_EVENT_ON);
	assert_int_equal(row.threshold_ns, 0);
}

static void what_was_set_goes_over_the_defaults(void **state)
{
	struct weft_event_type type = {.threshold = "20 ms", .flags = WEFT_EVENT_STACK};
	struct weft_event_row row;

	(void)state;
	row = row_after("other.*#enabled=false\ntest.Set*#threshold=5 us\n"
			"Set*#throttle=3/m\ntest.*#stackTrace=false\n",
			&type);
	assert_int_equal(row.flags, WEFT_EVENT_ON | WEFT_EVENT_THROTTLED);
	assert_int_equal(row.threshold_ns, 5000);
	assert_int_equal(row.throttle_count, 3);
	assert_int_equal(row.throttle_window, UINT64_C(60000000000));
	row = row_after("*#enabled=false\n", &type);
	assert_int_equal(row.flags & WEFT_EVENT_ON, 0);
	row = row_after("*#enabled=false\n*#enabled=true\n", &type);
	assert_int_equal(row.flags & WEFT_EVENT_ON, WEFT_EVENT_ON);
	row = row_after("*#threshold=infinity\n", &type);
	assert_true(row.threshold_ns == UINT64_MAX && row.threshold_tsc == UINT64_MAX);
}

static void a_select_that_cannot_be_is_all(void **state)
{
	struct weft_event_type regular = {.select = "if-triggered"};
	struct weft_event_type contextual = {.select = "if-context",
					     .flags = WEFT_EVENT_CONTEXTUAL};

	(void)state;
	assert_int_equal(row_after("", &regular).flags, WEFT_EVENT_ON);
	assert_int_equal(row_after("", &contextual).flags, WEFT_EVENT_ON);
	assert_int_equal(row_after("*#select=if-context\n", &regular).flags,
			 WEFT_EVENT_ON | WEFT_EVENT_IF_CONTEXT);
	assert_int_equal(row_after("*#select=sometimes\n", &regular).flags, WEFT_EVENT_ON);
	contextual.select = "if-triggered";
	assert_int_equal(row_after("*#select=if-context\n", &contextual).flags, WEFT_EVENT_ON);
}

/* Even where a row says so: who wrote it meant another type. */
static void a_row_cannot_select_what_cannot_be(void **state)
{
	struct weft_event_type regular = {.flags = 0};
	struct weft_event_type contextual = {.flags = WEFT_EVENT_CONTEXTUAL};
	struct weft_event event;

	(void)state;
	row_after("", &regular);
	row_of_type(&regular)->flags |= WEFT_EVENT_IF_TRIGGERED;
	assert_int_equal(weft_event_emit(&regular), 1);
	row_after("", &contextual);
	row_of_type(&contextual)->flags |= WEFT_EVENT_IF_CONTEXT;
	weft_event_begin(&event, &contextual);
	assert_int_equal(weft_event_commit(&event), 1);
}

static void nothing_is_on_while_nothing_is_recorded(void **state)
{
	struct weft_event_type type = {.select = "if-context"};

	(void)state;
	record(WEFT_RUN_IDLE);
	assert_int_equal(row_after("", &type).flags, WEFT_EVENT_IF_CONTEXT);
	assert_false(weft_event_is_on(&type));
}

static void a_text_that_is_being_written_is_passed_by_in_the_end(void **state)
{
	struct weft_event_text *text =
		(void *)(weft_rt.base + weft_layout.event_area_offset + WEFT_EVENT_ROWS_BYTES);
	struct weft_event_type type = {.flags = 0};

	(void)state;
	text->seq++; /* and its writer was killed */
	assert_int_equal(row_after("", &type).flags, WEFT_EVENT_ON);
	text->bytes = UINT32_MAX; /* nonsense of a stranger */
	type.row = NULL;
	type.name = "test.AfterNonsense";
	assert_true(weft_event_type_enrol(&type)->flags & WEFT_EVENT_ON);
	text->seq++;
}

static void ticks_are_rounded_up_and_end(void **state)
{
	(void)state;
	assert_int_equal(event_row_ticks(0, 0), 0);
	assert_int_equal(event_row_ticks(0, 3000000000), 0);
	assert_int_equal(event_row_ticks(1, 1), 1);
	assert_int_equal(event_row_ticks(1, 3000000000), 3);
	assert_int_equal(event_row_ticks(1000000000, 3000000001), 3000000001);
	assert_true(event_row_ticks(5, 0) == UINT64_MAX);
	assert_true(event_row_ticks(UINT64_MAX, 3000000000) == UINT64_MAX);
	assert_true(event_row_ticks(UINT64_C(86400000000000) * 365, 3000000000) ==
		    UINT64_C(86400) * 365 * 3000000000);
}

/* ---- many at a time */

static struct weft_event_type shared = {.name = "test.Shared",
					WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG})};

static void *use_at_once(void *arg)
{
	struct weft_event_type own = {.name = "test.Shared",
				      WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG})};
	uint64_t *written = arg;

	*written += (uint64_t)weft_event_emit(&shared, WEFT_LONG(1));
	*written += (uint64_t)weft_event_emit(&own, WEFT_LONG(1));
	*written += shared.number == own.number;
	return NULL;
}

static void threads_meet_in_a_first_use(void **state)
{
	uint64_t written[8] = {0};
	pthread_t thread[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use_at_once, &written[i]), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(written[i], 3);
	}
}

/* ---- a forked child */

static struct weft_event_type before_fork = {
	.name = "test.BeforeFork", .flags = WEFT_EVENT_CONTEXTUAL, .select = "if-triggered"};
static struct weft_event_type in_child = {.name = "test.InChild"};

static void *have_a_slot(void *arg)
{
	(void)weft_thread_own_slot();
	return arg;
}

/* Its own session begins with a second thread: the rows are there again, and all is off. */
static int be_child(const struct weft_event_row *row)
{
	const struct weft_log_record *record;
	pthread_t thread;

	if (weft_event_is_on(&before_fork) || weft_event_is_on(&in_child))
		return 1;
	if (pthread_create(&thread, NULL, have_a_slot, NULL) || pthread_join(thread, NULL) ||
	    !weft_rt_is_ready())
		return 2;
	if (before_fork.row != row || row->flags != WEFT_EVENT_IF_TRIGGERED)
		return 3;
	record = last_record();
	if (record->type != WEFT_LOG_EVENT_TYPE || record->id != in_child.number)
		return 4;
	/* What is stored where the types look is the session's. */
	weft_event_rows[1].rsv = 77;
	if (((const struct weft_event_row *)(const void *)(weft_rt.base +
							   weft_layout.event_area_offset))[1]
		    .rsv != 77)
		return 5;
	return 0;
}

static void a_childs_session_has_all_types(void **state)
{
	const struct weft_event_row *row = weft_event_type_enrol(&before_fork);
	uint32_t flags = row->flags;
	int status;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0)
		_exit(be_child(row));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(row->flags, flags); /* the parent's are its own */
}

/* ---- the last ones */

static void there_are_so_many(void **state)
{
	static struct weft_event_type many[WEFT_EVENT_TYPES_MAX];
	static char names[WEFT_EVENT_TYPES_MAX][16];
	uint64_t before = refused();
	uint32_t enrolled = 0;

	(void)state;
	for (uint32_t i = 0; i < WEFT_EVENT_TYPES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "test.Many%u", i);
		many[i].name = names[i];
		enrolled += (uint32_t)weft_event_is_on(&many[i]);
	}
	assert_true(enrolled < WEFT_EVENT_TYPES_MAX - WEFT_EVENT_ROW_FIRST);
	assert_int_equal(many[enrolled - 1].number, WEFT_EVENT_TYPES_MAX - 1);
	assert_int_equal(refused() - before, WEFT_EVENT_TYPES_MAX - enrolled);
	assert_int_equal(weft_event_emit(&many[0]), 1);
	assert_int_equal(weft_event_emit(&many[enrolled]), 0);
}

/* Who interrupted the holder of the lock goes without, and does not wait for ever. */
static void who_cannot_have_the_lock_goes_without(void **state)
{
	struct weft_event_type type = {.name = "test.Shared", .field_count = 0};
	uint64_t before = refused();

	(void)state;
	weft_log_lock();
	assert_false(weft_event_is_on(&type));
	weft_log_unlock();
	assert_null(type.row); /* for this time */
	assert_int_equal(refused(), before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(a_definition_stands_in_the_log),
		TEST(what_is_malformed_is_refused),
		TEST(equal_definitions_are_one_type),
		TEST(a_type_outlives_its_memory),
		TEST(defaults_are_the_types),
		TEST(what_was_set_goes_over_the_defaults),
		TEST(a_select_that_cannot_be_is_all),
		TEST(a_row_cannot_select_what_cannot_be),
		TEST(nothing_is_on_while_nothing_is_recorded),
		TEST(a_text_that_is_being_written_is_passed_by_in_the_end),
		TEST(ticks_are_rounded_up_and_end),
		TEST(threads_meet_in_a_first_use),
		TEST(a_childs_session_has_all_types),
		TEST(who_cannot_have_the_lock_goes_without),
		TEST(there_are_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
