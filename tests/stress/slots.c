/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and their slots, seen from the program:
 *
 *   slots live N [GO]   N threads at a time, each with a context; when all have ended, waits
 *                       until the memory of their slots is given back, prints "settled", and
 *                       waits for the file GO
 *   slots mute N        N threads that end by a raw exit, in the hands of no hook; waits until
 *                       their slots are closed, then begins as many that end well
 *   slots short N       N short threads, a few at a time; memory of this process and of its
 *                       parent at half time and at the end
 *
 * Prints what it found as "name value", and exits 1 when a wait took longer than a minute.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft/abi/session.h>
#include <weft/context.h>

#define STACK_BYTES (64 * 1024)
#define ALIVE 8
#define TENTHS_OF_A_MINUTE 600
#define SLACK_KIB 2048

static pthread_attr_t small;
static pthread_barrier_t all_there, all_go;
static unsigned long without_slot;
static struct weft_slot **slots;

static long status_kib(const char *pid, const char *field)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "r");
	while (f && kib < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtol(line + strlen(field) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static long memory_kib(const char *pid)
{
	return status_kib(pid, "RssAnon") + status_kib(pid, "RssShmem");
}

static int wait_until(int (*holds)(long), long arg)
{
	for (int i = 0; i < TENTHS_OF_A_MINUTE; i++) {
		if (holds(arg))
			return 1;
		usleep(100000);
	}
	return 0;
}

static void work(uint64_t number)
{
	volatile uint64_t sum = 0;

	weft_context_set(number, number ^ 0x5555);
	for (uint64_t i = 0; i < 20000; i++)
		sum += i * number;
	(void)sum;
	if (!weft_thread_slot)
		__atomic_fetch_add(&without_slot, 1, __ATOMIC_RELAXED);
}

static void *live(void *arg)
{
	work((uint64_t)(uintptr_t)arg + 1);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_go);
	return NULL;
}

static int is_given_back(long peak_kib)
{
	return status_kib("self", "RssShmem") < peak_kib / 4;
}

static int is_there(long path)
{
	return access((const char *)path, F_OK) == 0;
}

static int run_live(unsigned long count, const char *go)
{
	pthread_t *threads = calloc(count, sizeof(*threads));
	unsigned long begun = 0;
	long peak_kib;

	pthread_barrier_init(&all_there, NULL, (unsigned int)count + 1);
	pthread_barrier_init(&all_go, NULL, (unsigned int)count + 1);
	while (threads && begun < count &&
	       !pthread_create(&threads[begun], &small, live, (void *)(uintptr_t)begun))
		begun++;
	if (begun < count) {
		printf("begun %lu\n", begun); /* the system allows no more */
		_exit(3);
	}
	pthread_barrier_wait(&all_there);
	peak_kib = status_kib("self", "RssShmem");
	pthread_barrier_wait(&all_go);
	for (unsigned long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	printf("peak_kib %ld\n", peak_kib);
	if (!wait_until(is_given_back, peak_kib))
		puts("not_given_back 1");
	printf("left_kib %ld\nwithout_slot %lu\nsettled 1\n", status_kib("self", "RssShmem"),
	       without_slot);
	fflush(stdout);
	return without_slot != 0 || (go && !wait_until(is_there, (long)go));
}

static void *mute(void *arg)
{
	work((uint64_t)(uintptr_t)arg + 1);
	slots[(uintptr_t)arg] = weft_thread_slot;
	pthread_detach(pthread_self());
	syscall(SYS_exit, 0);
	return NULL;
}

/* The collector wipes a slot's books when it has closed them. */
static int are_closed(long count)
{
	for (long i = 0; i < count; i++)
		if (!__atomic_load_n(&slots[i], __ATOMIC_RELAXED) ||
		    __atomic_load_n(&slots[i]->counters[WEFT_COUNTER_PRIMED_HOOK],
				    __ATOMIC_RELAXED))
			return 0;
	return 1;
}

static void *well(void *arg)
{
	work((uint64_t)(uintptr_t)arg + 1);
	return NULL;
}

static unsigned long run_short(unsigned long count)
{
	pthread_t running[ALIVE] = {0};
	unsigned long failed = 0;

	for (unsigned long i = 0; i < count; i++) {
		pthread_t *place = &running[i % ALIVE];

		if (*place)
			pthread_join(*place, NULL);
		if (pthread_create(place, &small, well, (void *)(uintptr_t)i)) {
			*place = 0;
			failed++;
		}
	}
	for (int i = 0; i < ALIVE; i++)
		if (running[i])
			pthread_join(running[i], NULL);
	return failed;
}

static int run_mute(unsigned long count)
{
	unsigned long failed = 0;
	int closed;

	slots = calloc(count, sizeof(*slots));
	for (unsigned long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &small, mute, (void *)(uintptr_t)i))
			failed++;
	}
	closed = wait_until(are_closed, (long)count);
	failed += run_short(count);
	printf("failed %lu\nclosed %d\nwithout_slot %lu\n", failed, closed, without_slot);
	return !closed || failed || without_slot;
}

/* What the collector has not come to yet is no leak: until it gets no less for a while. */
static void settle(const char *parent)
{
	long least = memory_kib("self") + memory_kib(parent);

	for (int i = 0, same = 0; i < TENTHS_OF_A_MINUTE && same < 30; i++) {
		long now;

		usleep(100000);
		now = memory_kib("self") + memory_kib(parent);
		same = now < least ? 0 : same + 1;
		least = now < least ? now : least;
	}
}

/* On a busy machine it comes to it late: a leak is what does not go within a minute. */
static void settle_to(const char *process, long kib)
{
	for (int i = 0; i < TENTHS_OF_A_MINUTE && memory_kib(process) > kib; i++)
		usleep(100000);
}

static int run_halves(unsigned long count)
{
	char parent[16];
	unsigned long failed = run_short(count / 2);
	long half_kib, half_collector_kib;

	snprintf(parent, sizeof(parent), "%d", (int)getppid());
	settle(parent);
	half_kib = memory_kib("self");
	half_collector_kib = memory_kib(parent);
	failed += run_short(count - count / 2);
	settle_to("self", half_kib + SLACK_KIB);
	settle_to(parent, half_collector_kib + SLACK_KIB);
	printf("half_kib %ld\nhalf_collector_kib %ld\n", half_kib, half_collector_kib);
	printf("end_kib %ld\nend_collector_kib %ld\n", memory_kib("self"), memory_kib(parent));
	printf("failed %lu\nwithout_slot %lu\n", failed, without_slot);
	return failed || without_slot;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	if (count && strcmp(argv[1], "live") == 0)
		return run_live(count, argv[3]);
	if (count && strcmp(argv[1], "mute") == 0)
		return run_mute(count);
	if (count && strcmp(argv[1], "short") == 0)
		return run_halves(count);
	fputs("usage: slots live N [GO] | mute N | short N\n", stderr);
	return 2;
}
