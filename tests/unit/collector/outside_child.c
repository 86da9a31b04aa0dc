/* SPDX-License-Identifier: Apache-2.0 */
/* A child that is watched from outside: see outside_child.h. */
#include "outside_child.h"

#include "base/clock.h"
#include "collector/write/process_work.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE_BYTES 4096

static void thread_new(void *arg, struct watched_thread *t)
{
	const struct outside_child *c = arg;

	if (c->wall)
		wall_thread_new(c->wall, t);
}

static void thread_dead(void *arg, struct watched_thread *t)
{
	const struct outside_child *c = arg;

	if (c->wall)
		wall_thread_dead(c->wall, t, clock_mono_ns());
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* The session is made for this process and shared with the child by fork; then it is its. */
int outside_child_begin(struct outside_child *c, const struct wall_options *options,
			void (*run)(struct session *s, uint64_t *page))
{
	struct session_settings settings = {.period_ns = 1000000, .stack_mode = WEFT_STACK_AUTO};
	struct threads_callbacks callbacks = {thread_new, thread_dead, NULL, c};
	struct process *ours;

	memset(c, 0, sizeof(*c));
	c->shared =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->shared == MAP_FAILED || process_new(&ours, getpid()) ||
	    session_new(&c->session, ours, &settings))
		return -1;
	c->pid = fork();
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(c->session, c->shared);
		_exit(1);
	}
	while (!__atomic_load_n(c->shared, __ATOMIC_ACQUIRE))
		pause_ms(1);
	if (process_new(&c->process, c->pid) || queue_init(&c->queue, 64 << 20))
		return -1;
	c->process->inside_pid = c->pid;
	c->process->opened_ns = c->began_ns = clock_mono_ns();
	c->process->base = ours->base;
	c->process->layout = ours->layout;
	c->session->process = c->process;
	ours->base = NULL;
	process_free(ours);
	c->wall = wall_new(c->process, options, &c->queue, &c->counts);
	c->threads = threads_new(c->process, &callbacks);
	outside_child_find(c);
	return c->wall && c->threads ? 0 : -1;
}

void outside_child_find(struct outside_child *c)
{
	threads_look(c->threads, clock_mono_ns());
	threads_find_slots(c->threads);
}

void outside_child_watch(struct outside_child *c, uint64_t ns)
{
	uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + ns, due_ns;

	while (now_ns < until_ns) {
		due_ns = wall_tick(c->wall, c->threads, now_ns, 20000000);
		due_ns = due_ns < until_ns ? due_ns : until_ns;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				&(struct timespec){(time_t)(due_ns / 1000000000),
						   (long)(due_ns % 1000000000)},
				NULL);
		now_ns = clock_mono_ns();
	}
}

void outside_child_finish(struct outside_child *c, uint64_t now_ns)
{
	wall_free(c->wall, now_ns);
	c->wall = NULL;
}

static void take_word(struct outside_child *c, struct outside_told *told, const struct batch *b,
		      const struct wall_word *word,
		      void (*each)(struct outside_child *c, const struct batch_thread *who,
				   const struct weft_sample_record *sample))
{
	if (word->kind == WALL_DELAY) {
		told->delay++;
		told->delay_ticks += word->samples;
		return;
	}
	if (word->kind == WALL_ACCOUNT)
		told->account = *word;
	told->samples += word->kind == WALL_SAMPLE;
	told->more += word->kind == WALL_MORE;
	told->ends += word->kind == WALL_END;
	told->ticks += word->samples;
	told->by_state[word->state] += word->samples;
	if (word->kind != WALL_SAMPLE)
		return;
	memcpy(&told->last, word + 1, sizeof(told->last));
	if (each)
		each(c, &b->thread, (const void *)(word + 1));
}

void outside_child_take(struct outside_child *c, struct outside_told *told,
			void (*each)(struct outside_child *c, const struct batch_thread *who,
				     const struct weft_sample_record *sample))
{
	memset(told, 0, sizeof(*told));
	while (c->queue.first) {
		struct batch *b = queue_pop(&c->queue);

		for (size_t at = 0; at < b->bytes;) {
			const struct wall_word *word = (const void *)(b->data + at);

			take_word(c, told, b, word, each);
			at += word->bytes;
		}
		free(b);
	}
	told->filtered = c->counts.counter[WEFT_COUNTER_WALL_FILTERED];
}

void outside_child_end(struct outside_child *c)
{
	if (c->wall)
		outside_child_finish(c, clock_mono_ns());
	threads_free(c->threads);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	session_free(c->session);
	process_free(c->process);
	queue_destroy(&c->queue);
	munmap(c->shared, PAGE_BYTES);
}

void outside_child_await(const struct outside_child *c, pid_t tid, char state)
{
	char path[48];
	struct thread_stat stat = {.state = 0};
	size_t bytes;

	snprintf(path, sizeof(path), "task/%d/stat", (int)tid);
	while (stat.state != state) {
		char *text = proc_read_all(c->process->proc_fd, path, &bytes);

		if (!text || thread_parse_stat(text, &stat))
			abort();
		free(text);
		pause_ms(1);
	}
}
