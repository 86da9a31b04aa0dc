/* SPDX-License-Identifier: Apache-2.0 */
/* Description: recordings come out as the samples, contexts and facts that went in. */
#include "recordings.h"
#include "report/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static char path[] = "/tmp/weft-test-source-XXXXXX";

static struct source *open_recording(const char *name, const char *which)
{
	struct source *s;

	assert_int_equal(recordings_write(name, path), 0);
	assert_int_equal(source_open(&s, path, which), 0);
	return s;
}

/* Every sample as one line: "ms thread process leaf weight span root trace route". */
struct lines {
	struct source *source;
	char text[32][256];
	size_t count;
};

static const char *item(const struct model *m, const struct sample *s, uint32_t key)
{
	uint32_t value = context_value(&s->context, key, 0);

	return value ? names_text(&m->names, value) : "-";
}

static int keep_line(const struct sample *s, void *arg)
{
	struct lines *l = arg;
	struct model *m = source_model(l->source);
	const struct thread *t = model_thread_at(m, s->thread);
	const struct stack *stack = model_stack_at(m, s->stack);
	const char *trace = item(m, s, CONTEXT_TRACE);

	assert_true(l->count < 32);
	snprintf(l->text[l->count++], sizeof(l->text[0]), "%.6f %s %s %s/%u%s %llu %s %s %s %s",
		 (double)(s->time_ns - RECORDINGS_START_NS) / 1e6, names_text(&m->names, t->key),
		 names_text(&m->names, t->process),
		 stack->count ? names_text(&m->names, stack->frames[0].function) : "-",
		 stack->count, stack->truncated ? "+" : "", (unsigned long long)s->weight_ns,
		 item(m, s, CONTEXT_SPAN), item(m, s, CONTEXT_ROOT),
		 trace + (strlen(trace) > 3 ? strlen(trace) - 3 : 0),
		 item(m, s, names_find(&m->keys, "route") ? names_find(&m->keys, "route") : 999));
	return 0;
}

static void check_lines(struct source *s, const char *const *expected, size_t count)
{
	struct lines *l = calloc(1, sizeof(*l));

	l->source = s;
	assert_int_equal(source_read(s, SAMPLE_COUNTED, keep_line, l), 0);
	for (size_t i = 0; i < count && i < l->count; i++)
		assert_string_equal(l->text[i], expected[i]);
	assert_int_equal(l->count, count);
	free(l);
}

static void spans_of_a_later_chunk_reach_their_samples(void **state)
{
	static const char *const expected[] = {
		"10.000000 worker [101] shop [100] hash/4 5000000 00000000000000a1 "
		"00000000000000aa "
		"19c /checkout",
		"20.000000 worker [101] shop [100] hash/4 5000000 00000000000000a1 "
		"00000000000000aa "
		"19c /checkout",
		"99.999999 worker [101] shop [100] checkout/3 5000000 00000000000000a1 "
		"00000000000000aa 19c /checkout",
		"100.000000 worker [101] shop [100] walk/6 5000000 00000000000000b1 "
		"00000000000000bb 19d /search",
		"150.000000 worker [101] shop [100] walk/6 5000000 00000000000000b1 "
		"00000000000000bb 19d /search",
		"199.999999 worker [101] shop [100] walk/6 5000000 00000000000000b1 "
		"00000000000000bb 19d /search",
		"200.000000 worker [101] shop [100] idle/2 5000000 - - - -",
		"50.000000 worker [102] shop [100] hash/4 5000000 00000000000000a2 "
		"00000000000000aa "
		"19c /checkout",
		"60.000000 worker [102] shop [100] hash/4 5000000 00000000000000a2 "
		"00000000000000aa "
		"19c /checkout",
		"149.000000 worker [102] shop [100] hash/4 5000000 00000000000000a2 "
		"00000000000000aa 19c /checkout",
		"160.000000 worker [102] shop [100] idle/2 5000000 - - - -",
		"30.000000 shop [100] shop [100] idle/2 5000000 - - - -",
		"40.000000 child [200] child [200] libfoo.so+0x10/1+ 5000000 - - - -",
	};
	struct source *s = open_recording("shop", NULL);

	(void)state;
	check_lines(s, expected, sizeof(expected) / sizeof(expected[0]));
	check_lines(s, expected, sizeof(expected) / sizeof(expected[0])); /* reads again */
	source_free(s);
}

static void inline_ids_are_contexts(void **state)
{
	static const char *const expected[] = {
		"10.000000 worker [101] shop [100] hash/4 5000000 00000000000000a1 "
		"00000000000000a1 "
		"19c /checkout",
		"20.000000 worker [101] shop [100] hash/4 5000000 00000000000000a1 "
		"00000000000000a1 "
		"19c /checkout",
		"30.000000 worker [101] shop [100] hash/4 5000000 00000000000000b1 "
		"00000000000000b1 "
		"19d /search",
		"40.000000 worker [101] shop [100] hash/4 5000000 - - - -",
	};
	struct source *s = open_recording("inline", NULL);

	(void)state;
	check_lines(s, expected, sizeof(expected) / sizeof(expected[0]));
	source_free(s);
}

static void other_programs_samples(void **state)
{
	static const char *const cpu[] = {
		"20.000000 worker [101] shop [100] hash/4 30000000 fffffffffffffffe "
		"0000000000000010 - -",
		"90.000000 worker [101] shop [100] idle/2 10000000 - - - -",
	};
	static const char *const wall[] = {
		"10.000000 worker [102] shop [100] idle/2 140000000 - - - -",
	};
	struct source *s = open_recording("foreign", NULL);

	(void)state;
	check_lines(s, cpu, 2);
	source_free(s);
	s = open_recording("foreign", "wall");
	check_lines(s, wall, 1);
	source_free(s);
	s = open_recording("foreign", "profiler.WallClockSample");
	check_lines(s, wall, 1);
	source_free(s);
}

static int check_order(const struct sample *s, void *arg)
{
	struct model *m = source_model(arg);
	uint32_t id = names_find(&m->keys, "id");

	assert_int_not_equal(id, 0);
	assert_int_equal(names_find(&m->keys, "note"), 0);
	if (s->time_ns == RECORDINGS_START_NS + 20 * MS) {
		uint32_t value = context_value(&s->context, id, names_find(&m->names, "Order"));

		assert_string_equal(names_text(&m->names, value), "42");
	} else {
		assert_int_equal(context_value(&s->context, id, 0), 0);
	}
	return 0;
}

static void annotated_fields_of_any_type_are_contexts(void **state)
{
	struct source *s = open_recording("foreign", "cpu");

	(void)state;
	assert_int_equal(source_read(s, SAMPLE_COUNTED, check_order, s), 0);
	source_free(s);
}

static void facts_are_summed(void **state)
{
	struct source *s = open_recording("shop", NULL);
	const struct facts *f = source_facts(s);
	const struct model *m = source_model(s);

	(void)state;
	assert_int_equal(facts_value(f, "ring_full"), 3);
	assert_int_equal(facts_value(f, "primed_hook"), 3);
	assert_int_equal(facts_value(f, "threads"), 4);
	assert_int_equal(facts_value(f, "nested"), 0);
	assert_int_equal(facts_sum(f, "lost"), 4);
	assert_int_equal(facts_sum(f, "cut"), 1);
	assert_int_equal(f->bucket_count, 2);
	assert_int_equal(f->buckets[0].up_to, 1024);
	assert_int_equal(f->buckets[0].count, 9);
	assert_int_equal(f->buckets[1].count, 4);
	assert_int_equal(f->process_count, 2);
	assert_string_equal(names_text(&m->names, f->processes[0].end), "exited");
	assert_int_equal(f->processes[0].duration_ns, 200 * MS);
	assert_int_equal(f->start_ns, RECORDINGS_START_NS);
	assert_true(f->end_ns >= RECORDINGS_START_NS + 250 * MS);
	assert_string_equal(f->damage, "");
	source_free(s);
}

static int count_weightless(const struct sample *s, void *arg)
{
	assert_int_equal(s->weight_ns, 0);
	++*(int *)arg;
	return 0;
}

static void no_period_is_no_weight(void **state)
{
	struct source *s = open_recording("weightless", NULL);
	int count = 0;

	(void)state;
	assert_int_equal(source_read(s, SAMPLE_COUNTED, count_weightless, &count), 0);
	assert_int_equal(count, 3);
	source_free(s);
}

static int stop_at_once(const struct sample *s, void *arg)
{
	(void)s;
	++*(int *)arg;
	return -ECANCELED;
}

static void a_callback_can_stop(void **state)
{
	struct source *s = open_recording("shop", NULL);
	int count = 0;

	(void)state;
	assert_int_equal(source_read(s, SAMPLE_COUNTED, stop_at_once, &count), -ECANCELED);
	assert_int_equal(count, 1);
	source_free(s);
}

static int count_all(const struct sample *s, void *arg)
{
	(void)s;
	++*(int *)arg;
	return 0;
}

/* "TYPE ms leaf route", then the contexts by number, innermost first. */
static int keep_event(const struct sample *s, void *arg)
{
	struct lines *l = arg;
	const struct model *m = source_model(l->source);
	const struct stack *stack = model_stack_at(m, s->stack);
	uint32_t numbers[4], count = source_contexts(l->source, s, numbers, 4);
	char *out = l->text[l->count++];
	int used =
		snprintf(out, sizeof(l->text[0]), "%s %d %s %s %s", names_text(&m->names, s->type),
			 (int)((s->time_ns - RECORDINGS_START_NS) / 1000000),
			 stack->count ? names_text(&m->names, stack->frames[0].function) : "-",
			 context_value(&s->context, CONTEXT_SPAN, 0) ? "in" : "-",
			 s->kinds & SAMPLE_WAITED ? "wait" : "-");

	assert_true(weft_jfr_event_get(source_event(l->source), "startTime") != NULL);
	for (uint32_t i = 0; i < count; i++)
		used += snprintf(out + used, sizeof(l->text[0]) - (size_t)used, " %u", numbers[i]);
	return 0;
}

static void expect_events(struct source *s, unsigned int kinds, const char *const *want)
{
	struct lines l = {.source = s};

	assert_int_equal(source_read(s, kinds, keep_event, &l), 0);
	for (size_t i = 0; i < l.count; i++) {
		assert_non_null(want[i]);
		assert_string_equal(l.text[i], want[i]);
	}
	assert_null(want[l.count]);
}

/* Waits are in the contexts of their end, or else of their beginning; own frames are skipped. */
static void waits_and_contexts_are_handed_out(void **state)
{
	static const char *const waits[] = {
		"weft.LockWait 200 push - wait",     "weft.LockWait 10 push in wait 0 1",
		"weft.LockWait 30 push in wait 0 1", "weft.LockWait 110 pop in wait 2",
		"weft.LockWait 60 push in wait 3",   "weft.IOWait 95 idle in wait 2",
		"weft.IOWait 140 idle in wait 3",    NULL};
	static const char *const contexts[] = {"app.Step 5 - in - 0 1", "weft.Span 0 - in - 1",
					       "weft.Span 100 - in - 2", "weft.Span 50 - in - 3",
					       NULL};
	struct source *s = open_recording("queue", NULL);

	(void)state;
	assert_int_equal(source_facts(s)->context_count, 4);
	expect_events(s, SAMPLE_WAITED, waits);
	expect_events(s, SAMPLE_TIMED, waits);
	expect_events(s, SAMPLE_CONTEXT, contexts);
	assert_null(source_event(s));
	source_free(s);
}

static int sum_weights(const struct sample *s, void *arg)
{
	*(uint64_t *)arg += s->weight_ns;
	return 0;
}

static void any_event_type_can_be_counted(void **state)
{
	static const char *const types[] = {"weft.LockWait", "weft.Span", "app.Step"};
	static const uint64_t want[] = {47000000, 300000000, 40000000};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct source *s = open_recording("queue", types[i]);
		uint64_t found = 0;

		assert_int_equal(source_facts(s)->context_count, 4);
		assert_int_equal(source_read(s, SAMPLE_COUNTED, sum_weights, &found), 0);
		assert_int_equal(found, want[i]);
		found = 0;
		source_set_counts(s, 1);
		assert_int_equal(source_read(s, SAMPLE_COUNTED, sum_weights, &found), 0);
		assert_int_equal(found, 0);
		source_free(s);
	}
}

/* A file cut anywhere gives the samples of its whole chunks, says so, and never more. */
static void cut_files_give_what_is_whole(void **state)
{
	struct stat st;
	int last = -1, whole = 0;

	(void)state;
	assert_int_equal(recordings_write("shop", path), 0);
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size; size > 0; size -= 97) {
		struct source *s;
		int rc, count = 0;

		assert_int_equal(truncate(path, size), 0);
		rc = source_open(&s, path, NULL);
		if (rc) {
			assert_int_equal(rc, -EBADMSG);
			continue;
		}
		assert_int_equal(source_read(s, SAMPLE_COUNTED, count_all, &count), 0);
		if (size < st.st_size && count != last)
			whole++;
		if (size == st.st_size)
			assert_int_equal(count, 13);
		else if (count)
			assert_true(count == 13 || count == 9);
		last = count;
		source_free(s);
	}
	assert_true(whole >= 1);
}

static void what_is_no_recording_is_refused(void **state)
{
	struct source *s;
	int fd;

	(void)state;
	assert_int_equal(source_open(&s, "/nonexistent/file.jfr", NULL), -ENOENT);
	assert_int_equal(source_open(&s, "/", NULL), -EISDIR);
	assert_int_equal(recordings_write("shop", path), 0);
	assert_int_equal(source_open(&s, path, "spam"), -EINVAL);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd,
			       "no recording at all, but long enough to look at: "
			       "eighty bytes of plain text, more or less",
			       80),
			 80);
	close(fd);
	assert_int_equal(source_open(&s, path, NULL), -EBADMSG);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	return fd < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_of_a_later_chunk_reach_their_samples),
		cmocka_unit_test(inline_ids_are_contexts),
		cmocka_unit_test(other_programs_samples),
		cmocka_unit_test(annotated_fields_of_any_type_are_contexts),
		cmocka_unit_test(facts_are_summed),
		cmocka_unit_test(no_period_is_no_weight),
		cmocka_unit_test(waits_and_contexts_are_handed_out),
		cmocka_unit_test(any_event_type_can_be_counted),
		cmocka_unit_test(a_callback_can_stop),
		cmocka_unit_test(cut_files_give_what_is_whole),
		cmocka_unit_test(what_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
