/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that compute where the process may have no more of something, or may not ask for it:
 *   exhausted plain | files | locked | pending | eperm | enosys
 *   exhausted eperm | enosys COMMAND...      the same for what it becomes
 * All are alive at once. Says what it found and how many came to their end, and nothing else.
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
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define ALL_MS 1200

static pthread_barrier_t together;
static int64_t each_ns;
static int ended;

static void limit(int resource, rlim_t most)
{
	struct rlimit now;

	getrlimit(resource, &now);
	now.rlim_cur = most;
	if (setrlimit(resource, &now))
		printf("no limit: errno %d\n", errno);
}

/* None is left: each open() fails from now on. */
static void take_files(void)
{
	int opened = 0;

	limit(RLIMIT_NOFILE, 128);
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		opened++;
	printf("no more files: %d\n", errno == EMFILE && opened > 100);
}

/* What perf may lock for this user is taken, by rings as large as it gives. */
static void take_locked(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	long page = sysconf(_SC_PAGESIZE), pages = 1 << 12;
	int fd = -1;

	limit(RLIMIT_MEMLOCK, 0);
	while (pages > 0) {
		if (fd < 0)
			fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
		if (mmap(NULL, (size_t)((pages + 1) * page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0) == MAP_FAILED)
			pages /= 2;
		else
			fd = -1;
	}
	while (fd >= 0 && mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	close(fd);
}

static void refuse_perf(uint32_t error)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		printf("no filter: errno %d\n", errno);
	printf("refused: %d\n",
	       syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) == -1 && (uint32_t)errno == error);
}

__attribute__((noinline)) static void compute(int64_t ns)
{
	struct timespec t;
	int64_t now, until = 0;
	volatile uint64_t sum = 1;

	do {
		for (int i = 0; i < 20000; i++)
			sum = sum * 31 + (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
		until = until ? until : now + ns;
	} while (now < until);
}

static void *work(void *unused)
{
	pthread_barrier_wait(&together);
	compute(each_ns);
	pthread_barrier_wait(&together);
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	return unused;
}

static void run(void)
{
	pthread_t threads[THREADS];
	each_ns = INT64_C(1000000) * ALL_MS / THREADS;
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads\n", ended);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";

	if (!strcmp(what, "files"))
		take_files();
	else if (!strcmp(what, "locked"))
		take_locked();
	else if (!strcmp(what, "pending"))
		limit(RLIMIT_SIGPENDING, 0);
	else if (!strcmp(what, "eperm"))
		refuse_perf(EPERM);
	else if (!strcmp(what, "enosys"))
		refuse_perf(ENOSYS);
	else if (strcmp(what, "plain") != 0)
		return 2;
	if (argc > 2) {
		execvp(argv[2], argv + 2);
		return 127;
	}
	run();
	return 0;
}
