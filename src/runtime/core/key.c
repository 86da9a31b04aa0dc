/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases a thread's slot when the thread ends, by the destructor of a pthread key. The program's
 * own destructors still run, and are sampled, after the thread's function has returned, so ours
 * postpones itself to the last but one of the rounds that POSIX promises (in the last one
 * sanitizers delete their own state of the thread). A destructor of the program that calls weft
 * after ours gets no slot: nobody would release it. The key's value is set outside handlers as far
 * as can be known. On glibc keys below 32 need no allocation, and one above is not used: then the
 * start hook releases the slot, and those of other threads are found by the collector.
 */
#include "runtime/core/runtime.h"

#include <pthread.h>

/* An older glibc has them in libpthread, which a program without threads does not load. */
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

#define KEYS_WITHOUT_ALLOCATION 32

#define ROUNDS 3 /* of the 4 that PTHREAD_DESTRUCTOR_ITERATIONS is, at least */

static pthread_key_t key;
static int key_is_there;
static char round_mark[ROUNDS]; /* the value points to the next round */

/* Not where TLS may be dynamic, whose first access allocates. There such a slot is not released. */
#ifndef WEFT_LATE
static __thread char has_ended WEFT_TLS_MODEL;
#define SET_ENDED(is) (has_ended = (is))
#else
enum { has_ended };
#define SET_ENDED(is) ((void)0)
#endif

static void thread_ends(void *value)
{
	char *round = value;

	if (round < &round_mark[ROUNDS - 1] && !pthread_setspecific(key, round + 1))
		return;
	SET_ENDED(1);
	weft_slot_release();
}

int weft_key_has_ended(void)
{
	return has_ended;
}

void weft_key_begin_anew(void)
{
	SET_ENDED(0);
}

void weft_key_open(void)
{
	if (!key_is_there && pthread_key_create && !pthread_key_create(&key, thread_ends))
		key_is_there = key < KEYS_WITHOUT_ALLOCATION;
}

int weft_key_arm(void)
{
	return key_is_there && pthread_setspecific(key, round_mark) == 0;
}
