/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wall engine sees of any process, by the parts that `weft record -e wall` is made of:
 *
 *   wall-stack PID [MILLISECONDS]    a line for each sample: "TID STATE SCANNED PC..."
 *
 * The addresses as a debugger tells them: the leaf's pc, then return addresses. At the end
 * "counters TAKEN REPEATED MOVED UNREADABLE".
 */
#include "base/clock.h"
#include "collector/look/wall.h"
#include "collector/walk/modules.h"
#include "collector/walk/process_walk.h"
#include "collector/walk/table_cache.h"
#include "collector/walk/tables.h"
#include "collector/walk/walking.h"
#include "collector/write/process_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PERIOD_NS UINT64_C(10000000)

struct seen {
	struct process *process;
	struct wall *wall;
	struct threads *threads;
	struct queue queue;
	struct session_counts counts;
	struct walking walking;
	struct tables tables;
	struct table_cache cache;
};

static void thread_new(void *arg, struct watched_thread *t)
{
	wall_thread_new(((struct seen *)arg)->wall, t);
}

static void thread_dead(void *arg, struct watched_thread *t)
{
	struct seen *s = arg;

	if (s->wall)
		wall_thread_dead(s->wall, t, clock_mono_ns());
}

/* No runtime lies in it: an empty session stands for what it would have shared. */
static int begin(struct seen *s, pid_t pid)
{
	static const struct wall_options options = {.period_ns = PERIOD_NS};
	struct threads_callbacks callbacks = {thread_new, thread_dead, NULL, s};

	if (process_new(&s->process, pid) || queue_init(&s->queue, 64 << 20))
		return -1;
	s->process->inside_pid = pid;
	s->process->opened_ns = clock_mono_ns();
	s->process->layout.total_bytes = sizeof(struct weft_session_header);
	s->process->base = mmap(NULL, s->process->layout.total_bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tables_open(&s->tables, UINT64_C(64) << 20);
	table_cache_open(&s->cache, 0);
	s->walking.tables = &s->tables;
	s->walking.modules = modules_new(&s->tables, &s->cache);
	s->wall = wall_new(s->process, &options, &s->queue, &s->counts);
	s->threads = threads_new(s->process, &callbacks);
	if (s->process->base == MAP_FAILED || !s->walking.modules || !s->wall || !s->threads)
		return -1;
	return threads_look(s->threads, clock_mono_ns()) < 0 ? -1 : 0;
}

static uint64_t address_of(const struct process *p, const struct walked_frame *f)
{
	for (size_t i = 0; i < p->walk->maps.count; i++) {
		const struct mapping *m = p->walk->maps.item[i];

		if (m->code == f->code && m->has_bias && f->address + m->bias >= m->start &&
		    f->address + m->bias < m->end)
			return f->address + m->bias;
	}
	return 0;
}

static void print_sample(struct seen *s, const struct weft_sample_record *sample, int32_t tid)
{
	static _Alignas(8) uint8_t space[WALKED_BYTES_MAX];
	struct walked_sample *walked = (void *)space;

	walking_sample(&s->walking, s->process, sample, clock_mono_ns(), walked);
	printf("%d %d %d", (int)tid, sample->state, walked->stack.scanned);
	for (size_t i = 0; i < walked->stack.frame_count; i++)
		printf(" %" PRIx64,
		       address_of(s->process, &walked_frames(&walked->stack)[i]) + (i > 0));
	printf("\n");
}

static void take(struct seen *s)
{
	while (s->queue.first) {
		struct batch *b = queue_pop(&s->queue);
		const struct wall_word *word = (const void *)b->data;

		if (word->kind == WALL_SAMPLE)
			print_sample(s, (const void *)(word + 1), b->thread.tid);
		free(b);
	}
}

/* For so long, but for the time that walking takes: a first table may take longer than that. */
static void watch(struct seen *s, uint64_t ns)
{
	uint64_t until_ns = clock_mono_ns() + ns, now_ns;

	process_look(s->process, s->process->opened_ns);
	while ((now_ns = clock_mono_ns()) < until_ns) {
		uint64_t due_ns = wall_tick(s->wall, s->threads, now_ns, 100000000);
		struct timespec until = {(time_t)(due_ns / 1000000000),
					 (long)(due_ns % 1000000000)};

		now_ns = clock_mono_ns();
		take(s);
		until_ns += clock_mono_ns() - now_ns;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

static void end(struct seen *s)
{
	wall_free(s->wall, clock_mono_ns());
	s->wall = NULL;
	threads_free(s->threads);
	take(s);
	modules_free(s->walking.modules);
	table_cache_close(&s->cache);
	tables_close(&s->tables);
	process_free(s->process);
	queue_destroy(&s->queue);
}

int main(int argc, char **argv)
{
	static struct seen s;
	const uint64_t *c = s.counts.counter;

	if (argc < 2 || begin(&s, atoi(argv[1]))) {
		fprintf(stderr, "usage: wall-stack PID [MILLISECONDS]\n");
		return 1;
	}
	watch(&s, (argc > 2 ? strtoull(argv[2], NULL, 10) : 300) * 1000000);
	end(&s);
	printf("counters %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       c[WEFT_COUNTER_WALL_TAKEN], c[WEFT_COUNTER_WALL_REPEATED],
	       c[WEFT_COUNTER_WALL_MOVED], c[WEFT_COUNTER_WALL_UNREADABLE]);
	return 0;
}
