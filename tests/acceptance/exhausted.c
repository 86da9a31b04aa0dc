/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exhausted WHAT [ERRNO] [fork] THREADS: takes from itself what a profiler in it would need, then
 * computes on so many threads, all alive at once, and prints what comes out, which is the same
 * each time. With "fork" a forked child does that, and stays for a while.
 *
 *   nothing    it leaves all as it is
 *   files      it has opened every descriptor that it may have
 *   signals    it may queue no signal: timer_create fails
 *   both
 *   locked     it has mapped as many control pages of perf events as its user may, but for two
 *   filter     perf_event_open fails with ERRNO: by a seccomp filter
 *
 * exhausted refuse ERRNO COMMAND...: runs it under such a filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 1000
#define PAGES_MAX 100000
#define PAGES_LEFT 2
#define LINGER_S 3                 /* who looks for children now and then is to find one */
#define ROUNDS UINT64_C(600000000) /* of all threads together */
#define ROUNDS_MIN UINT64_C(600000)

static pthread_barrier_t all_there;
static uint64_t rounds;

static __attribute__((noinline)) uint64_t compute(uint64_t seed)
{
	for (uint64_t i = 0; i < rounds; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

static void *work(void *number)
{
	uint64_t *result = number;

	pthread_barrier_wait(&all_there);
	*result = compute(*result);
	pthread_barrier_wait(&all_there);
	return NULL;
}

static int compute_on(unsigned int threads)
{
	static pthread_t thread[THREADS_MAX];
	static uint64_t result[THREADS_MAX];
	uint64_t sum = 0;

	rounds = ROUNDS / threads < ROUNDS_MIN ? ROUNDS_MIN : ROUNDS / threads;
	pthread_barrier_init(&all_there, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		result[i] = i;
		if (pthread_create(&thread[i], NULL, work, &result[i]))
			return 1;
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum ^= result[i];
	}
	printf("%u threads: %016llx\n", threads, (unsigned long long)sum);
	return fflush(stdout) != 0;
}

static int compute_in_child(unsigned int threads)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(compute_on(threads) || sleep(LINGER_S));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

/* ---- what it takes away */

/* So that there is no number left; the limit is low for it to be quick. */
static int take_files(void)
{
	const struct rlimit few = {64, 64};

	if (setrlimit(RLIMIT_NOFILE, &few))
		return 1;
	while (dup(0) >= 0)
		continue;
	return errno != EMFILE;
}

static int take_signals(void)
{
	const struct rlimit none = {0, 0};
	timer_t timer;

	/* NOLINTNEXTLINE(misc-redundant-expression) */
	return setrlimit(RLIMIT_SIGPENDING, &none) ||
	       timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0 || errno != EAGAIN;
}

/* A control page, as of a sampling event; NULL with errno. */
static void *map_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), error;
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	error = errno;
	close(fd);
	errno = error;
	return page == MAP_FAILED ? NULL : page;
}

/* perf_event_mlock_kb for each CPU and user, and then RLIMIT_MEMLOCK. */
static int take_locked(void)
{
	static void *page[PAGES_MAX];
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE), count = 0;

	while (count < PAGES_MAX && (page[count] = map_event()))
		count++;
	if (count < PAGES_LEFT || count == PAGES_MAX || errno != EPERM)
		return 1;
	for (int i = 0; i < PAGES_LEFT; i++)
		munmap(page[--count], bytes);
	return 0;
}

/* perf_event_open fails with @error from now on. */
static int refuse(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int refuses(int error)
{
	long fd = syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);

	return fd < 0 && errno == error;
}

static int refuse_for(int error, char **command)
{
	if (refuse(error) || !refuses(error))
		return 1;
	execvp(command[0], command);
	return 127;
}

static int take(const char *what, int error)
{
	if (!strcmp(what, "files"))
		return take_files();
	if (!strcmp(what, "signals"))
		return take_signals();
	if (!strcmp(what, "locked"))
		return take_locked();
	if (!strcmp(what, "both"))
		return take_files() || take_signals();
	if (!strcmp(what, "filter"))
		return refuse(error) || !refuses(error);
	return 0;
}

int main(int argc, char **argv)
{
	int error = argc > 2 ? atoi(argv[2]) : 0;
	unsigned int threads = argc > 2 ? (unsigned int)atoi(argv[argc - 1]) : 0;

	if (argc > 3 && !strcmp(argv[1], "refuse"))
		return refuse_for(error, argv + 3);
	if (argc < 3 || threads < 1 || threads > THREADS_MAX)
		return 2;
	if (take(argv[1], error)) {
		perror(argv[1]);
		return 3;
	}
	return !strcmp(argv[argc - 2], "fork") ? compute_in_child(threads) : compute_on(threads);
}
