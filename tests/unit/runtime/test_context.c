/* SPDX-License-Identifier: Apache-2.0 */
/* Context v1: checksum vectors, writes, reads, scopes, tags, isolation of threads. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/context.h>

#include "../../own_session.h"
#include "base/context_snapshot.h"
#include "children.h"
#include "unit.h"

static void checksum_vectors(void **state)
{
	FILE *f = fopen(getenv("WEFT_VECTORS"), "r");
	uint64_t span, root, sum;
	char line[128];
	int count = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &span, &root, &sum) != 3)
			continue;
		assert_int_equal(weft_context_v1_checksum(span, root), sum);
		count++;
	}
	fclose(f);
	assert_true(count > 400);
}

/* A mix of one old and one new id never validates, but for the alias of 0. */
static void mixes_never_validate(void **state)
{
	uint64_t x = 88172645463325252u, ids[4];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		for (int j = 0; j < 4; j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			ids[j] = i % 4 == 0 && j > 1 ? ids[j - 2] ^ (UINT64_C(1) << (x & 63)) : x;
		}
		assert_true(ids[0] != ids[2] && ids[1] != ids[3]);
		assert_int_not_equal(weft_context_v1_checksum(ids[2], ids[1]),
				     weft_context_v1_checksum(ids[0], ids[1]));
		assert_int_not_equal(weft_context_v1_checksum(ids[2], ids[1]),
				     weft_context_v1_checksum(ids[2], ids[3]));
	}
}

static void set_returns_what_was_there(void **state)
{
	struct weft_ids old;
	struct weft_context c;

	(void)state;
	weft_context_clear();
	assert_int_equal(weft_context_read(&c), WEFT_CONTEXT_NONE);
	old = weft_context_set(11, 22);
	assert_int_equal(old.span_id, 0);
	old = weft_context_set(33, 44);
	assert_int_equal(old.span_id, 11);
	assert_int_equal(old.root_span_id, 22);
	weft_context_set(old.span_id, old.root_span_id);
	assert_int_equal(weft_context_get().span_id, 11);
	assert_int_equal(weft_context_read(&c), WEFT_CONTEXT_IDS);
	weft_context_set(0, 0);
	assert_int_equal(weft_context_read(&c), WEFT_CONTEXT_NONE);
}

static struct weft_context sample_context(void)
{
	struct weft_context c = {.span_id = 1, .root_span_id = 2, .trace_flags = 1};

	memset(c.trace_id, 0x5A, sizeof(c.trace_id));
	c.tags[0] = 7;
	c.tags[9] = 9;
	return c;
}

static void trace_id_stays_with_its_ids(void **state)
{
	struct weft_context c = sample_context(), seen;

	(void)state;
	weft_context_write(&c);
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
	assert_memory_equal(&seen, &c, sizeof(c));
	weft_context_set(1, 3);
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_IDS);
	assert_int_equal(seen.trace_id[0], 0);
	assert_int_equal(seen.trace_flags, 0);
	assert_int_equal(seen.tags[9], 9);
	weft_context_set(1, 2);
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
	weft_context_clear();
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_NONE);
	assert_int_equal(seen.tags[9], 0);
}

static void set_trace_leaves_tags(void **state)
{
	struct weft_context c = sample_context(), seen;

	(void)state;
	weft_context_write(&c);
	c.trace_id[3] = 1;
	c.trace_flags = 0;
	weft_context_set_trace(3, 4, c.trace_id, 0);
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
	c.span_id = 3;
	c.root_span_id = 4;
	assert_memory_equal(&seen, &c, sizeof(c));
	weft_context_set_trace_all(5, 6, c.trace_id, 1);
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
	assert_int_equal(seen.span_id, 5);
	assert_int_equal(seen.tags[9], 9);
	assert_int_equal(weft_thread_slot->ext.seq & 1, 0);
}

static int leave_by_return(const struct weft_context *c)
{
	WEFT_SCOPE (c) {
		assert_int_equal(weft_context_get().span_id, 1);
		return 1;
	}
	return 0;
}

static void scopes_nest_and_restore(void **state)
{
	struct weft_context outer = sample_context(), inner = {.span_id = 5}, seen;

	(void)state;
	weft_context_clear();
	WEFT_SCOPE (&outer) {
		WEFT_SCOPE (&inner) {
			assert_int_equal(weft_context_get().span_id, 5);
			weft_tag_set(3, 3);
			break;
		}
		assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
		assert_memory_equal(&seen, &outer, sizeof(seen));
	}
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_NONE);
	assert_int_equal(leave_by_return(&outer), 1);
	assert_int_equal(weft_context_get().span_id, 0);
}

/* What a handler finds between any two stores of a write, and puts back. */
static void scope_in_the_middle_of_a_write(void **state)
{
	struct weft_context c = sample_context(), seen;
	struct weft_slot *slot;

	(void)state;
	weft_context_write(&c);
	slot = weft_thread_slot;
	slot->ext.seq++;
	slot->context.checksum = 0;
	slot->context.span_id = 77;
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_BUSY);
	assert_int_equal(seen.span_id, 0);
	c.span_id = 88;
	WEFT_SCOPE (&c) {
		assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
		assert_int_equal(seen.span_id, 88);
	}
	assert_int_equal(slot->ext.seq & 1, 1);
	assert_int_equal(slot->context.checksum, 0);
	assert_int_equal(slot->context.span_id, 77);
	weft_context_write(&c); /* the abandoned write is healed by the next one */
	assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
}

static void snapshots_tell_busy_and_bad(void **state)
{
	static struct weft_slot slot;
	struct weft_context_snapshot s;

	(void)state;
	slot.context.span_id = 4;
	assert_int_equal(weft_context_snapshot(&slot, &s), WEFT_CONTEXT_BUSY);
	assert_int_equal(weft_context_snapshot_remote(&slot, &s), WEFT_CONTEXT_BUSY);
	slot.context.checksum = 12345;
	assert_int_equal(weft_context_snapshot(&slot, &s), WEFT_CONTEXT_BAD);
	assert_int_equal(weft_context_snapshot_remote(&slot, &s), WEFT_CONTEXT_BAD);
	assert_int_equal(s.span_id, 0);
	slot.context.checksum = weft_context_v1_checksum(4, 0);
	assert_int_equal(weft_context_snapshot(&slot, &s), WEFT_CONTEXT_IDS);
	assert_int_equal(weft_context_snapshot_remote(&slot, &s), WEFT_CONTEXT_IDS);
	assert_int_equal(s.span_id, 4);
	slot.ext.seq = 1;
	assert_int_equal(weft_context_snapshot(&slot, &s), WEFT_CONTEXT_BUSY);
	assert_int_equal(weft_context_snapshot_remote(&slot, &s), WEFT_CONTEXT_BUSY);
}

static void tags_are_interned_once(void **state)
{
	char name[32];
	uint32_t id = weft_tag_intern("/checkout"), many[1000];

	(void)state;
	assert_int_not_equal(id, 0);
	assert_int_equal(weft_tag_intern("/checkout"), id);
	assert_int_not_equal(weft_tag_intern("/checkou"), id);
	assert_int_not_equal(weft_tag_intern(""), 0);
	assert_int_equal(weft_tag_intern(NULL), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "value %d", i);
		many[i] = weft_tag_intern(name);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "value %d", i);
		assert_int_equal(weft_tag_intern(name), many[i]);
	}
	assert_int_equal(weft_tag_name(0, "route"), 0);
	assert_int_equal(weft_tag_name(0, "route"), 0);
	assert_true(weft_tag_name(0, "user") < 0);
	assert_true(weft_tag_name(WEFT_TAGS, "x") < 0);
	assert_true(weft_tag_name(1, "") < 0);
	assert_int_equal(weft_tag_set(2, id), 0);
	assert_int_equal(weft_tag_set(2, 0), id);
	assert_int_equal(weft_tag_set(WEFT_TAGS, 1), 0);
}

struct isolated {
	pthread_barrier_t *barrier;
	uint64_t id;
	struct weft_slot *slot;
};

static void *isolated_thread(void *arg)
{
	struct isolated *t = arg;

	for (int i = 0; i < 100; i++) {
		weft_context_set(t->id + (uint64_t)i, t->id);
		pthread_barrier_wait(t->barrier);
		if (weft_context_get().span_id != t->id + (uint64_t)i)
			return NULL;
		pthread_barrier_wait(t->barrier);
	}
	t->slot = weft_thread_slot;
	pthread_barrier_wait(t->barrier); /* both are alive */
	return t;
}

static void two_threads_are_isolated(void **state)
{
	pthread_barrier_t barrier;
	struct isolated a = {&barrier, 1000, NULL}, b = {&barrier, 2000, NULL};
	pthread_t ta, tb;
	void *ra, *rb;

	(void)state;
	weft_context_set(42, 43);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&ta, NULL, isolated_thread, &a);
	pthread_create(&tb, NULL, isolated_thread, &b);
	pthread_join(ta, &ra);
	pthread_join(tb, &rb);
	assert_non_null(ra);
	assert_non_null(rb);
	assert_ptr_not_equal(a.slot, b.slot);
	assert_ptr_not_equal(a.slot, weft_thread_slot);
	assert_int_equal(weft_context_get().span_id, 42);
	pthread_barrier_destroy(&barrier);
}

static void *slot_of_thread(void *arg)
{
	weft_context_set(1, 1);
	*(struct weft_slot **)arg = weft_thread_slot;
	return NULL;
}

/* Released by the key's destructor: the next thread gets the same one. */
static void ended_threads_give_back(void **state)
{
	struct weft_slot *first = NULL, *second = NULL;
	pthread_t t;

	(void)state;
	pthread_create(&t, NULL, slot_of_thread, &first);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, slot_of_thread, &second);
	pthread_join(t, NULL);
	assert_non_null(first);
	assert_ptr_equal(first, second);
}

static void children_own_a_copy(void **state)
{
	uint32_t id = weft_tag_intern("kept");
	struct weft_slot *mine;
	pid_t child;

	(void)state;
	weft_context_set(10, 20);
	mine = weft_thread_slot;
	child = fork();
	if (child == 0) {
		int good = weft_context_get().span_id == 10 && weft_thread_slot != mine &&
			   weft_tag_intern("kept") == id;

		weft_context_set(99, 99);
		_exit(good ? 0 : 1);
	}
	assert_int_equal(child_status(child), 0);
	assert_int_equal(weft_context_get().span_id, 10);
}

/* No handler of ours runs at _Fork: the wiped guard word tells. */
static void unannounced_children_notice(void **state)
{
	struct weft_slot *mine;
	pid_t child;

	(void)state;
	if (!forks_wipe())
		skip();
	weft_context_set(10, 20);
	mine = weft_thread_slot;
	child = _Fork();
	if (child == 0) {
		weft_context_set(99, 99);
		_exit(weft_context_get().span_id == 99 && weft_thread_slot != mine ? 0 : 1);
	}
	assert_int_equal(child_status(child), 0);
	assert_int_equal(weft_context_get().span_id, 10);
}

/* Nor do their strings come into their parent's dictionary. */
static void unannounced_children_keep_their_strings(void **state)
{
	const struct weft_session_header *h = own_session();
	uint64_t head;
	pid_t child;

	(void)state;
	if (!forks_wipe() || !h)
		skip();
	weft_context_set(10, 20);
	weft_tag_intern("its parent's");
	head = h->dict_head;
	assert_true(head > 0);
	child = _Fork();
	if (child == 0) {
		uint32_t id = weft_tag_intern("an unannounced child's");

		weft_tag_name(5, "also its own");
		_exit(id && weft_tag_intern("an unannounced child's") == id ? 0 : 1);
	}
	assert_int_equal(child_status(child), 0);
	assert_int_equal(h->dict_head, head);
	weft_tag_intern("its parent's second");
	assert_true(h->dict_head > head);
}

/* A second thread of a child begins the child's session. */
static void children_have_threads(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		struct weft_slot *slot = NULL;
		pthread_t t;

		weft_context_set(1, 2);
		pthread_create(&t, NULL, slot_of_thread, &slot);
		pthread_join(t, NULL);
		_exit(slot && slot != weft_thread_slot && weft_context_get().span_id == 1 ? 0 : 1);
	}
	assert_int_equal(child_status(child), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksum_vectors),
		cmocka_unit_test(mixes_never_validate),
		cmocka_unit_test(set_returns_what_was_there),
		cmocka_unit_test(trace_id_stays_with_its_ids),
		cmocka_unit_test(set_trace_leaves_tags),
		cmocka_unit_test(scopes_nest_and_restore),
		cmocka_unit_test(scope_in_the_middle_of_a_write),
		cmocka_unit_test(snapshots_tell_busy_and_bad),
		cmocka_unit_test(tags_are_interned_once),
		cmocka_unit_test(two_threads_are_isolated),
		cmocka_unit_test(ended_threads_give_back),
		cmocka_unit_test(children_own_a_copy),
		cmocka_unit_test(unannounced_children_notice),
		cmocka_unit_test(unannounced_children_keep_their_strings),
		cmocka_unit_test(children_have_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
