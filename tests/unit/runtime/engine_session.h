/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the engine in their own process: a session as a collector makes it, what the kernel
 * has for signals and timers, and threads that work.
 */
#ifndef TESTS_ENGINE_SESSION_H
#define TESTS_ENGINE_SESSION_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/session_layout.h"
#include "runtime/core/real.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/sample/sample.h"
#include "unit.h"

#define SLOTS 256
#define COOKIE 77
#define PERIOD_NS 1000000
#define CROWD 100

static struct weft_session_header *shared;

static inline void begin_session_of(uint32_t slots)
{
	struct weft_session_header h = {.cookie = COOKIE,
					.run_state = WEFT_RUN_RECORDING,
					.engines = WEFT_ENGINE_CPU,
					.period_ns = PERIOD_NS,
					.stack_mode = WEFT_STACK_FP,
					.frames_max = 16,
					.timer_budget = 10000,
					.prime_signal = SIGURG};
	int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	assert_int_equal(weft_session_layout(&h, slots, 0, 0), 0);
	h.pid = getpid();
	assert_int_equal(ftruncate(fd, (off_t)h.total_bytes), 0);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
	weft_copies_store(NULL);
	assert_int_equal(weft_session_map(fd, h.total_bytes), 0);
	close(fd);
	weft_rt.has_collector = 1;
	weft_rt.own_fd = -1;
	shared = weft_rt.header;
}

static inline int begin_session(void **state)
{
	(void)state;
	begin_session_of(SLOTS);
	weft_prime_uninstall();
	return 0;
}

/* ---- what the kernel has */

struct kernel_action {
	uintptr_t handler;
	unsigned long flags;
#ifdef __x86_64__
	uintptr_t restorer;
#endif
	uint64_t mask;
};

static inline struct kernel_action kernel_action(int signo)
{
	struct kernel_action a = {0};

	assert_int_equal(sys_call4(SYS_rt_sigaction, signo, NULL, &a, sizeof(a.mask)), 0);
	return a;
}

static inline uintptr_t kernel_handler(int signo)
{
	return kernel_action(signo).handler;
}

static inline uintptr_t shown_handler(int signo)
{
	struct sigaction action;

	assert_int_equal(sigaction(signo, NULL, &action), 0);
	return (uintptr_t)action.sa_handler;
}

#define DEFAULT ((uintptr_t)SIG_DFL)

/* Timers of this process; 0 where the kernel does not list them. */
static inline int timers_in_kernel(void)
{
	FILE *file = fopen("/proc/self/timers", "re");
	char line[256];
	int count = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		count += !strncmp(line, "ID:", 3);
	fclose(file);
	return count;
}

static inline int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static inline uint64_t counted(enum weft_counter counter)
{
	uint64_t sum = shared->counters[counter];

	for (uint32_t i = 0; i < shared->slots_high; i++)
		sum += weft_rt_slot(i)->counters[counter];
	return sum;
}

#ifdef PLATFORM_POSIX
#define BEGIN_THREAD pthread_create /* nothing but the hook primes */
#define CYCLES 10
#else
#define BEGIN_THREAD weft_real(pthread_create) /* no hook sees them */
#define CYCLES 100
#endif

struct worker {
	pthread_t thread;
	int32_t tid;
	int is_done;
	volatile uint64_t rounds;
};

static inline void *work(void *arg)
{
	struct worker *w = arg;

	setpriority(PRIO_PROCESS, (id_t)sys_gettid(), 19); /* this thread's alone, on Linux */
	__atomic_store_n(&w->tid, sys_gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&w->is_done, __ATOMIC_RELAXED))
		w->rounds++;
	return NULL;
}

static inline void launch_worker(struct worker *w)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(BEGIN_THREAD(&w->thread, NULL, work, w), 0);
}

static inline void wait_for_worker(struct worker *w)
{
	while (!__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static inline void end_worker(struct worker *w)
{
	__atomic_store_n(&w->is_done, 1, __ATOMIC_RELAXED);
	pthread_join(w->thread, NULL);
}

#endif
