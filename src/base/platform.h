/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What priming needs of a kernel, behind one interface; both planes use it.
 *
 *   platform_linux.c  all of it, by /proc and rt_tgsigqueueinfo, raw system calls only
 *   platform_posix.c  the portable subset: no thread can be listed or signalled one by one, so
 *                     available() says 0 and the profiling handler claims lazily. Built and
 *                     tested on Linux too: a port starts there.
 *
 * Async-signal-safe: no allocation, no errno, no lock. Errors are -errno; -ENOSYS where the
 * platform has no such thing.
 */
#ifndef WEFT_BASE_PLATFORM_H
#define WEFT_BASE_PLATFORM_H

#include <stdint.h>

/* Can threads be listed, counted and signalled one by one? */
int platform_priming_is_available(void);

/* How many threads @pid has (0: this process), without listing them. */
int platform_threads_count(int32_t pid);

/* Calls @each for every thread of @pid (0: this process) until it returns non-zero, which is
 * then returned; else 0. @room: of the caller, 8-aligned, 1 KiB or more. */
int platform_threads_enumerate(int32_t pid, void *room, uint32_t room_bytes,
			       int (*each)(void *arg, int32_t tid), void *arg);

/* Queue @signo with @value to one thread; si_code SI_QUEUE. */
int platform_thread_signal(int32_t pid, int32_t tid, int signo, uint64_t value);

/* Signals that may be chosen for priming: *first <= *last, real-time; -ENOSYS without any. */
int platform_realtime_signals(int *first, int *last);

#endif
