/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setting a context and reading it in the handler. The set is what a program compiles in
 * from weft/context.h; the read is the inline function that the sampling handler uses.
 * The baseline is the same set with one full barrier, as sequentially consistent stores
 * would have it.
 */
#include <weft/context.h>

#include "base/context_snapshot.h"
#include "harness.h"

static void set_ids(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		weft_context_set(i, ~i);
		bench_keep(arg);
	}
}

/* weft_context_set() but for the last store. */
static void set_ids_full_barrier(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		struct weft_context_v1 *v1 = &weft_thread_own_slot()->context;

		__atomic_store_n(&v1->checksum, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&v1->span_id, i, __ATOMIC_RELEASE);
		__atomic_store_n(&v1->root_span_id, ~i, __ATOMIC_RELEASE);
		__atomic_store_n(&v1->checksum, weft_context_v1_checksum(i, ~i), __ATOMIC_SEQ_CST);
		bench_keep(arg);
	}
}

static void set_trace(uint64_t iterations, void *arg)
{
	const struct weft_context *context = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		weft_context_set_trace(i, 7, context->trace_id, 1);
		bench_keep(arg);
	}
}

static void write_whole(uint64_t iterations, void *arg)
{
	struct weft_context *context = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		context->span_id = i;
		weft_context_write(context);
	}
}

static void enter_and_leave(uint64_t iterations, void *arg)
{
	struct weft_context *context = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		context->span_id = i;
		WEFT_SCOPE (context) {
			bench_keep(context);
		}
	}
}

static void set_tag(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		weft_tag_set(0, (uint32_t)i);
		bench_keep(arg);
	}
}

static void read_in_handler(uint64_t iterations, void *arg)
{
	struct weft_context_snapshot out;

	for (uint64_t i = 0; i < iterations; i++) {
		weft_context_snapshot(weft_thread_slot, &out);
		bench_keep(&out);
	}
	bench_keep(arg);
}

enum { SET, BARRIER, TRACE, WRITE, SCOPE, TAG, READ, CASES };

static void add(const char *operation, double ns, double budget, const char *baseline, double base)
{
	bench_add(&(struct bench_row){
		.operation = operation,
		.unit = "ns",
		.measured = ns,
		.limit = budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
		.budget = budget,
		.baseline = baseline,
		.base = base,
	});
}

static void add_percentiles(const struct bench_case *c, const char *what, size_t samples)
{
	struct bench_percentiles p;

	bench_percentiles(c, 64, samples, &p);
	add(bench_text("%s: P50", what), p.p50, 0, NULL, 0);
	add(bench_text("%s: P99", what), p.p99, 0, "P50", p.p50);
	add(bench_text("%s: P999", what), p.p999, 0, "P50", p.p50);
	bench_note("%s: percentiles over %zu batches of 64, resolution %.3f ns", what, samples,
		   p.resolution);
}

static void run(const struct bench_options *o)
{
	struct weft_context context = {.root_span_id = 7, .trace_id = {1, 2, 3}, .trace_flags = 1};
	struct bench_case cases[CASES] = {
		[SET] = {.run = set_ids},
		[BARRIER] = {.run = set_ids_full_barrier},
		[TRACE] = {.run = set_trace, .arg = &context},
		[WRITE] = {.run = write_whole, .arg = &context},
		[SCOPE] = {.run = enter_and_leave, .arg = &context},
		[TAG] = {.run = set_tag},
		[READ] = {.run = read_in_handler},
	};

	if (!weft_thread_own_slot()) {
		bench_note("context: this thread got no slot");
		return;
	}
	weft_context_write(&context);
	bench_interleave(cases, CASES, o->quick ? 5 : 41, o->quick ? 100000 : 1000000);
	add("set context: ids + checksum", cases[SET].ns, 1.5, "with a full barrier",
	    cases[BARRIER].ns);
	bench_add(&(struct bench_row){
		.operation = "  full barrier / set",
		.unit = "x",
		.measured = cases[BARRIER].ns / cases[SET].ns,
		.limit = BENCH_AT_LEAST,
		.budget = 5,
	});
	add("set context: with trace id and seq", cases[TRACE].ns, 2.5, "ids + checksum",
	    cases[SET].ns);
	add("write context: all of it, ten tags too", cases[WRITE].ns, 0, "ids + checksum",
	    cases[SET].ns);
	add("scope: enter and leave", cases[SCOPE].ns, 0, "ids + checksum", cases[SET].ns);
	add("set a tag", cases[TAG].ns, 0, "ids + checksum", cases[SET].ns);
	add("read context in the handler", cases[READ].ns, 2.5, "ids + checksum", cases[SET].ns);
	add_percentiles(&cases[SET], "set context", o->quick ? 5000 : 200000);
	add_percentiles(&cases[READ], "read context", o->quick ? 5000 : 200000);
}

const struct bench_group bench_context = {
	.name = "context",
	.text = "setting a context, and reading it in the handler",
	.run = run,
};
