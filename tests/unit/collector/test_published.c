/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread publishes by other formats than weft's, as samples from outside get it: which comes
 * first, what adds to what, what disagrees, and what lies. A forked child publishes and waits.
 */
#include "collector/look/published.h"

#include "base/clock.h"
#include "collector/process/published_context.h"
#include "proc/process_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/abi/otel_thread_context.h>

#include <cmocka.h>

#include "../../node_heap.h"
#include "../../stranger_process.h"

#define EXPORTED __attribute__((visibility("default"), used))
#define SPAN UINT64_C(0x1122334455667788)
#define ROOT UINT64_C(0xcc)
#define OTHER UINT64_C(7)

EXPORTED __thread struct weft_otel_record *volatile otel_thread_ctx_v1;
/* AddressSanitizer would make it larger, and thus none of that ABI. */
#if defined(__clang__)
#define AS_LARGE_AS_IT_IS __attribute__((no_sanitize("address")))
#else
#define AS_LARGE_AS_IT_IS
#endif
AS_LARGE_AS_IT_IS EXPORTED const uint32_t custom_labels_abi_version = 1;
EXPORTED __thread struct weft_custom_labels_set *volatile custom_labels_current_set;
EXPORTED __thread struct weft_nodejs_variable otel_thread_ctx_nodejs_v1;

/* ---- the child's part */

/* attributes { "threadlocal.attribute_key_map": the root span's key, "tenant" } */
static const char payload[] = "\x12\x4b\x0a\x1d" WEFT_OTEL_KEY_MAP_KEY "\x12\x2a\x2a\x28"
			      "\x0a\x1c\x0a\x1a" WEFT_OTEL_ROOT_KEY "\x0a\x08\x0a\x06"
			      "tenant";

static struct weft_otel_record record;
static struct weft_custom_labels_label label[WEFT_SAMPLE_LABELS_MAX + 8];
static struct weft_custom_labels_set set = {label, 0, 0};

static void publish_keys(void)
{
	struct weft_otel_process_header *h = stranger_process_map();

	if (h)
		stranger_process_publish(h, payload, sizeof(payload) - 1, 1);
	assert_non_null(h);
}

static void add_attribute(uint8_t index, const char *value)
{
	uint8_t *at = record.attributes + record.attributes_bytes;
	size_t bytes = strlen(value);

	at[0] = index;
	at[1] = (uint8_t)bytes;
	memcpy(at + 2, value, bytes);
	record.attributes_bytes = (uint16_t)(record.attributes_bytes + 2 + bytes);
}

static void fill_record(void)
{
	uint64_t big = __builtin_bswap64(SPAN);

	publish_keys();
	memset(record.trace_id, 0xAB, sizeof(record.trace_id));
	memcpy(record.span_id, &big, sizeof(big));
	record.trace_flags = 1;
	record.valid = 1;
	add_attribute(0, "00000000000000cc");
	add_attribute(1, "acme");
	add_attribute(9, "of no key");
}

static void publish_record(void)
{
	fill_record();
	otel_thread_ctx_v1 = &record;
}

static struct node_heap heap;

static void publish_by_nodejs(void)
{
	uint64_t frame;

	fill_record();
	node_begin(&heap, 5, &otel_thread_ctx_nodejs_v1);
	frame = node_map(&heap, 4);
	node_put(frame, heap.word[NODE_HANDLE], 5, node_wrap(&heap, 4, &record));
	node_run(&heap, &otel_thread_ctx_nodejs_v1, frame);
}

/* Nothing runs, as in a loop that waits for requests. */
static void publish_by_nodejs_nothing(void)
{
	publish_by_nodejs();
	node_run(&heap, &otel_thread_ctx_nodejs_v1, 0);
}

static void publish_by_nodejs_something_else(void)
{
	publish_by_nodejs();
	node_run(&heap, &otel_thread_ctx_nodejs_v1, 3);
}

static void add_label(const char *key, const char *value)
{
	label[set.count++] =
		(struct weft_custom_labels_label){{strlen(key), (const unsigned char *)key},
						  {strlen(value), (const unsigned char *)value}};
}

static void publish_set(void)
{
	add_label("span-id", "7");
	add_label("tenant", "of the set");
	add_label("route", "/a");
	custom_labels_current_set = &set;
}

static void publish_labels_alone(void)
{
	add_label("tenant", "of the set");
	add_label("route", "/a");
	custom_labels_current_set = &set;
}

static void publish_record_and_labels(void)
{
	publish_record();
	publish_labels_alone();
}

static void publish_both(void)
{
	publish_record();
	publish_set();
}

static void publish_invalid(void)
{
	publish_record();
	record.valid = 0;
}

/* Pages that are gone, and addresses that never were. */
static void publish_nowhere(void)
{
	void *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	publish_keys();
	otel_thread_ctx_v1 = gone;
	set.storage = gone;
	set.count = 3;
	custom_labels_current_set = &set;
	munmap(gone, 4096); /* last: nothing is mapped in its place */
}

static void publish_much(void)
{
	static char text[2][1000];
	static char key[WEFT_SAMPLE_LABELS_MAX + 8][8];

	memset(text, 'x', sizeof(text));
	text[0][999] = text[1][999] = 0;
	add_label(text[0], text[1]);
	for (int i = 1; i < WEFT_SAMPLE_LABELS_MAX + 8; i++) {
		snprintf(key[i], sizeof(key[i]), "k%d", i);
		add_label(key[i], text[1]);
	}
	custom_labels_current_set = &set;
}

static void publish_nothing(void)
{
}

/* ---- one reading of it */

struct reading {
	pid_t child;
	struct process process;
	struct session_counts counts;
	struct published *published;
	struct published_thread thread;
	struct weft_sample_record sample;
	int bytes;
	uint8_t labels[LABEL_BYTES_MAX];
};

static void begin(struct reading *r, void (*publish)(void), enum published_from from)
{
	int ready[2];
	char byte;

	memset(r, 0, sizeof(*r));
	assert_int_equal(pipe(ready), 0);
	r->child = fork();
	if (r->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when an assertion has failed */
		publish();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(process_meet(&r->process, r->child), 0);
	r->process.start_ticks = 0; /* long ago: it is looked at at once */
	r->published = published_new(&r->process, from, &r->counts);
}

static void add(struct reading *r)
{
	r->bytes =
		published_add(r->published, &r->thread, r->child, &r->sample, r->labels, r->bytes);
}

static void end(struct reading *r)
{
	published_free(r->published);
	process_leave(&r->process);
	process_forget_contexts(&r->process);
	free(r->process.command_line);
	kill(r->child, SIGKILL);
	waitpid(r->child, NULL, 0);
}

static void read_once(struct reading *r, void (*publish)(void), enum published_from from)
{
	begin(r, publish, from);
	published_look(r->published, clock_mono_ns());
	add(r);
}

/* Has the newest reading the label, by its first value? */
static int has(const struct reading *r, const char *key, const char *value)
{
	struct weft_sample_label head;
	const char *at;

	assert_true(label_bytes_are_sound(r->labels, (size_t)r->bytes));
	for (int i = 0; i < r->bytes; i += (int)sizeof(head) + head.key_bytes + head.value_bytes) {
		memcpy(&head, r->labels + i, sizeof(head));
		at = (const char *)r->labels + i + sizeof(head);
		if (head.key_bytes != strlen(key) || memcmp(at, key, head.key_bytes) != 0)
			continue;
		return head.value_bytes == strlen(value) &&
		       memcmp(at + head.key_bytes, value, head.value_bytes) == 0;
	}
	return 0;
}

static void a_record_gives_ids_and_labels(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_record, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_TRACE);
	assert_true(r.sample.span_id == SPAN);
	assert_true(r.sample.root_span_id == ROOT);
	assert_int_equal(r.sample.trace_id[15], 0xAB);
	assert_int_equal(r.sample.trace_flags, 1);
	assert_true(has(&r, "tenant", "acme"));
	assert_int_equal(r.bytes, 4 + 6 + 4); /* neither the root span nor what has no key */
	assert_int_equal(r.counts.context_otel, 1);
	end(&r);
}

static void nodejs_gives_what_a_record_gives(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_by_nodejs, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_TRACE);
	assert_true(r.sample.span_id == SPAN && r.sample.root_span_id == ROOT);
	assert_true(has(&r, "tenant", "acme"));
	assert_int_equal(r.bytes, 4 + 6 + 4);
	assert_int_equal(r.counts.context_otel, 1);
	assert_int_equal(r.process.variables.nodejs_layout, WEFT_NODEJS_LAYOUT_USUAL);
	assert_true(r.process.variables.nodejs.at != 0);
	end(&r);
	read_once(&r, publish_by_nodejs, PUBLISHED_LABELS);
	assert_true(!r.sample.span_id && r.bytes == 0 && !r.process.variables.nodejs.at);
	end(&r);
}

static void nodejs_may_be_read_and_have_nothing(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_by_nodejs_nothing, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_NONE);
	assert_int_equal(r.counts.context_otel + r.counts.context_unreadable, 0);
	end(&r);
	read_once(&r, publish_by_nodejs_something_else, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_NONE);
	assert_int_equal(r.counts.context_unreadable, 1);
	end(&r);
}

static void a_set_gives_ids_and_labels(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_set, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_IDS);
	assert_true(r.sample.span_id == OTHER);
	assert_true(has(&r, "tenant", "of the set") && has(&r, "route", "/a"));
	assert_false(has(&r, "span-id", "7"));
	assert_int_equal(r.counts.context_labels, 1);
	end(&r);
}

static void what_comes_first_stays(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_record_and_labels, PUBLISHED_AUTO);
	assert_true(r.sample.span_id == SPAN);
	assert_true(has(&r, "tenant", "acme") && has(&r, "route", "/a"));
	assert_int_equal(r.counts.context_otel, 1);
	assert_int_equal(r.counts.context_labels, 1);
	assert_int_equal(r.counts.context_disagreed, 0);
	end(&r);
}

static void what_disagrees_is_left_out(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_both, PUBLISHED_AUTO);
	assert_true(r.sample.span_id == SPAN);
	assert_false(has(&r, "route", "/a"));
	assert_int_equal(r.counts.context_disagreed, 1);
	assert_int_equal(r.counts.context_labels, 0);
	end(&r);
}

static void one_format_alone(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_both, PUBLISHED_LABELS);
	assert_true(r.sample.span_id == OTHER && has(&r, "route", "/a"));
	end(&r);
	read_once(&r, publish_both, PUBLISHED_OTEL);
	assert_true(r.sample.span_id == SPAN && !has(&r, "route", "/a"));
	assert_int_equal(r.counts.context_disagreed, 0);
	end(&r);
	read_once(&r, publish_both, PUBLISHED_WEFT);
	assert_true(!r.sample.span_id && r.bytes == 0);
	end(&r);
}

/* What the process says of itself is told once, whatever contexts are wanted. */
static void the_process_context_is_told(void **state)
{
	const struct published_context *told;
	struct reading r;
	size_t bytes;

	(void)state;
	begin(&r, publish_both, PUBLISHED_WEFT);
	published_look(r.published, clock_mono_ns());
	told = process_published_context(&r.process);
	assert_non_null(told);
	assert_memory_equal(otel_payload_key(&told->payload, 1, &bytes), "tenant", 6);
	process_tell_context(&r.process, &told->payload, 1);
	assert_ptr_equal(process_published_context(&r.process), told);
	end(&r);
}

/* One that changes for ever is followed so far, and no memory is taken after that. */
static void contexts_of_a_process_are_bounded(void **state)
{
	struct process p = {.pid = 1};
	struct otel_payload says;
	char value[8192];

	(void)state;
	memset(&says, 0, sizeof(says));
	memset(value, 'v', sizeof(value));
	for (int i = 0; i < 2 * PUBLISHED_CONTEXTS_MAX; i++) {
		live_begin(&says.resource, LIVE_OTEL);
		live_add(&says.resource, "version", 7, &i, sizeof(i));
		process_tell_context(&p, &says, 1);
	}
	assert_int_equal(process_published_context(&p)->number, PUBLISHED_CONTEXTS_MAX);
	process_forget_contexts(&p);
	assert_null(process_published_context(&p));
	for (int i = 0; i < PUBLISHED_CONTEXTS_MAX; i++) {
		memcpy(value, &i, sizeof(i));
		live_begin(&says.resource, LIVE_OTEL);
		live_add(&says.resource, "version", 7, value, sizeof(value));
		process_tell_context(&p, &says, 1);
	}
	assert_true(process_published_context(&p)->bytes <= PUBLISHED_BYTES_MAX);
	assert_true(process_published_context(&p)->number > 100);
	process_forget_contexts(&p);
	otel_payload_free(&says);
}

static int put_own_label(uint8_t *to)
{
	struct weft_sample_label head = {1, 1};

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), "kv", 2);
	return (int)sizeof(head) + 2;
}

/* Weft's own comes first: here of the same span, without a trace, and of another one. */
static void wefts_own_comes_first(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, publish_record, PUBLISHED_AUTO);
	published_look(r.published, clock_mono_ns());
	r.sample.context = WEFT_CONTEXT_IDS;
	r.sample.span_id = SPAN;
	r.sample.root_span_id = 5;
	add(&r);
	assert_true(r.sample.span_id == SPAN && r.sample.root_span_id == 5);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_TRACE);
	assert_true(has(&r, "tenant", "acme"));
	r.bytes = put_own_label(r.labels);
	add(&r);
	assert_false(has(&r, "tenant", "acme"));
	r.sample = (struct weft_sample_record){.context = WEFT_CONTEXT_IDS, .span_id = 9};
	r.bytes = 0;
	add(&r);
	assert_true(r.sample.span_id == 9);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_IDS);
	assert_int_equal(r.bytes, 0);
	assert_int_equal(r.counts.context_disagreed, 1);
	end(&r);
}

static void what_is_not_valid_is_none(void **state)
{
	static void (*const cases[])(void) = {publish_invalid, publish_nothing};
	struct reading r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		read_once(&r, cases[i], PUBLISHED_AUTO);
		assert_int_equal(r.sample.context, WEFT_CONTEXT_NONE);
		assert_int_equal(r.bytes, 0);
		assert_int_equal(r.counts.context_otel + r.counts.context_unreadable, 0);
		end(&r);
	}
}

static void what_leads_nowhere_is_counted(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_nowhere, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_NONE);
	assert_int_equal(r.bytes, 0);
	assert_int_equal(r.counts.context_unreadable, 2);
	end(&r);
}

static void what_is_too_much_is_cut(void **state)
{
	struct reading r;

	(void)state;
	read_once(&r, publish_much, PUBLISHED_AUTO);
	assert_true(label_bytes_are_sound(r.labels, (size_t)r.bytes));
	assert_in_range(r.bytes, 63 * 260, LABEL_BYTES_MAX);
	assert_false(has(&r, "k64", ""));
	end(&r);
}

/* Nobody knows of it yet; the next look is due a while later. */
static void looks_are_not_more_than_they_may_be(void **state)
{
	uint64_t now_ns = clock_mono_ns();
	struct reading r;

	(void)state;
	begin(&r, publish_record, PUBLISHED_AUTO);
	add(&r);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_NONE);
	assert_int_equal(published_look(r.published, now_ns), 1);
	assert_int_equal(published_look(r.published, now_ns), 0);
	assert_int_equal(published_look(r.published, now_ns + UINT64_C(3000000000)), 0);
	assert_int_equal(published_look(NULL, now_ns), 0);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_gives_ids_and_labels),
		cmocka_unit_test(nodejs_gives_what_a_record_gives),
		cmocka_unit_test(nodejs_may_be_read_and_have_nothing),
		cmocka_unit_test(a_set_gives_ids_and_labels),
		cmocka_unit_test(what_comes_first_stays),
		cmocka_unit_test(what_disagrees_is_left_out),
		cmocka_unit_test(one_format_alone),
		cmocka_unit_test(the_process_context_is_told),
		cmocka_unit_test(contexts_of_a_process_are_bounded),
		cmocka_unit_test(wefts_own_comes_first),
		cmocka_unit_test(what_is_not_valid_is_none),
		cmocka_unit_test(what_leads_nowhere_is_counted),
		cmocka_unit_test(what_is_too_much_is_cut),
		cmocka_unit_test(looks_are_not_more_than_they_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
