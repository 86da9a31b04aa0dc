/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that do to a recording what it would rather not see: upset MODE [SECONDS [THREADS]]
 *
 *   burn       threads that work, and nothing else
 *   handlers   a thread works, a timer's handler forks ever again; children work and exit
 *   vforks     threads vfork children that exec, while they work
 *   exec       in the middle, a thread that is not the main one execs `upset burn`
 *   clones     raw clones that share memory but neither TLS nor a word with anybody
 *   unshare    a new PID namespace for children, who work
 *   jumps      a handler leaves by siglongjmp, again and again, out of whatever ran
 *   ends       main ends by pthread_exit, the threads work on
 *
 * Work is CPU time of each thread, not wall time. Exits 0 unless it could not begin.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/context.h>

#define THREADS_MAX 256
#define CLONE_STACK (64 * 1024)

static double seconds = 0.3;
static char **self;
static volatile sig_atomic_t forks;

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work_for(double time)
{
	double until = cpu_time() + time;

	for (uint64_t number = 1; cpu_time() < until; number++)
		weft_context_set(number, number ^ 0x5555);
	weft_context_set(0, 0);
}

static void *work(void *arg)
{
	(void)arg;
	work_for(seconds);
	return NULL;
}

static void *work_among_vforks(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid;

		work_for(seconds / 10);
		pid = vfork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return arg;
}

static void *work_and_exec(void *arg)
{
	static char burn[] = "burn", time[] = "0.2", count[] = "2";
	char *argv[] = {self[0], burn, time, count, NULL};

	work_for(seconds / 2);
	execv("/proc/self/exe", argv);
	return arg;
}

static int run_threads(void *(*start)(void *), int count, int last)
{
	pthread_t thread[THREADS_MAX];
	int begun = 0;

	while (begun < count &&
	       !pthread_create(&thread[begun], NULL,
			       last && begun == count - 1 ? work_and_exec : start, NULL))
		begun++;
	for (int i = 0; i < begun; i++)
		pthread_join(thread[i], NULL);
	return begun < count;
}

static void fork_here(int signo)
{
	int saved = errno;
	pid_t pid = forks < 100 ? fork() : -1;

	(void)signo;
	forks++;
	if (pid == 0) {
		work_for(0.005);
		_exit(0);
	}
	errno = saved;
}

static sigjmp_buf back;

static void leave(int signo)
{
	(void)signo;
	siglongjmp(back, 1);
}

static void tick(void (*handler)(int), int microseconds)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, microseconds}, {0, microseconds}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static int run_handlers(void)
{
	tick(fork_here, 3000);
	work_for(seconds);
	signal(SIGALRM, SIG_IGN);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	return 0;
}

static int run_jumps(void)
{
	double until = cpu_time() + seconds;

	sigsetjmp(back, 1);
	tick(leave, 500);
	while (cpu_time() < until)
		weft_context_set(1, 2);
	signal(SIGALRM, SIG_IGN);
	return 0;
}

/* Without TLS of its own: the parent's, whose thread waits meanwhile. */
static int clone_work(void *arg)
{
	volatile uint64_t sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += (uint64_t)(uintptr_t)arg + (uint64_t)i;
	return (int)(sum & 0x7F);
}

static int run_clones(void)
{
	char *stack = mmap(NULL, CLONE_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	double until = cpu_time() + seconds;

	while (stack != MAP_FAILED && cpu_time() < until) {
		pid_t pid = clone(clone_work, stack + CLONE_STACK, CLONE_VM | SIGCHLD, stack);

		work_for(seconds / 100);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return stack == MAP_FAILED;
}

/* The first child is the namespace's init: what it forks lives there with it. */
static int run_unshare(void)
{
	pid_t pid;
	int status = 0;

	if (unshare(CLONE_NEWPID))
		return 77;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			if (fork() == 0)
				exit(run_threads(work, 3, 0));
		while (waitpid(-1, NULL, 0) > 0)
			;
		exit(run_threads(work, 2, 0));
	}
	waitpid(pid, &status, 0);
	work_for(seconds);
	return status != 0;
}

static int run_ends(int threads)
{
	pthread_t thread;

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL))
			return 1;
	work_for(seconds / 2);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int threads = argc > 3 ? atoi(argv[3]) : 4;

	self = argv;
	seconds = argc > 2 ? strtod(argv[2], NULL) : seconds;
	threads = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
	if (!strcmp(mode, "burn"))
		return run_threads(work, threads, 0);
	if (!strcmp(mode, "handlers"))
		return run_handlers();
	if (!strcmp(mode, "vforks"))
		return run_threads(work_among_vforks, threads, 0);
	if (!strcmp(mode, "exec"))
		return run_threads(work, threads, 1);
	if (!strcmp(mode, "clones"))
		return run_clones();
	if (!strcmp(mode, "unshare"))
		return run_unshare();
	if (!strcmp(mode, "jumps"))
		return run_jumps();
	if (!strcmp(mode, "ends"))
		return run_ends(threads);
	fputs("upset burn|handlers|vforks|exec|clones|unshare|jumps|ends [SECONDS [THREADS]]\n",
	      stderr);
	return 2;
}
