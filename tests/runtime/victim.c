/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be recorded, one behaviour per word of its command line:
 *   burn MS      CPU time on the main thread under span 1
 *   threads N MS N threads, thread i under span 0x100 + i, ended by return, pthread_exit and
 *                cancellation in turn
 *   fork MS      a child that burns under the parent's context
 *   execs N      N children that exec /bin/true
 *   forks N      N children that burn 2 ms and end
 *   ...          see the table at the end
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/context.h>

#define SA_RESTORER 0x04000000 /* libc adds it where the kernel wants it */

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Mostly in user space, so that what interrupts it interrupts the program. */
static void burn_ms(long ms)
{
	uint64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;
	volatile uint64_t sink = 0;

	do
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * sink + 1;
	while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until);
}

static int check(int good, const char *what)
{
	if (!good)
		fprintf(stderr, "victim: not so: %s\n", what);
	return !good;
}

struct job {
	long number, ms;
};

static void *work(void *arg)
{
	const struct job *job = arg;

	weft_context_set(0x100 + (uint64_t)job->number, 0x42);
	burn_ms(job->ms);
	if (weft_context_get().span_id != 0x100 + (uint64_t)job->number)
		abort();
	if (job->number % 3 == 1)
		pthread_exit(NULL);
	while (job->number % 3 == 2)
		pause(); /* until cancelled */
	return NULL;
}

static int do_threads(char **a)
{
	long n = atol(a[0]);
	pthread_t threads[256];
	struct job jobs[256];

	for (long i = 0; i < n && i < 256; i++) {
		jobs[i] = (struct job){i, atol(a[1])};
		if (pthread_create(&threads[i], NULL, work, &jobs[i]))
			return 1;
	}
	for (long i = 0; i < n && i < 256; i++) {
		if (i % 3 == 2) {
			struct timespec nap = {.tv_nsec = 50000000};

			nanosleep(&nap, NULL);
			pthread_cancel(threads[i]);
		}
		pthread_join(threads[i], NULL);
	}
	return 0;
}

static int do_burn(char **a)
{
	weft_context_set(1, 2);
	burn_ms(atol(a[0]));
	return 0;
}

static int do_whole(char **a)
{
	struct weft_context c = {.span_id = 5, .root_span_id = 6, .trace_id = {0xAB}};

	weft_tag_name(0, "route");
	c.trace_id[15] = 0xCD;
	c.tags[0] = weft_tag_intern("/slow");
	WEFT_SCOPE (&c) {
		burn_ms(atol(a[0]));
	}
	return weft_context_get().span_id != 0;
}

static int wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	fprintf(stderr, "victim: child %d: status 0x%x\n", child, (unsigned int)status);
	return 1;
}

static int do_fork(char **a)
{
	pid_t child;

	weft_context_set(7, 8);
	child = fork();
	if (child == 0) {
		if (weft_context_get().span_id != 7)
			_exit(9);
		burn_ms(atol(a[0]));
		_exit(weft_context_get().span_id == 7 ? 0 : 8);
	}
	return wait_for(child) || weft_context_get().span_id != 7;
}

/* No atfork handler runs: only the guard word tells the child. */
static int do_rawfork(char **a)
{
	pid_t child;

	weft_context_set(9, 10);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		weft_context_set(0xBAD, 0xBAD);
		burn_ms(atol(a[0]));
		_exit(weft_context_get().span_id == 0xBAD ? 0 : 8);
	}
	return wait_for(child) || weft_context_get().span_id != 9;
}

/* A child whose first own threads come before its session has begun. */
static int do_forkthread(char **a)
{
	pid_t child = fork();
	static char three[] = "3";
	char *arguments[] = {three, a[0]};

	if (child == 0)
		_exit(do_threads(arguments));
	return wait_for(child);
}

static pthread_barrier_t crowd;

static void *stand(void *arg)
{
	weft_context_set((uintptr_t)arg, 1);
	burn_ms(2);
	pthread_barrier_wait(&crowd);
	weft_context_set((uintptr_t)arg, 2);
	return NULL;
}

/* More threads at a time than there may be slots. */
static int do_crowd(char **a)
{
	long n = atol(a[0]);
	pthread_t threads[256];

	pthread_barrier_init(&crowd, NULL, (unsigned int)n);
	for (long i = 0; i < n && i < 256; i++)
		if (pthread_create(&threads[i], NULL, stand, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (long i = 0; i < n && i < 256; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Nothing but contexts between two calls of getsid; the clock is not asked either. */
static int do_quiet(char **a)
{
	struct weft_context c = {.span_id = 1, .root_span_id = 2, .trace_id = {3}};
	long rounds = atol(a[0]) * 60000;
	size_t allocated = mallinfo2().uordblks;

	weft_context_set(1, 2);
	syscall(SYS_getsid, 0);
	for (long i = 0; i < rounds; i++) {
		struct weft_ids old = weft_context_set((uint64_t)i, 2);

		weft_tag_set(1, (uint32_t)i);
		WEFT_SCOPE (&c) {
			weft_context_set(7, (uint64_t)i);
		}
		weft_context_set(old.span_id, old.root_span_id);
	}
	syscall(SYS_getsid, 0);
	return check(mallinfo2().uordblks == allocated, "nothing was allocated");
}

static int do_reap(char **a)
{
	(void)a;
	return check(waitpid(-1, NULL, 0) == -1, "no child");
}

static volatile int hammering = 1;
static pid_t hammered;

/* The session, by its mapping: this program stands in for the priming signal's sender. */
static const struct weft_session_header *find_session(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	const struct weft_session_header *found = NULL;
	unsigned long start, offset;
	char line[512];

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:tiny") &&
		    sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2 && offset == 0)
			found = (const struct weft_session_header *)start;
	if (maps)
		fclose(maps);
	return found;
}

static void *hammer(void *arg)
{
	const struct weft_session_header *h = find_session();
	siginfo_t info = {.si_signo = SIGPROF, .si_code = SI_QUEUE};

	(void)arg;
	info.si_pid = getpid();
	/* Slot 0, generation 1: the main thread's. */
	info.si_value.sival_ptr =
		(void *)(uintptr_t)(h ? WEFT_SIGVAL(h->cookie, 1, 0) : UINT64_C(0));
	while (h && hammering)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), hammered, SIGPROF, &info);
	return NULL;
}

/* Contexts that change as fast as they can under signals that come as fast as they can. */
static int do_hammer(char **a)
{
	uint64_t until = cpu_ns(CLOCK_MONOTONIC) + (uint64_t)atol(a[0]) * 1000000, n = 0;
	pthread_t thread;

	hammered = (pid_t)syscall(SYS_gettid);
	weft_context_clear();
	if (pthread_create(&thread, NULL, hammer, NULL))
		return 1;
	while (n % 1024 || cpu_ns(CLOCK_MONOTONIC) < until) {
		uint64_t span = UINT64_C(0x5EED) << 48 | n++, trace = span + 1;
		struct weft_context c = {.span_id = span, .root_span_id = ~span};

		memcpy(c.trace_id, &trace, sizeof(trace));
		weft_context_write(&c);
		weft_context_set(span - 7, ~(span - 7));
		WEFT_SCOPE (&c) {
			weft_context_set_trace(span, ~span, c.trace_id, 1);
		}
		weft_context_set(span + 9, ~(span + 9));
	}
	hammering = 0;
	pthread_join(thread, NULL);
	return 0;
}

/* As an outside reader would: by the memfd among the descriptors. */
static int do_show(char **a)
{
	char path[64], target[64];

	(void)a;
	weft_context_set(0xABC, 0xDEF);
	for (int fd = 3; fd < 2048; fd++) {
		struct weft_session_header h;
		struct weft_slot slot;
		ssize_t bytes;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		bytes = readlink(path, target, sizeof(target) - 1);
		if (bytes < 0 || strncmp(target, "/memfd:weft-session", 19) ||
		    !(f = fopen(path, "r")))
			continue;
		if (fread(&h, sizeof(h), 1, f) == 1 && !fseek(f, (long)h.slots_offset, SEEK_SET) &&
		    fread(&slot, sizeof(slot), 1, f) == 1)
			printf("memfd 1 span %lx root %lx\n", slot.context.span_id,
			       slot.context.root_span_id);
		fclose(f);
	}
	return 0;
}

static int do_execs(char **a)
{
	static long i;

	for (i = 0; i < atol(a[0]); i++) {
		pid_t child = i % 2 ? vfork() : fork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		burn_ms(1);
		if (wait_for(child))
			return 1;
	}
	return 0;
}

static int do_forks(char **a)
{
	for (long i = 0; i < atol(a[0]); i++) {
		pid_t child = fork();

		if (child == 0) {
			burn_ms(6);
			_exit(0);
		}
		if (wait_for(child))
			return 1;
	}
	return 0;
}

/* Execs itself under its own timer's fire. */
static int do_chain(char **a)
{
	long left = atol(a[0]);
	char number[24];

	burn_ms(4);
	if (left <= 1)
		return 0;
	snprintf(number, sizeof(number), "%ld", left - 1);
	execl("/proc/self/exe", "victim", "chain", number, (char *)NULL);
	return 1;
}

static volatile sig_atomic_t caught;

static void catch (int signo)
{
	(void)signo;
	caught++;
}

static int is_blocked(int signo)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, signo);
}

/* What shells and spawning libraries do between vfork and exec. */
static int vfork_resets(void)
{
	int status = -1;
	pid_t child = vfork();

	if (child == 0) {
		signal(SIGPROF, SIG_DFL);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	return status;
}

/* The program's own SIGPROF life, as if nobody else had one. */
static int do_sigown(char **a)
{
	struct sigaction own = {.sa_handler = catch, .sa_flags = SA_NODEFER}, seen;
	int bad = 0;

	(void)a;
	bad |= check(!sigaction(SIGPROF, NULL, &seen) && seen.sa_handler == SIG_DFL, "default");
	bad |= check(!sigaction(SIGPROF, &own, &seen), "sigaction");
	bad |= check(!sigaction(SIGPROF, NULL, &seen) && seen.sa_handler == catch &&
			     (seen.sa_flags & ~SA_RESTORER) == SA_NODEFER,
		     "own action is shown");
	burn_ms(50);
	bad |= check(caught == 0, "our ticks stay away from it");
	raise(SIGPROF);
	kill(getpid(), SIGPROF);
	bad |= check(caught == 2, "foreign ones reach it");
	bad |= check(signal(SIGPROF, SIG_IGN) == catch, "signal() returns it");
	raise(SIGPROF);
	bad |= check(caught == 2, "ignored");
	own.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGPROF, &own, NULL);
	raise(SIGPROF);
	sigaction(SIGPROF, NULL, &seen);
	bad |= check(caught == 3 && seen.sa_handler == SIG_DFL, "SA_RESETHAND");
	signal(SIGPROF, catch);
	bad |= check(vfork_resets() == 0, "the child of a vfork runs");
	sigaction(SIGPROF, NULL, &seen);
	bad |= check(seen.sa_handler == catch, "and sets actions of its own");
	for (int i = 1; i < 65; i++)
		signal(i, SIG_DFL);
	burn_ms(100);
	return bad;
}

static int do_quit(char **a)
{
	burn_ms(atol(a[0]));
	_exit(0);
}

static int do_sigdfl(char **a)
{
	(void)a;
	burn_ms(20);
	raise(SIGPROF);
	return 0;
}

static int do_itimer(char **a)
{
	struct itimerval every = {{0, 10000}, {0, 10000}}, off = {{0, 0}, {0, 0}};

	signal(SIGPROF, catch);
	setitimer(ITIMER_PROF, &every, NULL);
	burn_ms(atol(a[0]));
	setitimer(ITIMER_PROF, &off, NULL);
	return check(caught > 3, "the program's own profiler ticks");
}

/* Blocked by belief: sampled all the same, and held back until it is opened. */
static int do_sigmask(char **a)
{
	sigset_t all, old;
	int bad = 0;

	sigfillset(&all);
	bad |= check(!pthread_sigmask(SIG_BLOCK, &all, &old) && !sigismember(&old, SIGPROF),
		     "old mask is open");
	bad |= check(is_blocked(SIGPROF) && is_blocked(SIGUSR1), "new mask is shut");
	weft_context_set(0x51, 0);
	burn_ms(atol(a[0]));
	raise(SIGPROF);
	burn_ms(2);
	sigpending(&all);
	bad |= check(sigismember(&all, SIGPROF), "pending");
	signal(SIGPROF, catch);
	bad |= check(caught == 0, "held back");
	sigprocmask(SIG_SETMASK, &old, NULL);
	bad |= check(caught == 1, "delivered when opened");
	bad |= check(!is_blocked(SIGPROF), "open again");
	return bad;
}

static void *wait_all(void *arg)
{
	sigset_t all;
	int signo = 0;

	sigfillset(&all);
	sigwait(&all, &signo);
	*(int *)arg = signo;
	return NULL;
}

static int do_sigwait(char **a)
{
	sigset_t all;
	struct timespec tenth = {.tv_nsec = 100000000};
	pthread_t thread;
	int got = 0, bad = 0;

	(void)a;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_create(&thread, NULL, wait_all, &got);
	nanosleep(&tenth, NULL);
	burn_ms(50);
	pthread_kill(thread, SIGPROF);
	pthread_join(thread, NULL);
	bad |= check(got == SIGPROF, "sigwait takes a foreign SIGPROF");
	pthread_create(&thread, NULL, wait_all, &got);
	nanosleep(&tenth, NULL);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	bad |= check(got == SIGUSR1, "and any other signal, never ours");
	raise(SIGPROF);
	bad |= check(sigtimedwait(&all, NULL, &tenth) == SIGPROF, "one held back before");
	burn_ms(20);
	bad |= check(sigtimedwait(&all, NULL, &tenth) == -1, "our ticks are not taken");
	return bad;
}

/* A mask that siglongjmp undoes behind every hook. */
static void block_and_jump(void)
{
	static sigjmp_buf before;
	sigset_t all;

	sigfillset(&all);
	if (sigsetjmp(before, 1))
		return;
	sigprocmask(SIG_BLOCK, &all, NULL);
	siglongjmp(before, 1);
}

/* What exec hands down: $1 is "ignored", "default", "blocked" or "jumped". */
static int do_sigexec(char **a)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	if (!strcmp(a[0], "ignored"))
		signal(SIGPROF, SIG_IGN);
	if (!strcmp(a[0], "jumped"))
		block_and_jump();
	if (!strcmp(a[0], "blocked"))
		sigprocmask(SIG_BLOCK, &set, NULL);
	burn_ms(10);
	unsetenv("LD_PRELOAD");
	unsetenv("WEFT_SOCKET");
	execl("/bin/grep", "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", (char *)NULL);
	return 1;
}

static const struct {
	const char *name;
	int arguments;
	int (*run)(char **a);
} verbs[] = {
	{"burn", 1, do_burn},     {"threads", 2, do_threads}, {"whole", 1, do_whole},
	{"fork", 1, do_fork},     {"rawfork", 1, do_rawfork}, {"execs", 1, do_execs},
	{"forks", 1, do_forks},   {"chain", 1, do_chain},     {"forkthread", 1, do_forkthread},
	{"crowd", 1, do_crowd},   {"quiet", 1, do_quiet},     {"show", 0, do_show},
	{"reap", 0, do_reap},     {"hammer", 1, do_hammer},   {"sigown", 0, do_sigown},
	{"sigdfl", 0, do_sigdfl}, {"itimer", 1, do_itimer},   {"sigmask", 1, do_sigmask},
	{"quit", 1, do_quit},     {"sigwait", 0, do_sigwait}, {"sigexec", 1, do_sigexec},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[1], verbs[i].name) && argc >= 2 + verbs[i].arguments)
			return verbs[i].run(argv + 2);
	return 2;
}
