/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of goroutines, as samples from outside get them. A forked child lays out what a Go runtime
 * has, and this program says of itself that it is Go's: by the section that Go's linker makes, and
 * the symbol by which its threads are found.
 */
#include "collector/look/published.h"

#include "base/clock.h"
#include "reader/context/go_program.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The magic, the size of a pointer, a flag, and at 32 the version behind its length. */
__attribute__((section(".go.buildinfo"), used, aligned(16))) char build_info[64] =
	"\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08go1.26.3";
__attribute__((used)) uint64_t *all_ms __asm__("runtime.allm");

/* ---- the child's part */

static uint64_t m[64], g0[64], g[64], list[3], pair[3][4];

static void put_word(uint64_t *at, uint64_t offset, const void *value)
{
	at[offset / 8] = (uint64_t)(uintptr_t)value;
}

static void put_label(int i, const char *key, const char *value)
{
	pair[i][0] = (uint64_t)(uintptr_t)key;
	pair[i][1] = strlen(key);
	pair[i][2] = (uint64_t)(uintptr_t)value;
	pair[i][3] = strlen(value);
	list[1] = (uint64_t)i + 1;
}

static void be_go(void)
{
	const struct go_layout *l = go_layout_of("go1.26.3");

	put_word(m, GO_M_G0, g0);
	put_word(g0, GO_G_M, m);
	put_word(g, GO_G_M, m);
	put_word(m, l->m_curg, g);
	put_word(g, l->g_labels, list);
	m[l->m_procid / 8] = (uint64_t)getpid();
	list[0] = (uint64_t)(uintptr_t)pair;
	all_ms = m;
}

static void label(void)
{
	be_go();
	put_label(0, "tenant", "acme");
}

static void label_spans(void)
{
	be_go();
	put_label(0, "local root span id", "204");
	put_label(1, "span id", "17");
	put_label(2, "tenant", "acme");
}

static void lead_nowhere(void)
{
	label();
	pair[0][0] = 16;
}

static void run_no_goroutine(void)
{
	label();
	put_word(m, go_layout_of("go1.26.3")->m_curg, NULL);
}

/* ---- one reading of it */

struct reading {
	pid_t child;
	struct process process;
	struct session_counts counts;
	struct published *published;
	struct published_thread thread;
	struct weft_sample_record sample;
	int bytes, found;
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
		prctl(PR_SET_PDEATHSIG, SIGKILL);
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
	r->found = published_look(r->published, clock_mono_ns());
	r->bytes = published_add(r->published, &r->thread, r->child, &r->sample, r->labels, 0);
}

static void end(struct reading *r)
{
	published_free(r->published);
	process_leave(&r->process);
	free(r->process.command_line);
	kill(r->child, SIGKILL);
	waitpid(r->child, NULL, 0);
}

static const struct weft_sample_label tenant_head = {6, 4};

static void assert_tenant_alone(const struct reading *r)
{
	assert_int_equal(r->bytes, sizeof(tenant_head) + 10);
	assert_memory_equal(r->labels, &tenant_head, sizeof(tenant_head));
	assert_memory_equal(r->labels + sizeof(tenant_head), "tenantacme", 10);
}

static void labels_of_the_goroutine_are_the_threads(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, label, PUBLISHED_AUTO);
	assert_int_equal(r.found, 1);
	assert_tenant_alone(&r);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_NONE);
	assert_int_equal(r.counts.context_go, 1);
	/* Weft's own stay alone. */
	r.bytes = published_add(r.published, &r.thread, r.child, &r.sample, r.labels, r.bytes);
	assert_tenant_alone(&r);
	assert_int_equal(r.counts.context_go, 1);
	end(&r);
}

static void spans_are_ids_and_no_labels(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, label_spans, PUBLISHED_AUTO);
	assert_int_equal(r.sample.context, WEFT_CONTEXT_IDS);
	assert_true(r.sample.span_id == 17 && r.sample.root_span_id == 204);
	assert_tenant_alone(&r);
	end(&r);
}

static void what_is_not_there_is_not_told(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, run_no_goroutine, PUBLISHED_AUTO);
	assert_int_equal(r.bytes, 0);
	assert_int_equal(r.counts.context_go + r.counts.context_unreadable, 0);
	end(&r);
	begin(&r, lead_nowhere, PUBLISHED_AUTO);
	assert_int_equal(r.bytes, 0);
	assert_int_equal(r.counts.context_go, 0);
	assert_int_equal(r.counts.context_unreadable, 1);
	end(&r);
}

static void who_asks_for_others_gets_none(void **state)
{
	static const enum published_from others[] = {PUBLISHED_WEFT, PUBLISHED_OTEL,
						     PUBLISHED_LABELS};
	struct reading r;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		begin(&r, label, others[i]);
		assert_int_equal(r.bytes, 0);
		assert_int_equal(r.counts.context_go, 0);
		end(&r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_the_goroutine_are_the_threads),
		cmocka_unit_test(spans_are_ids_and_no_labels),
		cmocka_unit_test(what_is_not_there_is_not_told),
		cmocka_unit_test(who_asks_for_others_gets_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
