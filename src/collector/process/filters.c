/* SPDX-License-Identifier: Apache-2.0 */
/* Seccomp filters, from outside: see filters.h. */
#include "collector/process/filters.h"

#include "proc/thread_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_MAX 4096

/* The largest number that any of the threads has: one that is ending may have none any more. */
static uint32_t filters_of_all(int proc_fd)
{
	DIR *list = proc_directory(proc_fd, "task");
	const struct dirent *entry;
	uint32_t count, most = 0;

	if (!list)
		return 0;
	for (int i = 0; i < THREADS_MAX && (entry = readdir(list)); i++) {
		if (entry->d_name[0] == '.' ||
		    thread_filters_read(proc_fd, atoi(entry->d_name), &count))
			continue;
		most = count > most ? count : most;
	}
	closedir(list);
	return most;
}

static uint32_t filters_number_said(int proc_fd)
{
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "environ", &bytes);
	const char *value = proc_variable(text, bytes, "WEFT_FILTERS");
	unsigned long number = value ? strtoul(value, NULL, 10) : 0;

	free(text);
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static uint32_t filters_of_first(void)
{
	int proc_fd = open("/proc/1", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint32_t count = 0;

	if (proc_fd < 0)
		return 0;
	if (thread_filters_read(proc_fd, 1, &count))
		count = 0;
	close(proc_fd);
	return count;
}

static int is_strange_number(int proc_fd, uint32_t count)
{
	return count && count != filters_of_first() && count != filters_number_said(proc_fd);
}

static int filters_proc_strange(int proc_fd)
{
	return is_strange_number(proc_fd, filters_of_all(proc_fd));
}

/* The only thread's are known: the process waits for its answer meanwhile. */
int filters_are_strange_as_met(const struct process *p)
{
	return p->met_threads == 1 ? is_strange_number(p->proc_fd, p->filters)
				   : filters_proc_strange(p->proc_fd);
}

int filters_are_strange(pid_t pid)
{
	char path[32];
	int proc_fd, strange;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return 0;
	strange = filters_proc_strange(proc_fd);
	close(proc_fd);
	return strange;
}

int filters_are_feared(const struct process *p)
{
	const struct weft_session_header *h = p->base;

	return h && ((load_acquire(&h->features) & WEFT_FEATURE_CAREFUL) ||
		     load_relaxed(&h->counters[WEFT_COUNTER_CAREFUL]));
}

/* Pairs: weft_rt_is_careful() (src/runtime/core/runtime.h). */
static void filters_fear(const struct process *p)
{
	struct weft_session_header *h = p->base;
	uint64_t before;

	if (!h)
		return;
	before = __atomic_fetch_or(&h->features, (uint64_t)WEFT_FEATURE_CAREFUL, __ATOMIC_ACQ_REL);
	if (!(before & WEFT_FEATURE_CAREFUL) && !load_relaxed(&h->counters[WEFT_COUNTER_CAREFUL]))
		__atomic_fetch_add(&h->counters[WEFT_COUNTER_CAREFUL], 1, __ATOMIC_RELAXED);
}

void filters_meet(const struct process *p)
{
	if (filters_proc_strange(p->proc_fd))
		filters_fear(p);
}

int filters_look(const struct process *p, int32_t tid)
{
	uint32_t count;

	if (thread_filters_read(p->proc_fd, tid, &count) == 0 && count > p->filters)
		filters_fear(p);
	return filters_are_feared(p);
}

int filters_look_all(const struct process *p)
{
	if (!filters_are_feared(p) && filters_of_all(p->proc_fd) > p->filters)
		filters_fear(p);
	return filters_are_feared(p);
}
