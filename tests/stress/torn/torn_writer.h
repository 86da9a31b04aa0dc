/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose threads do nothing but switch between few contexts: FORMAT THREADS. Says
 * "ready"; ends when its standard input does. Of many threads each takes short rests: a thousand
 * that never do would leave the machine to nobody, not even to who reads them. A few take none.
 */
#ifndef TORN_WRITER_H
#define TORN_WRITER_H

#include "torn.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* For ever. */
typedef void (*torn_switch)(const struct torn *contexts);

#define TORN_BUSY 8 /* so few take no rests */
#define TORN_BURST 64

static int torn_rests;

/* Call it before each switch. */
static inline void torn_rest(uint64_t *left)
{
	static __thread uint64_t random = 1;
	struct timespec t = {0, 0};

	if (!torn_rests || (*left)--)
		return;
	random = torn_mix(random + (uint64_t)(uintptr_t)&random);
	*left = random % TORN_BURST;
	t.tv_nsec = (long)(random >> 32) % 40000000;
	nanosleep(&t, NULL);
}

struct torn_thread {
	torn_switch run;
	unsigned int number;
};

static void *torn_thread_main(void *arg)
{
	const struct torn_thread *t = arg;
	struct torn contexts[TORN_CONTEXTS];
	for (unsigned int i = 0; i < TORN_CONTEXTS; i++)
		contexts[i] = torn_of_thread(t->number, i);
	t->run(contexts);
	return NULL;
}

static int torn_write(torn_switch run, unsigned int threads)
{
	struct torn_thread *all = calloc(threads, sizeof(*all));
	pthread_attr_t small;
	pthread_t thread;
	char byte;

	torn_rests = threads > TORN_BUSY;
	setpriority(PRIO_PROCESS, 0,
		    19); /* its threads inherit it: they leave the machine to all */
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	for (unsigned int i = 0; all && i < threads; i++) {
		all[i] = (struct torn_thread){run, i};
		if (pthread_create(&thread, &small, torn_thread_main, &all[i]))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	_exit(0);
}

#endif
