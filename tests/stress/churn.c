/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short threads without end: churn THREADS ALIVE. Each thread works a fraction of a
 * millisecond under a context of its own; at most ALIVE exist at a time. Prints the number
 * of threads that could not be made, which must be 0, and exits 1 when it is not.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/context.h>

#define ALIVE_MAX 256
#define WORK 40000

static void *work(void *arg)
{
	uint64_t number = (uint64_t)(uintptr_t)arg;
	volatile uint64_t sum = 0;

	weft_context_set(number, number ^ UINT64_C(0x5555));
	for (uint64_t i = 0; i < WORK; i++)
		sum += i * number;
	(void)sum;
	weft_context_set(0, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	unsigned long alive = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
	pthread_t running[ALIVE_MAX] = {0};
	unsigned long failed = 0;

	alive = alive < 1 ? 1 : alive > ALIVE_MAX ? ALIVE_MAX : alive;
	for (unsigned long i = 0; i < threads; i++) {
		pthread_t *place = &running[i % alive];

		if (i >= alive && *place)
			pthread_join(*place, NULL);
		if (pthread_create(place, NULL, work, (void *)(uintptr_t)(i + 1))) {
			*place = 0;
			failed++;
		}
	}
	for (unsigned long i = 0; i < alive && i < threads; i++)
		if (running[i])
			pthread_join(running[i], NULL);
	printf("%lu threads, %lu failed\n", threads, failed);
	return failed != 0;
}
