/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots from another core while the owner writes as fast as it can: never a mix. Meant
 * for ThreadSanitizer too.
 */
#include <pthread.h>
#include <string.h>

#include <weft/context.h>

#include "base/context_snapshot.h"
#include "unit.h"

#define READS 200000

static struct weft_slot *watched;
static int stop;

/* Everything in a context tells its number. */
static struct weft_context numbered(uint32_t n)
{
	struct weft_context c = {.span_id = n, .root_span_id = ~(uint64_t)n, .trace_flags = n};

	memcpy(c.trace_id, &n, sizeof(n));
	memcpy(c.trace_id + 12, &n, sizeof(n));
	for (int i = 0; i < WEFT_TAGS; i++)
		c.tags[i] = n;
	return c;
}

static void *owner(void *arg)
{
	(void)arg;
	weft_context_clear();
	__atomic_store_n(&watched, weft_thread_slot, __ATOMIC_RELEASE);
	for (uint32_t n = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n = n % 1000000 + 1) {
		struct weft_context c = numbered(n);

		weft_context_write(&c);
		if (n % 5 == 0)
			weft_context_set(n + 2000000, 1);
	}
	return NULL;
}

static int is_mixed(const struct weft_context_snapshot *s)
{
	struct weft_context c = numbered(s->tags[0]);

	return s->span_id != c.span_id || s->root_span_id != c.root_span_id ||
	       memcmp(s->trace_id, c.trace_id, 16) || memcmp(s->tags, c.tags, sizeof(c.tags)) ||
	       s->trace_flags != c.trace_flags;
}

static void remote_snapshots_are_whole(void **state)
{
	uint64_t whole = 0, busy = 0;
	pthread_t t;

	(void)state;
	pthread_create(&t, NULL, owner, NULL);
	while (!__atomic_load_n(&watched, __ATOMIC_ACQUIRE))
		;
	for (int i = 0; i < READS || (!whole && i < 100 * READS); i++) {
		struct weft_context_snapshot s;
		enum weft_sample_context found = weft_context_snapshot_remote(watched, &s);

		assert_int_not_equal(found, WEFT_CONTEXT_BAD);
		whole += found == WEFT_CONTEXT_TRACE;
		busy += found == WEFT_CONTEXT_BUSY;
		if (found == WEFT_CONTEXT_TRACE && is_mixed(&s))
			fail_msg("mixed: span %lu tag %u", s.span_id, s.tags[0]);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	print_message("%lu whole, %lu busy of %d\n", whole, busy, READS);
	assert_true(whole > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(remote_snapshots_are_whole)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
