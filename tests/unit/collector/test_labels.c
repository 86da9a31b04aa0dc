/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of labels in records, up to the file: a session whose memory this program writes
 * is drained, walked and written as in life, on one thread, and read back.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "base/session_layout.h"
#include "collector/process/published_context.h"
#include "collector/session/session.h"
#include "collector/walk/walk.h"
#include "collector/write/process_work.h"
#include "collector/write/recording_types.h"
#include "collector/write/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/jfr.h>

#include <cmocka.h>

#define SPANS_MAX 200

static char file[64];
static struct modules *modules;
static struct tables tables;
static struct table_cache no_cache = {.fd = -1};

struct scene {
	struct session *session;
	struct process *process;
	struct queue queue, walked;
	struct walker walker;
	struct worker worker;
	uint64_t begin_ns;
};

static void open_scene(struct scene *s, int inline_context)
{
	struct session_settings settings = {.period_ns = 1000, .stack_mode = WEFT_STACK_AUTO};
	struct recording_options o = {.path = file,
				      .command_line = "test",
				      .version = "0",
				      .stack_mode = "auto",
				      .period_ns = settings.period_ns,
				      .inline_context = inline_context};

	memset(s, 0, sizeof(*s));
	assert_int_equal(process_new(&s->process, getpid()), 0);
	s->begin_ns = s->process->opened_ns = clock_mono_ns();
	assert_int_equal(session_new(&s->session, s->process, &settings), 0);
	assert_int_equal(queue_init(&s->queue, 1 << 24) | queue_init(&s->walked, SIZE_MAX), 0);
	assert_int_equal(recording_open(&s->worker.recording, &o), 0);
	assert_int_equal(naming_init(&s->worker.naming), 0);
	s->worker.naming.writer = recording_writer(s->worker.recording);
	s->walker = (struct walker){.in = &s->queue,
				    .out = &s->walked,
				    .walking = {.modules = modules, .tables = &tables}};
	s->worker.queue = &s->walked;
	s->worker.period_ns = settings.period_ns;
	queue_push(&s->queue, batch_new(BATCH_OPEN, s->process, 0));
}

static struct weft_slot *slot_of(const struct scene *s)
{
	return weft_session_slot(s->session->process->base, &s->session->process->layout, 0);
}

static void claim(const struct scene *s, uint64_t generation)
{
	struct weft_slot *slot = slot_of(s);

	slot->thread.tid = (int32_t)(70 + generation);
	slot->thread.generation = generation;
	slot->samples_p.head = slot->samples_c.tail = 0;
	((struct weft_session_header *)s->session->process->base)->slots_high = 1;
	weft_session_states(s->session->process->base, &s->session->process->layout)[0] =
		WEFT_STATE_WORD(generation, WEFT_SLOT_LIVE);
}

static void publish(const struct scene *s, const struct weft_record *r)
{
	struct weft_slot *slot = slot_of(s);
	uint8_t *ring = (uint8_t *)slot + s->session->process->layout.samples_offset;

	assert_true(slot->samples_p.head + r->bytes <= s->session->process->layout.samples_bytes);
	memcpy(ring + slot->samples_p.head, r, r->bytes);
	slot->samples_p.head += r->bytes;
	slot->samples_p.written++;
	slot->counters[WEFT_COUNTER_ATTEMPTED]++;
	slot->counters[WEFT_COUNTER_WRITTEN]++;
	((struct weft_session_header *)s->session->process->base)->fresh[0] |= 1;
}

/* A sample with the labels "a=1 b=2" (NULL: it tells none) under @number. */
static struct weft_sample_record *make(const struct scene *s, uint64_t at_us, uint64_t span,
				       uint32_t number, const char *labels)
{
	static uint64_t block[8192];
	struct weft_sample_record *r = (void *)block;
	uint8_t *at = (uint8_t *)(r + 1);

	memset(block, 0, sizeof(block));
	r->record.type = WEFT_RECORD_SAMPLE;
	r->record.generation = (uint32_t)slot_of(s)->thread.generation;
	r->time_ns = s->begin_ns + at_us * 1000;
	r->weight = 1;
	r->stack = WEFT_SAMPLE_FRAMES;
	r->context = span ? WEFT_CONTEXT_IDS : WEFT_CONTEXT_NONE;
	r->span_id = span;
	r->label_generation = number;
	while (labels && *labels) {
		size_t key = strcspn(labels, "="), value = strcspn(labels + key + 1, " ");
		struct weft_sample_label head = {(uint16_t)key, (uint16_t)value};

		memcpy(at, &head, sizeof(head));
		memcpy(at + sizeof(head), labels, key);
		memcpy(at + sizeof(head) + key, labels + key + 1, value);
		at += sizeof(head) + key + value;
		labels += key + 1 + value;
		labels += *labels == ' ';
	}
	r->label_bytes = (uint16_t)(at - (uint8_t *)(r + 1));
	r->labels_at = r->label_bytes ? sizeof(*r) : 0;
	r->record.bytes = (uint32_t)(at - (uint8_t *)r + 7) & ~7u;
	return r;
}

static void put(const struct scene *s, uint64_t at_us, uint64_t span, uint32_t number,
		const char *labels)
{
	publish(s, &make(s, at_us, span, number, labels)->record);
}

static void drain(const struct scene *s, enum drain_mode mode)
{
	session_drain(s->session, (struct queue *)(uintptr_t)&s->queue, mode);
}

/* ---- what is in the file */

struct span {
	char text[200]; /* "SPAN key=value ...", in the order of fields */
	int64_t start_ns;
	uint64_t chunk;
	int samples;
};

static struct span spans[SPANS_MAX];
static int span_count;
static int64_t left_out, unrecorded, invalid;

static void add_text(struct span *s, const char *key, const struct weft_jfr_node *n)
{
	size_t used = strlen(s->text);

	if (n->shape == WEFT_JFR_V_STRING && used < sizeof(s->text))
		snprintf(s->text + used, sizeof(s->text) - used, " %s=%.*s", key,
			 (int)n->string.bytes, n->string.data);
}

static void take_span(const struct weft_jfr_event_view *e)
{
	struct span *s = &spans[span_count++];
	const struct weft_jfr_node *id = weft_jfr_event_get(e, RECORDING_FIELD_SPAN);

	assert_true(span_count <= SPANS_MAX);
	*s = (struct span){.start_ns = e->start_ns, .chunk = e->chunk};
	snprintf(s->text, sizeof(s->text), "%.*s",
		 id->shape == WEFT_JFR_V_STRING ? (int)id->string.bytes : 1,
		 id->shape == WEFT_JFR_V_STRING ? id->string.data : "-");
	for (size_t i = 0; i < e->field_count; i++) {
		const char *name = weft_jfr_class_field(e->type, i);
		const char *key = weft_jfr_class_annotation(e->type, name, "weft.Key");

		if (!key)
			continue;
		assert_true(weft_jfr_class_annotated(e->type, name, "jdk.jfr.Contextual"));
		add_text(s, key, &e->fields[i]);
	}
}

static void take_counter(const struct weft_jfr_event_view *e)
{
	static const struct {
		const char *name;
		int64_t *value;
	} counters[] = {{"labels_left_out", &left_out},
			{"labels_unrecorded", &unrecorded},
			{"invalid", &invalid}};
	const struct weft_jfr_node *name = weft_jfr_event_get(e, RECORDING_FIELD_NAME);

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (name->string.bytes == strlen(counters[i].name) &&
		    memcmp(name->string.data, counters[i].name, name->string.bytes) == 0)
			*counters[i].value += weft_jfr_event_get(e, "value")->number;
}

static void read_file(void)
{
	struct weft_jfr_reader *r = weft_jfr_open(file);
	struct weft_jfr_event_view e;
	int rc;

	span_count = 0;
	left_out = unrecorded = invalid = 0;
	assert_non_null(r);
	while ((rc = weft_jfr_next(r, &e)) == 1) {
		const char *type = weft_jfr_class_name(e.type);

		if (strcmp(type, RECORDING_SPAN) == 0 || strcmp(type, RECORDING_INLINE_SAMPLE) == 0)
			take_span(&e);
		else if (strcmp(type, RECORDING_COUNTER) == 0)
			take_counter(&e);
	}
	assert_int_equal(rc, 0);
	weft_jfr_reader_free(r);
	unlink(file);
}

static void close_scene(struct scene *s)
{
	struct batch *b = batch_new(BATCH_CLOSE, s->process, sizeof(struct session_counts));

	drain(s, DRAIN_GONE);
	memset(b->data, 0, b->bytes);
	session_count(s->session, (struct session_counts *)(void *)b->data);
	b->end = RECORDING_END_EXITED;
	b->time_ns = clock_mono_ns();
	queue_push(&s->queue, b);
	queue_push(&s->queue, batch_new(BATCH_FINISH, NULL, 0));
	walker_run(&s->walker);
	worker_run(&s->worker);
	assert_int_equal(s->walker.error | s->worker.error, 0);
	session_free(s->session);
	assert_int_equal(recording_close(s->worker.recording, clock_mono_ns(), NULL), 0);
	naming_free(&s->worker.naming);
	queue_destroy(&s->queue);
	queue_destroy(&s->walked);
	read_file();
}

static void expect(const char *const *texts, int count)
{
	for (int i = 0; i < count && i < span_count; i++)
		assert_string_equal(spans[i].text, texts[i]);
	assert_int_equal(span_count, count);
}

#define EXPECT(...)                                                                                \
	do {                                                                                       \
		static const char *const texts[] = {__VA_ARGS__};                                  \
		expect(texts, (int)(sizeof(texts) / sizeof(texts[0])));                            \
	} while (0)

/* ---- honest ones */

static void labels_are_told_once_and_hold_on(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	put(&s, 20, 1, 1, NULL);
	put(&s, 30, 1, 2, "tenant=acme route=/x");
	drain(&s, DRAIN_RUNNING);
	put(&s, 40, 1, 2, NULL);
	put(&s, 50, 2, 2, NULL); /* another span, the same labels */
	put(&s, 60, 2, 0, NULL); /* none any more */
	put(&s, 70, 2, 3, "tenant=beta");
	put(&s, 80, 0, 3, NULL); /* no span: labels all the same */
	put(&s, 90, 0, 0, NULL);
	put(&s, 100, 0, 3, NULL);
	close_scene(&s);
	EXPECT("0000000000000001 tenant=acme", "0000000000000001 tenant=acme route=/x",
	       "0000000000000002 tenant=acme route=/x", "0000000000000002",
	       "0000000000000002 tenant=beta", "- tenant=beta", "- tenant=beta");
	assert_int_equal(unrecorded, 0);
	assert_true(spans[1].chunk > spans[0].chunk); /* a new key: a new chunk */
	assert_int_equal(spans[2].chunk, spans[1].chunk);
}

/* Labels of which nobody told, because that sample was lost, are nobody's: never those before. */
static void lost_labels_are_not_mistaken(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	put(&s, 20, 1, 2, NULL);
	put(&s, 30, 1, 2, NULL);
	put(&s, 40, 1, 3, "tenant=beta");
	close_scene(&s);
	EXPECT("0000000000000001 tenant=acme", "0000000000000001", "0000000000000001 tenant=beta");
	assert_int_equal(unrecorded, 2);
}

/* The next thread of a slot begins with numbers that the one before had. */
static void a_slot_begins_anew(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	drain(&s, DRAIN_RUNNING);
	claim(&s, 6);
	put(&s, 20, 1, 1, NULL);
	put(&s, 30, 1, 1, "tenant=beta");
	close_scene(&s);
	EXPECT("0000000000000001 tenant=acme", "0000000000000001", "0000000000000001 tenant=beta");
	assert_int_equal(unrecorded, 1);
}

static void contexts_being_written_keep_their_labels(void **state)
{
	struct scene s;
	struct weft_sample_record *r;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	r = make(&s, 20, 0, 1, NULL);
	r->context = WEFT_CONTEXT_BUSY;
	publish(&s, &r->record);
	put(&s, 30, 2, 1, NULL);
	close_scene(&s);
	EXPECT("0000000000000001 tenant=acme", "- tenant=acme", "0000000000000002 tenant=acme");
}

static void fields_of_samples_with_inline_context(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 1);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	put(&s, 20, 1, 1, NULL);
	put(&s, 30, 0, 2, "tenant= empty=");
	put(&s, 40, 0, 0, NULL);
	close_scene(&s);
	EXPECT("0000000000000001 tenant=acme", "0000000000000001 tenant=acme",
	       "- tenant= empty=", "-");
}

/* Chunks end while labels hold: they hold on, and so does what is kept of them. */
static void labels_outlive_chunks(void **state)
{
	struct scene s;
	struct batch *b;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	for (uint64_t i = 0; i < 3; i++) {
		drain(&s, DRAIN_RUNNING);
		b = batch_new(BATCH_ROLL, NULL, 0);
		b->time_ns = clock_mono_ns();
		queue_push(&s.queue, b);
		put(&s, 20 + 10 * i, 1, 1, NULL);
	}
	close_scene(&s);
	assert_int_equal(span_count, 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(spans[i].text, "0000000000000001 tenant=acme");
}

static void keys_that_are_too_many_are_counted(void **state)
{
	struct scene s;
	char label[32];

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	for (uint32_t i = 0; i < LABEL_COLUMNS_MAX + 6; i++) {
		snprintf(label, sizeof(label), "key%u=v", i);
		put(&s, 10 + i, 1, 1 + i, label);
	}
	close_scene(&s);
	assert_int_equal(span_count, LABEL_COLUMNS_MAX + 6);
	assert_string_equal(spans[LABEL_COLUMNS_MAX - 1].text, "0000000000000001 key63=v");
	assert_string_equal(spans[LABEL_COLUMNS_MAX].text, "0000000000000001");
	assert_int_equal(left_out, 6);
}

/* ---- what handlers have copied of other libraries' contexts */

#define OTHER_SPAN 0x22

/* The part behind all that @r has. */
static void add_part(struct weft_sample_record *r, uint16_t flag, const void *data, uint32_t bytes)
{
	uint8_t *at = (uint8_t *)r + r->record.bytes;
	struct weft_sample_published head = {.bytes = bytes};

	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), data, bytes);
	r->labels_at = r->labels_at ? r->labels_at : r->record.bytes;
	r->flags |= flag;
	r->record.bytes += (uint32_t)sizeof(head) + ((bytes + 7) & ~7u);
}

/* OTHER_SPAN, with attribute 0 = "acme" and one whose key is not known. */
static void add_record(struct weft_sample_record *r)
{
	uint8_t record[28 + 10] = {[15] = 0xAB, [23] = OTHER_SPAN, [24] = 1, [26] = 10};

	memcpy(record + 28, "\0\4acme\7\2no", 10);
	add_part(r, WEFT_SAMPLE_PUBLISHED, record, sizeof(record));
}

static void add_set(struct weft_sample_record *r)
{
	static const char set[] = "\6\0\2\0tenant"
				  "of"
				  "\5\0\1\0route"
				  "x"
				  "\7\0\2\0span-id"
				  "34";

	add_part(r, WEFT_SAMPLE_PUBLISHED_SET, set, sizeof(set) - 1);
}

static void tell_keys(const struct scene *s)
{
	struct otel_payload keys;

	memset(&keys, 0, sizeof(keys));
	live_begin(&keys.keys, LIVE_OTEL);
	live_add(&keys.keys, "tenant", 6, "", 0);
	process_tell_context(s->process, &keys, 1);
	otel_payload_free(&keys);
}

static void other_libraries_contexts_are_added(void **state)
{
	struct weft_sample_record *r;
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	tell_keys(&s);
	claim(&s, 5);
	r = make(&s, 10, 0, 0, NULL);
	add_record(r);
	publish(&s, &r->record);
	r = make(&s, 20, 0, 0, NULL); /* the set has the record's span: 34 is 0x22 */
	add_record(r);
	add_set(r);
	publish(&s, &r->record);
	r = make(&s, 30, 0, 0, NULL);
	add_set(r);
	publish(&s, &r->record);
	r = make(&s, 40, 9, 0, NULL); /* weft's own span is another */
	add_record(r);
	publish(&s, &r->record);
	r = make(&s, 50, OTHER_SPAN, 1, "tenant=weft");
	add_record(r);
	publish(&s, &r->record);
	close_scene(&s);
	EXPECT("0000000000000022 tenant=acme", "0000000000000022 tenant=acme route=x",
	       "0000000000000022 tenant=of route=x", "0000000000000009",
	       "0000000000000022 tenant=weft");
}

/* Parts that are not whole, and such that are longer than they may be. */
static void lying_parts_are_refused(void **state)
{
	struct weft_sample_record *r;
	struct scene s;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 0, NULL);
	for (int lie = 0; lie < 7; lie++) {
		struct weft_sample_published *head;

		r = make(&s, 20, 1, 0, NULL);
		head = (void *)((uint8_t *)r + r->record.bytes);
		if (lie < 5)
			add_record(r);
		else
			add_set(r);
		switch (lie) {
		case 0:
			head->bytes = 27;
			break;
		case 1:
			head->bytes = WEFT_SAMPLE_PUBLISHED_BYTES + 1;
			break;
		case 2:
			head->bytes = r->record.bytes;
			break;
		case 3:
			r->labels_at = 0;
			break;
		case 4:
			r->flags |= WEFT_SAMPLE_PUBLISHED_SET; /* behind the record's end */
			break;
		case 5:
			head->bytes -= 1; /* half a label */
			break;
		default:
			head->bytes = UINT32_MAX;
			break;
		}
		publish(&s, &r->record);
	}
	close_scene(&s);
	EXPECT("0000000000000001");
	assert_int_equal(invalid, 7);
}

/* ---- liars: what is not whole is refused as a record, and the books know */

static void lies_are_refused(void **state)
{
	struct session_counts counts = {0};
	struct scene s;
	struct weft_sample_record *r;

	(void)state;
	open_scene(&s, 0);
	claim(&s, 5);
	put(&s, 10, 1, 1, "tenant=acme");
	for (int lie = 0; lie < 8; lie++) {
		struct weft_sample_label head = {1, 1};
		uint8_t *labels;

		r = make(&s, 20, 1, 2, "a=b");
		labels = (uint8_t *)(r + 1);
		switch (lie) {
		case 0:
			r->labels_at = 0; /* over the record's own head */
			break;
		case 1:
			r->labels_at = r->record.bytes;
			break;
		case 2:
			r->labels_at = UINT32_MAX - 7;
			break;
		case 3:
			r->label_bytes = UINT16_MAX;
			break;
		case 4:
			r->label_generation = 0;
			break;
		case 5:
			head.key_bytes = UINT16_MAX;
			memcpy(labels, &head, sizeof(head));
			break;
		case 6:
			head.value_bytes = 2; /* one more than there is */
			memcpy(labels, &head, sizeof(head));
			break;
		default:
			r->labels_at += 4;
			break;
		}
		publish(&s, &r->record);
	}
	put(&s, 30, 1, 1, NULL);
	drain(&s, DRAIN_RUNNING);
	session_count(s.session, &counts);
	assert_int_equal(counts.delivered, 2);
	close_scene(&s);
	EXPECT("0000000000000001 tenant=acme");
	assert_int_equal(invalid, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_told_once_and_hold_on),
		cmocka_unit_test(lost_labels_are_not_mistaken),
		cmocka_unit_test(a_slot_begins_anew),
		cmocka_unit_test(contexts_being_written_keep_their_labels),
		cmocka_unit_test(fields_of_samples_with_inline_context),
		cmocka_unit_test(labels_outlive_chunks),
		cmocka_unit_test(keys_that_are_too_many_are_counted),
		cmocka_unit_test(other_libraries_contexts_are_added),
		cmocka_unit_test(lying_parts_are_refused),
		cmocka_unit_test(lies_are_refused),
	};

	snprintf(file, sizeof(file), "/tmp/weft-labels-%d.jfr", (int)getpid());
	modules = tables_open(&tables, 8 << 20) ? NULL : modules_new(&tables, &no_cache);
	if (!modules)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
