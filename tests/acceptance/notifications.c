/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sees of SIGEV_THREAD (timer_create, mq_notify) and of its threads, in words that
 * are the same each time, recorded or not: values, masks, what is pending, inherited or handed to
 * exec, errors, identifiers, overruns; timers without end; more functions than weft has room for.
 *
 *   notifications            all of that
 *   notifications mask       a line with the mask, for the exec
 *   notifications work N     N notifications of 20 ms of CPU time each; linked, each with a span
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LINKED
#include <weft/context.h>
#else
#define weft_context_set(span, root) (void)(span)
#endif

static sem_t done;
static const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};

static void wait_done(void)
{
	while (sem_wait(&done))
		continue;
}

/* Signals that libc keeps to itself are its own business. */
static void print_set(const char *what, const sigset_t *set)
{
	printf("%s:", what);
	for (int i = 1; i < 32; i++)
		if (sigismember(set, i) == 1)
			printf(" %d", i);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		if (sigismember(set, i) == 1)
			printf(" %d", i);
	printf("\n");
	fflush(stdout);
}

static void print_mask(const char *what)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	print_set(what, &set);
}

__attribute__((noinline)) static void burn_notified(long ms)
{
	volatile uint64_t sum = 1;
	struct timespec t;
	int64_t now, until = 0;

	do {
		for (int i = 0; i < 20000; i++)
			sum = sum * 31 + (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
		until = until ? until : now + ms * 1000000;
	} while (now < until);
}

static void run_mask(char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(9);
	}
	waitpid(pid, NULL, 0);
}

static void *print_inherited(void *arg)
{
	print_mask("inherited");
	return arg;
}

static void look_around(union sigval value)
{
	char *argv[] = {(char[]){"notifications"}, (char[]){"mask"}, NULL};
	sigset_t set, before;
	pthread_t t;

	printf("value %s\n", value.sival_ptr == &done ? "as given" : "another");
	print_mask("mask");
	sigpending(&set);
	sigdelset(&set, SIGCHLD);
	print_set("pending", &set);
	burn_notified(20);
	print_mask("mask after work");
	pthread_create(&t, NULL, print_inherited, NULL);
	pthread_join(t, NULL);
	run_mask(argv);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_kill(pthread_self(), SIGPROF);
	sigpending(&set);
	sigdelset(&set, SIGCHLD); /* pending or not: who takes it is chance */
	print_set("pending of its own", &set);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	printf("waited for: %d\n", sigwaitinfo(&set, NULL));
	pthread_sigmask(SIG_UNBLOCK, &set, &before);
	print_set("before", &before);
	print_mask("opened");
	pthread_sigmask(SIG_BLOCK, &before, NULL); /* to set it would open what musl keeps shut */
	print_mask("as before");
	sem_post(&done);
}

static pthread_key_t key;

static void at_end(void *value)
{
	printf("key %s\n", value ? "set" : "not set");
	sem_post(&done);
}

static void exit_early(union sigval value)
{
	pthread_setspecific(key, &done);
	printf("value %d\n", value.sival_int);
	fflush(stdout);
	pthread_exit(NULL);
}

static void just_post(union sigval value)
{
	(void)value;
	sem_post(&done);
}

static struct sigevent event_of(void (*function)(union sigval), void *value)
{
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD;
	event.sigev_notify_function = function;
	event.sigev_value.sival_ptr = value;
	return event;
}

static void once(struct sigevent *event, pthread_attr_t *attr)
{
	struct itimerspec left;
	timer_t timer;

	event->sigev_notify_attributes = attr;
	if (timer_create(CLOCK_MONOTONIC, event, &timer)) {
		printf("timer: %s\n", strerror(errno));
		return;
	}
	timer_settime(timer, 0, &soon, NULL);
	wait_done();
	timer_gettime(timer, &left);
	printf("left %ld.%09ld, overrun %d\n", (long)left.it_value.tv_sec, left.it_value.tv_nsec,
	       timer_getoverrun(timer));
	printf("deleted %d\n", timer_delete(timer));
}

static void timers(void)
{
	struct sigevent event = event_of(look_around, &done);
	pthread_attr_t attr;

	once(&event, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	once(&event, &attr);
	pthread_attr_destroy(&attr);
	event = event_of(exit_early, NULL);
	event.sigev_value.sival_int = 42;
	pthread_key_create(&key, at_end);
	for (int i = 0; i < 3; i++)
		once(&event, NULL);
}

static volatile sig_atomic_t caught;

static void catch (int signo, siginfo_t *info, void *context)
{
	(void)context;
	caught = signo * 1000 + info->si_value.sival_int;
}

static void others(void)
{
	struct sigaction action = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO};
	struct sigevent event = event_of(just_post, NULL);
	timer_t timer;

	errno = 0;
	printf("clock %d", timer_create(9999, &event, &timer));
	printf(" %s\n", strerror(errno));
	event.sigev_notify = 77;
	printf("kind %d", timer_create(CLOCK_MONOTONIC, &event, &timer));
	printf(" %s\n", strerror(errno));
	event.sigev_notify = SIGEV_NONE;
	printf("none %d\n", timer_create(CLOCK_MONOTONIC, &event, &timer));
	timer_delete(timer);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	event.sigev_value.sival_int = 5;
	for (int i = 0; i < 2; i++) {
		printf("signal %d\n", timer_create(CLOCK_MONOTONIC, i ? NULL : &event, &timer));
		caught = 0;
		timer_settime(timer, 0, &soon, NULL);
		while (!caught)
			usleep(1000);
		printf("caught %d\n", i ? (int)caught / 1000 : (int)caught);
		timer_delete(timer);
	}
}

static void queues(void)
{
	struct sigevent event = event_of(look_around, &done);
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
	char name[64];
	mqd_t queue;

	snprintf(name, sizeof(name), "/notifications-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	if (queue == (mqd_t)-1) {
		printf("no queues here\n");
		return;
	}
	mq_unlink(name);
	printf("notify %d\n", mq_notify(queue, &event));
	errno = 0;
	printf("again %d", mq_notify(queue, &event));
	printf(" %s\n", strerror(errno));
	mq_send(queue, "x", 1, 0);
	wait_done();
	printf("off %d\n", mq_notify(queue, NULL));
	mq_close(queue);
	errno = 0;
	printf("closed %d", mq_notify(queue, &event));
	printf(" %s\n", strerror(errno));
	fflush(stdout);
}

static uint32_t calls[64 + 16];

#define FUNCTION(n)                                                                                \
	static void call_##n(union sigval value)                                                   \
	{                                                                                          \
		calls[n] += (uint32_t)value.sival_int;                                             \
		sem_post(&done);                                                                   \
	}
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X)                                                                                     \
	EIGHT(X, 00)                                                                               \
	EIGHT(X, 01)                                                                               \
	EIGHT(X, 02)                                                                               \
	EIGHT(X, 03)                                                                               \
	EIGHT(X, 04)                                                                               \
	EIGHT(X, 05) EIGHT(X, 06) EIGHT(X, 07) EIGHT(X, 010) EIGHT(X, 011)
ALL(FUNCTION)
#define NAME(n) call_##n,
static void (*const functions[])(union sigval) = {ALL(NAME)};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static void many_functions(void)
{
	timer_t timers[FUNCTIONS];
	uint32_t wrong = 0;

	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct sigevent event = event_of(functions[i], NULL);

		event.sigev_value.sival_int = (int)i + 1;
		if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]))
			exit(3);
	}
	for (size_t i = 0; i < FUNCTIONS; i++) {
		timer_settime(timers[i], 0, &soon, NULL);
		wait_done();
		timer_delete(timers[i]);
		wrong += calls[i] != i + 1;
	}
	printf("%zu functions, %u not called as they should be\n", FUNCTIONS, wrong);
}

static long resident_kib(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_maxrss;
}

/* Each with a value of its own. */
static void many_timers(void)
{
	long before = resident_kib(), grown;
	timer_t timer;

	for (intptr_t i = 0; i < 50000; i++) {
		struct sigevent event = event_of(just_post, (void *)i);

		if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_delete(timer))
			exit(4);
	}
	grown = resident_kib() - before;
	printf("timers without end: %s\n", grown < 2048 ? "no room" : "they take room");
}

static void work(union sigval value)
{
#ifdef LINKED
	pthread_setname_np(pthread_self(), "notified");
#endif
	weft_context_set(0xabc, 0xdef);
	burn_notified(value.sival_int);
	sem_post(&done);
}

static void work_often(int times)
{
	struct sigevent event = event_of(work, NULL);
	timer_t timer;

	event.sigev_value.sival_int = 20;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		exit(3);
	for (int i = 0; i < times; i++) {
		timer_settime(timer, 0, &soon, NULL);
		wait_done();
	}
	timer_delete(timer);
	printf("done\n");
}

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc == 2 && !strcmp(argv[1], "mask")) {
		print_mask("handed down");
		return 0;
	}
	sem_init(&done, 0, 0);
	if (argc == 3 && !strcmp(argv[1], "work")) {
		work_often(atoi(argv[2]));
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	timers();
	queues();
	others();
	many_functions();
	many_timers();
	return 0;
}
