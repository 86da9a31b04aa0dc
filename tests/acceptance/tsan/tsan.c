/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs without a race, for ThreadSanitizer: each does one kind of thing that weft stands
 * before.
 *
 *   tsan KIND
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS 40
#define STEPS 300000

#include <weft/labels.h>

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t word;
static unsigned long shared; /* under the lock, or handed on */

static void compute(void)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < STEPS; i++)
		sum += i * i;
}

static void run_threads(void *(*run)(void *), int count)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			abort();
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

/* ---- plain: an argument, a result, what a thread's threads leave */

static void *add_one(void *arg)
{
	unsigned long *number = arg;

	compute();
	*number += 1;
	return number;
}

static void *add_by_threads(void *arg)
{
	unsigned long *number = malloc(sizeof(*number));
	pthread_t thread;
	void *result;

	(void)arg;
	*number = 1;
	if (pthread_create(&thread, NULL, add_one, number))
		abort();
	pthread_join(thread, &result);
	if (*(unsigned long *)result != 2)
		abort();
	free(result);
	return NULL;
}

static void plain(void)
{
	for (int i = 0; i < ROUNDS; i++)
		run_threads(add_by_threads, THREADS);
}

/* ---- locks */

static void *count_locked(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		compute();
	}
	return NULL;
}

static void locks(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, count_locked, NULL))
		abort();
	pthread_mutex_lock(&lock);
	while (shared < ROUNDS)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	run_threads(count_locked, THREADS);
}

/* ---- detached: threads that nobody joins, which end by pthread_exit */

static void *leave_word(void *arg)
{
	unsigned long *number = arg;

	compute();
	free(number);
	pthread_mutex_lock(&lock);
	shared++;
	pthread_mutex_unlock(&lock);
	sem_post(&word);
	pthread_exit(NULL);
}

static void detached(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < THREADS; k++)
			if (pthread_create(&thread, &attr, leave_word, malloc(64)))
				abort();
		for (int k = 0; k < THREADS; k++)
			sem_wait(&word);
	}
	pthread_attr_destroy(&attr);
}

/* ---- keys: values that a thread's end destroys */

static pthread_key_t key;

static void destroy(void *value)
{
	pthread_mutex_lock(&lock);
	shared += *(unsigned long *)value;
	pthread_mutex_unlock(&lock);
	free(value);
}

static void *set_value(void *arg)
{
	unsigned long *value = malloc(sizeof(*value));

	(void)arg;
	*value = 1;
	pthread_setspecific(key, value);
	compute();
	return NULL;
}

static void keys(void)
{
	pthread_key_create(&key, destroy);
	for (int i = 0; i < ROUNDS; i++)
		run_threads(set_value, THREADS);
	if (shared != ROUNDS * THREADS)
		abort();
}

/* ---- signals: masks, a handler, a thread that waits for one */

static void post(int signo)
{
	(void)signo;
	sem_post(&word);
}

static void *wait_for_signal(void *arg)
{
	sigset_t set;
	int signo;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (sigwait(&set, &signo) || signo != SIGUSR2)
		abort();
	*(unsigned long *)arg += 1;
	return arg;
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = post, .sa_flags = SA_RESTART};
	unsigned long number = 0;
	sigset_t set, before;
	pthread_t thread;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	for (int i = 0; i < ROUNDS; i++) {
		if (pthread_create(&thread, NULL, wait_for_signal, &number))
			abort();
		compute();
		pthread_kill(pthread_self(), SIGUSR1);
		while (sem_wait(&word) && errno == EINTR)
			;
		pthread_kill(thread, SIGUSR2);
		pthread_join(thread, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (number != ROUNDS)
		abort();
}

/* ---- names, calls: what has hooks of its own */

static void *name_itself(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "named");
	prctl(PR_SET_NAME, "again", 0, 0, 0);
	if (syscall(SYS_gettid) <= 0)
		abort();
	compute();
	return NULL;
}

static void names(void)
{
	for (int i = 0; i < ROUNDS; i++)
		run_threads(name_itself, THREADS);
}

/* ---- processes */

static void processes(void)
{
	char *const argv[] = {(char *)"true", NULL};
	int status;
	pid_t pid;

	for (int i = 0; i < 4; i++) {
		compute();
		if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			abort();
		pid = fork();
		if (pid == 0) {
			compute();
			_exit(3);
		}
		if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
			abort();
		if (system("exit 4") != 4 << 8)
			abort();
	}
}

/* ---- jumps */

static void *jump(void *arg)
{
	sigjmp_buf back;

	(void)arg;
	for (volatile int i = 0; i < ROUNDS; i++) {
		if (!sigsetjmp(back, 1)) {
			compute();
			siglongjmp(back, 1);
		}
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void jumps(void)
{
	run_threads(jump, THREADS);
}

/* ---- modules */

static void *load(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		void *handle = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);

		if (handle)
			dlclose(handle);
	}
	return NULL;
}

static void modules(void)
{
	run_threads(load, THREADS);
}

/* ---- threads that libc itself begins */

static void notify(union sigval value)
{
	(void)value;
	compute();
	sem_post(&word);
}

static void notifications(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
	struct itimerspec due = {.it_value = {.tv_nsec = 1000000}};
	timer_t timer;

	for (int i = 0; i < ROUNDS; i++) {
		if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
		    timer_settime(timer, 0, &due, NULL))
			abort();
		while (sem_wait(&word) && errno == EINTR)
			;
		timer_delete(timer);
	}
}

static int run_c11(void *arg)
{
	return *(unsigned long *)add_one(arg) == 2;
}

static void c11(void)
{
	unsigned long number;
	thrd_t thread;
	int result;

	for (int i = 0; i < ROUNDS; i++) {
		number = 1;
		if (thrd_create(&thread, run_c11, &number) != thrd_success)
			abort();
		thrd_join(thread, &result);
		if (!result)
			abort();
	}
}

/* ---- labels: slots that one thread fills after another */

static void *set_labels(void *arg)
{
	char value[64];

	(void)arg;
	snprintf(value, sizeof(value), "of thread %lx", (unsigned long)pthread_self());
	for (int i = 0; i < ROUNDS; i++) {
		weft_label_set("tsan", value);
		compute();
		weft_labels_clear();
	}
	return NULL;
}

static void labels(void)
{
	for (int i = 0; i < ROUNDS; i++)
		run_threads(set_labels, THREADS);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{"plain", plain},
	{"locks", locks},
	{"detached", detached},
	{"keys", keys},
	{"signals", signals},
	{"names", names},
	{"processes", processes},
	{"jumps", jumps},
	{"modules", modules},
	{"notifications", notifications},
	{"c11", c11},
	{"labels", labels},
};

int main(int argc, char **argv)
{
	sem_init(&word, 0, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			puts("done");
			return 0;
		}
	return 2;
}
