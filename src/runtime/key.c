/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release of threads that no start hook sees end: a pthread key whose destructor gives the
 * slot back. The value is set outside handlers as far as can be known; keys below 32 need no
 * memory on glibc, so one above is not used (such a thread's slot is the collector's to find).
 */
#include "runtime/runtime.h"

#include <pthread.h>

/* An older glibc has them in libpthread, which a program without threads does not load. */
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

#define KEYS_WITHOUT_ALLOCATION 32

static pthread_key_t key;
static int key_is_there;

static void thread_ends(void *value)
{
	(void)value;
	weft_slot_release();
}

void weft_key_open(void)
{
	if (!key_is_there && pthread_key_create && !pthread_key_create(&key, thread_ends))
		key_is_there = key < KEYS_WITHOUT_ALLOCATION;
}

void weft_key_arm(void)
{
	if (key_is_there)
		pthread_setspecific(key, &key);
}
