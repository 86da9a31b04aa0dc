/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appending to a slot's events ring: a record of 64 bytes, its header among them. The reader
 * is played by the same thread, which moves the tail up every 64 records, so that the ring
 * is never full. Baseline: a memcpy of the same 64 bytes into a buffer of the ring's size.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "runtime/core/ring_append.h"

#define RING_BYTES WEFT_RING_BYTES_DEFAULT
#define PAYLOAD_BYTES (64 - sizeof(struct weft_record))

struct setup {
	struct weft_ring_producer producer;
	_Alignas(64) struct weft_ring_consumer consumer;
	struct ring ring;
	uint64_t payload[8];
};

static __attribute__((noinline)) void append_one(struct setup *s)
{
	const struct weft_record header = {.type = WEFT_RECORD_EVENT};
	struct ring_append a = {.ring = &s->ring,
				.frame = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
	struct weft_record *to = ring_append_open(&a, sizeof(header) + PAYLOAD_BYTES, 0);

	if (!to)
		return;
	to->generation = to->rsv = 0;
	memcpy(to + 1, s->payload, PAYLOAD_BYTES);
	ring_append_close(&a, to, &header, sizeof(header) + PAYLOAD_BYTES);
}

static void append(uint64_t iterations, void *arg)
{
	struct setup *s = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		append_one(s);
		if (i % 64 == 0)
			__atomic_store_n(&s->consumer.tail, s->producer.head, __ATOMIC_RELEASE);
	}
}

static void copy_only(uint64_t iterations, void *arg)
{
	struct setup *s = arg;

	for (uint64_t i = 0; i < iterations; i++) {
		memcpy(s->ring.data + (i * 64 & (RING_BYTES - 1)), s->payload, 64);
		bench_keep(s->ring.data);
	}
}

static void run(const struct bench_options *o)
{
	static struct setup s;
	struct bench_case cases[2] = {{.run = append, .arg = &s}, {.run = copy_only, .arg = &s}};

	s.ring = (struct ring){.producer = &s.producer,
			       .consumer = &s.consumer,
			       .data = calloc(1, RING_BYTES),
			       .bytes = RING_BYTES};
	if (!s.ring.data)
		return;
	bench_interleave(cases, 2, o->quick ? 5 : 41, o->quick ? 50000 : 500000);
	if (s.producer.written == 0)
		bench_note("ring: nothing was written");
	bench_add(&(struct bench_row){
		.operation = "append 64 bytes to a ring",
		.unit = "ns",
		.measured = cases[0].ns,
		.limit = BENCH_AT_MOST,
		.budget = 5,
		.baseline = "memcpy of 64 bytes",
		.base = cases[1].ns,
	});
	free(s.ring.data);
}

const struct bench_group bench_ring = {
	.name = "ring",
	.text = "appending to a ring",
	.run = run,
};
