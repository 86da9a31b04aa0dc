/* SPDX-License-Identifier: Apache-2.0 */
/* One process of the recording: see process.h. */
#include "collector/process/process.h"

#include "collector/process/libraries.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void session_counts_add(struct session_counts *sum, const struct session_counts *one)
{
	uint64_t high = sum->slots_high > one->slots_high ? sum->slots_high : one->slots_high;
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)one;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
	sum->slots_high = high;
}

/* All by one read: the process waits for its answer meanwhile. */
static void take_stat(struct process *p)
{
	char text[1024];

	proc_read(p->proc_fd, "stat", text, sizeof(text));
	p->parent = (pid_t)stat_number(text, STAT_PARENT);
	p->start_ticks = stat_number(text, STAT_START_TIME);
	p->stack_start = stat_number(text, STAT_STACK_START);
}

/* Likewise. */
static void take_status(struct process *p)
{
	struct thread_status status = {.files_user = (uid_t)-1};

	thread_status_read(p->proc_fd, (int32_t)p->pid, &status);
	p->filters = status.filters;
	p->met_threads = status.threads;
	p->files_user = status.files_user;
}

char *process_read_own(const struct process *p, const char *name, size_t *bytes)
{
	char *text = proc_read_all(p->proc_fd, name, bytes);

	if (!text || process_stat_number(p->proc_fd, STAT_STACK_START) == p->stack_start)
		return text;
	free(text);
	errno = ESRCH;
	return NULL;
}

int process_thread_name(const struct process *p, int32_t tid, char *out, size_t room)
{
	char path[48], *text;
	size_t bytes = 0;

	snprintf(path, sizeof(path), "task/%d/comm", (int)tid);
	text = process_read_own(p, path, &bytes);
	if (!text)
		return 0;
	snprintf(out, room, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return 1;
}

int process_has_stack(const struct process *p, uint64_t stack_start)
{
	return stack_start == 0 || stack_start == p->stack_start;
}

int process_has_thread(const struct process *p, int32_t tid, uint64_t stack_start)
{
	return tid != (int32_t)p->pid || stack_start == p->stack_start;
}

int process_runs_on(const struct process *p)
{
	return process_has_stack(p, process_stat_number(p->proc_fd, STAT_STACK_START));
}

static void process_read_command(struct process *p)
{
	if (proc_read(p->proc_fd, "comm", p->command, sizeof(p->command)) <= 0)
		strcpy(p->command, "?");
	p->command[strcspn(p->command, "\n")] = 0;
	snprintf(p->group, sizeof(p->group), "%s [%d]", p->command, (int)p->pid);
}

int process_meet(struct process *p, pid_t pid)
{
	char path[32];

	p->pid = pid;
	p->root_fd = -1;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	p->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->proc_fd < 0)
		return -errno;
	take_stat(p);
	take_status(p);
	p->root_fd = openat(p->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	p->command_line = process_command_line(p->proc_fd);
	process_read_command(p);
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void process_tell_gone(struct process *p, uint32_t slot, uint64_t generation)
{
	struct gone_slot *g = malloc(sizeof(*g));

	if (!g)
		return; /* its slot stays in use until the process ends */
	*g = (struct gone_slot){.slot = slot, .generation = generation};
	g->next = load_relaxed(&p->gone);
	/* Pairs with the acquire in process_take_gone(). */
	while (!__atomic_compare_exchange_n(&p->gone, &g->next, g, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

struct gone_slot *process_take_gone(struct process *p)
{
	if (!load_relaxed(&p->gone))
		return NULL;
	return __atomic_exchange_n(&p->gone, NULL, __ATOMIC_ACQUIRE);
}

void process_keep_words(struct process *p)
{
	store_release(&p->words, calloc(p->layout.slot_count, sizeof(*p->words)));
}

void process_tell_words(struct process *p, uint32_t slot, const struct slot_words *words)
{
	struct slot_words *to = load_acquire(&p->words);

	if (!to)
		return;
	to += slot;
	store_relaxed(&to->generation, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&to->ended_ns, words->ended_ns);
	store_relaxed(&to->cpu_ns, words->cpu_ns);
	store_release(&to->generation, words->generation);
}

int process_words(const struct process *p, uint32_t slot, uint64_t generation,
		  struct slot_words *out)
{
	const struct slot_words *from =
		p->words ? &p->words[slot] : NULL; /* this thread allocated them */

	if (!from || load_acquire(&from->generation) != generation)
		return 0;
	*out = (struct slot_words){
		.generation = generation,
		.ended_ns = load_relaxed(&from->ended_ns),
		.cpu_ns = load_relaxed(&from->cpu_ns),
	};
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load_relaxed(&from->generation) == generation;
}

static void free_gone(struct process *p)
{
	struct gone_slot *g = process_take_gone(p), *next;

	for (; g; g = next) {
		next = g->next;
		free(g);
	}
}

void process_leave(struct process *p)
{
	free_gone(p);
	free(p->words);
	p->words = NULL;
	libraries_free(p->told);
	p->told = NULL;
	if (p->base)
		munmap(p->base, p->layout.total_bytes);
	p->base = NULL;
	close_fd(&p->root_fd);
	close_fd(&p->proc_fd);
}
