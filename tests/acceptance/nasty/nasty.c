/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nasty PLACE MS: spends MS milliseconds of CPU time at a place (see nasty.h), prints
 * "PLACE: right", or what was wrong, and exits 1. When it is recorded a thread beside it
 * queues SIGPROFs to all others that weft takes for its timers' ticks: far more than timers
 * give. "nasty --list": the names.
 */
#include "nasty.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "own_session.h"

#define STORM_PAUSE_NS 400000

static const struct place {
	const char *name;
	int (*run)(void);
} places[] = {
	{"malloc", place_malloc},
	{"dlopen", place_dlopen},
	{"reload", place_reload},
	{"lazy", place_lazy},
	{"plt", place_plt},
	{"vdso", place_vdso},
	{"thread_exit", place_thread_exit},
	{"cancel", place_cancel},
	{"fork", place_fork},
	{"vfork", place_vfork},
	{"altstack", place_altstack},
	{"raised", place_raised},
	{"alarm", place_alarm},
	{"longjmp", place_longjmp},
	{"fault", place_fault},
	{"coroutine", place_coroutine},
	{"switched", place_switched},
	{"small_thread", place_small_thread},
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static int64_t limit_ns;
static _Atomic int over;

int more(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec < limit_ns;
}

NOINLINE uint64_t burn(unsigned int turns)
{
	volatile uint64_t sum = 1;

	for (unsigned int i = 0; i < turns; i++)
		sum = sum * 6364136223846793005u + i;
	return sum;
}

int burnt_wrong(uint64_t result, unsigned int turns)
{
	uint64_t sum = 1;

	for (unsigned int i = 0; i < turns; i++)
		sum = sum * 6364136223846793005u + i;
	return sum != result;
}

const char *own_directory(void)
{
	static char path[4096];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[bytes > 0 ? bytes : 0] = '\0';
	if (strrchr(path, '/'))
		strrchr(path, '/')[1] = '\0';
	return path;
}

/* ---- the storm */

static void tick_slot(const struct weft_session_header *h, uint64_t index, int own_tid)
{
	const char *base = (const char *)h;
	const uint64_t *states = (const uint64_t *)(const void *)(base + h->states_offset);
	const struct weft_slot *slot =
		(const void *)(base + h->slots_offset + index * h->slot_stride);
	siginfo_t info;

	if ((__atomic_load_n(&states[index], __ATOMIC_ACQUIRE) & 0x7f) != WEFT_SLOT_LIVE ||
	    slot->thread.tid == own_tid)
		return;
	info = own_session_tick(h, slot, SIGPROF);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), slot->thread.tid, SIGPROF, &info);
}

static void *storm(void *arg)
{
	const struct weft_session_header *h = arg;
	int own_tid = (int)syscall(SYS_gettid);

	prctl(PR_SET_NAME, "storm");
	while (!over) {
		for (uint64_t i = 0; i < 64; i++)
			tick_slot(h, i, own_tid);
		nanosleep(&(struct timespec){.tv_nsec = STORM_PAUSE_NS}, NULL);
	}
	return NULL;
}

static NOINLINE int run_place(const struct place *place)
{
	int wrong = place->run();

	__asm__ volatile(""); /* this frame stays */
	printf("%s: %s\n", place->name, wrong ? "wrong" : "right");
	return wrong;
}

int main(int argc, char **argv)
{
	struct weft_session_header *h = own_session();
	const struct place *place = NULL;
	sigset_t all, before;
	pthread_t thread;
	int wrong;

	for (size_t i = 0; i < PLACES; i++) {
		if (argc > 1 && !strcmp(argv[1], places[i].name))
			place = &places[i];
		if (argc > 1 && !strcmp(argv[1], "--list"))
			puts(places[i].name);
	}
	if (!place)
		return argc > 1 && !strcmp(argv[1], "--list") ? 0 : 2;
	limit_ns = (argc > 2 ? strtol(argv[2], NULL, 10) : 300) * 1000000;
	/* What the program's own timers send is for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (h && pthread_create(&thread, NULL, storm, h))
		return 2;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	wrong = run_place(place);
	over = 1;
	if (h)
		pthread_join(thread, NULL);
	return wrong ? 1 : 0;
}
