/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What priming needs of a kernel, behind one interface; both planes use it.
 *
 *   platform_linux.c  all of it, by /proc and rt_tgsigqueueinfo, raw system calls only
 *   platform_posix.c  the portable subset: threads can neither be listed nor signalled one by one,
 *                     so that available() returns 0 and the profiling handler claims lazily. Built
 *                     and tested on Linux, too: a port starts there.
 *
 * Async-signal-safe: no allocation, no errno, no lock. Errors are -errno; -ENOSYS: the platform
 * does not have it.
 */
#ifndef WEFT_BASE_PLATFORM_H
#define WEFT_BASE_PLATFORM_H

#include <stdint.h>

/* Can threads be listed, counted and signalled one by one? */
int platform_priming_is_available(void);

/* The number of threads of @pid (0: this process), without listing them. */
int platform_threads_count(int32_t pid);

/* Calls @each for every thread of @pid (0: this process) until it returns non-zero; returns that,
 * else 0. @room: the caller's buffer, 8-aligned, 1 KiB or more. */
int platform_threads_enumerate(int32_t pid, void *room, uint32_t room_bytes,
			       int (*each)(void *arg, int32_t tid), void *arg);

/* Queue @signo with @value to one thread; si_code SI_QUEUE. */
int platform_thread_signal(int32_t pid, int32_t tid, int signo, uint64_t value);

/* The signals that may be chosen for priming, real-time: *first <= *last; -ENOSYS: there are
 * none. */
int platform_realtime_signals(int *first, int *last);

#endif
