/* SPDX-License-Identifier: Apache-2.0 */
/* The worker thread: see worker.h. */
#include "collector/worker.h"

#include "base/recording.h"
#include "collector/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_SLACK_NS UINT64_C(20000000) /* CPU timers count in ticks of the kernel */

static struct process_thread *thread_of(struct worker *w, const struct batch *b)
{
	int fresh;
	struct process_thread *t =
		process_thread(b->process, b->thread.slot, b->thread.generation, &fresh);

	if (!t)
		return NULL;
	if (fresh || strcmp(t->name, b->thread.name) != 0) {
		memcpy(t->name, b->thread.name, sizeof(t->name));
		t->named = 0;
	}
	if (!fresh)
		return t->key ? t : NULL;
	t->tid = b->thread.tid;
	if (b->thread.claimed_ns >= b->process->opened_ns)
		t->previous_ns = b->thread.claimed_ns;
	return recording_thread(w->recording, b->process, t) ? NULL : t;
}

/* No thread can have used more CPU time than has passed: a target that says so is not to
 * fill the disk. */
static uint32_t weight_of(const struct worker *w, const struct process_thread *t,
			  const struct process *p, const struct weft_sample_record *sample)
{
	uint64_t since = t->sampled ? t->previous_ns : p->opened_ns;
	uint64_t passed = sample->time_ns > since ? sample->time_ns - since : 0;
	uint64_t most = (passed + TICK_SLACK_NS) / w->period_ns + 1;

	return sample->weight < most ? sample->weight : (uint32_t)most;
}

static void count_walk(struct process *p, const struct walked_sample *walked)
{
	if (walked->cut)
		p->own.counter[walked->cut - 1]++;
	if (walked->check)
		p->own.counter[walked->check - 1]++;
}

static void take_samples(struct worker *w, const struct batch *b)
{
	struct process_thread *t = thread_of(w, b);
	size_t at = 0;

	if (!t) {
		w->error = w->error ? w->error : -ENOMEM;
		return;
	}
	while (at < b->bytes) {
		struct walked_sample *walked = (void *)(uintptr_t)(b->data + at);
		struct weft_sample_record *sample = &walked->sample;
		struct recording_stack stack;

		naming_stack(&w->naming, b->process, walked, &stack);
		count_walk(b->process, walked);
		sample->weight = weight_of(w, t, b->process, sample);
		recording_sample(w->recording, b->process, t, sample, &stack);
		t->sampled = 1;
		at += walked->bytes;
	}
}

static void end_thread(struct worker *w, const struct batch *b)
{
	int fresh;
	struct process_thread *t =
		process_thread(b->process, b->thread.slot, b->thread.generation, &fresh);

	if (t && !fresh)
		recording_thread_end(w->recording, b->process, t);
	process_thread_drop(b->process, b->thread.slot, b->thread.generation);
}

static void add_counts(struct session_counts *sum, const struct session_counts *one)
{
	uint64_t high = sum->slots_high > one->slots_high ? sum->slots_high : one->slots_high;
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)one;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
	sum->slots_high = high;
}

static void close_process(struct worker *w, const struct batch *b)
{
	struct process *p = b->process;

	memcpy(&p->counted, b->data, sizeof(p->counted));
	process_take_counts(p);
	add_counts(&w->total, &p->counted);
	add_counts(&w->total, &p->own);
	recording_process_end(w->recording, p, b->time_ns, b->end);
}

static void publish(struct worker *w)
{
	struct recording_written written;

	recording_written(w->recording, &written);
	__atomic_store_n(&w->bytes, written.bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&w->samples, written.samples, __ATOMIC_RELAXED);
	if (written.error)
		__atomic_store_n(&w->error, written.error, __ATOMIC_RELAXED);
	if (recording_is_full(w->recording))
		__atomic_store_n(&w->roll_wanted, 1, __ATOMIC_RELAXED);
}

static int dispatch(struct worker *w, const struct batch *b)
{
	switch (b->kind) {
	case BATCH_OPEN:
		recording_process_begin(w->recording, b->process);
		break;
	case BATCH_SAMPLES: /* of the walker */
		break;
	case BATCH_WALKED:
		take_samples(w, b);
		break;
	case BATCH_THREAD_END:
		end_thread(w, b);
		break;
	case BATCH_COUNTS:
		memcpy(&b->process->counted, b->data, sizeof(b->process->counted));
		break;
	case BATCH_CLOSE:
		close_process(w, b);
		break;
	case BATCH_ROLL:
		recording_roll(w->recording, b->time_ns);
		break;
	case BATCH_FINISH:
		return 0;
	}
	return 1;
}

void *worker_run(void *arg)
{
	struct worker *w = arg;
	int more = 1;

	while (more) {
		struct batch *b = queue_pop(w->queue);

		more = dispatch(w, b);
		publish(w);
		free(b);
	}
	return NULL;
}
