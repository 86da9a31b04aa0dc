/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting an event into a recording: a sample of four fields whose ids are known, and one
 * with a stack that must be interned first; beside a clock_gettime() of the same run. The
 * chunks, built and written, are in the figure; they go to /dev/null.
 */
#include <time.h>
#include <weft/jfr.h>

#include "harness.h"

#define FRAMES 24
#define STACKS 500

struct writing {
	struct weft_jfr_writer *writer;
	const struct weft_jfr_type *sample;
	uint64_t thread, stack;
	struct weft_jfr_frame frames[FRAMES];
};

static int start(struct writing *b)
{
	struct weft_jfr_options options = {.size = sizeof(options), .path = "/dev/null"};

	b->writer = weft_jfr_create(&options);
	if (!b->writer)
		return -1;
	b->sample = weft_jfr_standard_type(b->writer, WEFT_JFR_EXECUTION_SAMPLE);
	b->thread = weft_jfr_thread(b->writer, &(struct weft_jfr_thread){.os_id = 1}, 0);
	for (int i = 0; i < FRAMES; i++)
		b->frames[i] = (struct weft_jfr_frame){
			.method = weft_jfr_method(b->writer, "libbench.so", "function"),
			.line = i,
			.type = WEFT_JFR_FRAME_NATIVE};
	b->stack = weft_jfr_stack(b->writer, b->frames, FRAMES, 0);
	return 0;
}

static void put(struct writing *b, uint64_t i, uint64_t stack)
{
	struct weft_jfr_value v[] = {{.number = (int64_t)(1000000000000u + i)},
				     {.number = (int64_t)b->thread},
				     {.number = (int64_t)stack},
				     {.number = WEFT_JFR_STATE_RUNNABLE}};

	weft_jfr_event(b->writer, b->sample, v, 4);
}

static void put_samples(uint64_t iterations, void *arg)
{
	struct writing *b = arg;

	for (uint64_t i = 0; i < iterations; i++)
		put(b, i, b->stack);
}

static void put_stacks(uint64_t iterations, void *arg)
{
	struct writing *b = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		b->frames[FRAMES / 2].line = (int32_t)(i % STACKS);
		put(b, i, weft_jfr_stack(b->writer, b->frames, FRAMES, 0));
	}
}

static void read_clock(uint64_t iterations, void *arg)
{
	struct timespec now;

	(void)arg;
	for (uint64_t i = 0; i < iterations; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		bench_keep(&now);
	}
}

static void add(const char *operation, double ns, double clock_ns)
{
	bench_add(&(struct bench_row){.operation = operation,
				      .unit = "ns",
				      .measured = ns,
				      .baseline = "clock_gettime",
				      .base = clock_ns});
}

static void run(const struct bench_options *o)
{
	struct writing b = {0};
	struct bench_case cases[] = {
		{.run = read_clock}, {put_samples, &b, 0}, {put_stacks, &b, 0}};

	if (start(&b)) {
		bench_note("writing: no recording could be started");
		return;
	}
	bench_interleave(cases, 3, o->quick ? 1 : 7, o->quick ? 10000 : 500000);
	add("put a JFR event, ids known", cases[1].ns, cases[0].ns);
	add("... its stack of 24 frames interned", cases[2].ns, cases[0].ns);
	weft_jfr_close(b.writer);
}

const struct bench_group bench_writing = {
	.name = "writing",
	.text = "putting events into a recording",
	.run = run,
};
