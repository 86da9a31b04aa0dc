/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release of threads at their very end: a pthread key whose destructor gives the slot back.
 * The program's own destructors still run, and are sampled, after the thread's function has
 * returned; so ours puts itself off to the last but one of the rounds that POSIX promises (in
 * the last one sanitizers take their own state of the thread away). A destructor of the program's
 * that calls weft after ours gets no slot any more: nobody would give it back. The value is
 * set outside handlers as far as can be known; keys below 32 need no memory on glibc, so one
 * above is not used: then the start hook releases, and a slot of another thread is the
 * collector's to find.
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
static char round_mark[ROUNDS]; /* the value points to the round that comes */

/* Not where TLS is by descriptor: a first touch takes memory. There such a slot stays lost. */
#ifndef WEFT_LATE
static __thread char has_ended WEFT_TLS_MODEL;
#endif

static void thread_ends(void *value)
{
	char *round = value;

	if (round < &round_mark[ROUNDS - 1] && !pthread_setspecific(key, round + 1))
		return;
#ifndef WEFT_LATE
	has_ended = 1;
#endif
	weft_slot_release();
}

int weft_key_has_ended(void)
{
#ifndef WEFT_LATE
	return has_ended;
#else
	return 0;
#endif
}

void weft_key_begin_anew(void)
{
#ifndef WEFT_LATE
	has_ended = 0;
#endif
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
