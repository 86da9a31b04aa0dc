/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a lock, as its libc's own words say. One build of the library serves any libc, so which
 * one it is is found out once, at run time; the words are those of 64-bit glibc and musl.
 *
 *   glibc  mutex: int lock, unsigned count, int owner (thread id), unsigned users, int kind
 *          rwlock: unsigned readers, writers, wrphase_futex, writers_futex, pad[2];
 *                  int cur_writer (thread id; 0 while readers have it)
 *   musl   mutex: int type, int lock (thread id in the low 30 bits unless the type is 0)
 */
#include <dlfcn.h>

#include "waits/waits.h"

#define GLIBC_MUTEX_OWNER 2
#define GLIBC_RWLOCK_WRITER 6
#define GLIBC_ROBUST 16
#define MUSL_TYPES 15
#define TID_MASK 0x3FFFFFFF /* thread id in a lock's word, in both */

static int is_glibc = -1;
int32_t weft_waits_robust_bit;

static int32_t word(const void *object, int index)
{
	return load_relaxed((const int32_t *)object + index);
}

void weft_waits_holder_open(void)
{
	is_glibc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version") != NULL;
	weft_waits_robust_bit = is_glibc ? GLIBC_ROBUST : 0;
	if (!is_glibc)
		(void)dlerror();
}

int32_t weft_waits_mutex_holder(const void *mutex)
{
	int32_t owner;

	if (is_glibc > 0) { /* the owner's word of a robust one may hold more than the owner */
		owner = word(mutex, GLIBC_MUTEX_OWNER);
		return owner & ~TID_MASK ? 0 : owner;
	}
	return is_glibc == 0 && (word(mutex, 0) & MUSL_TYPES) ? word(mutex, 1) & TID_MASK : 0;
}

int32_t weft_waits_rwlock_holder(const void *rwlock)
{
	return is_glibc > 0 ? word(rwlock, GLIBC_RWLOCK_WRITER) : 0;
}

int weft_waits_is_taken(const void *mutex)
{
	return (word(mutex, 0) & TID_MASK) != 0;
}
