/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The platform interface of a system that can neither list threads nor signal one of them with a
 * value: only the start hook and the handlers prime.
 */
#include "base/platform.h"

#include <errno.h>

int platform_priming_is_available(void)
{
	return 0;
}

int platform_threads_count(int32_t pid)
{
	(void)pid;
	return -ENOSYS;
}

int platform_threads_enumerate(int32_t pid, void *room, uint32_t room_bytes,
			       int (*each)(void *arg, int32_t tid), void *arg)
{
	(void)pid, (void)room, (void)room_bytes, (void)each, (void)arg;
	return -ENOSYS;
}

int platform_thread_signal(int32_t pid, int32_t tid, int signo, uint64_t value)
{
	(void)pid, (void)tid, (void)signo, (void)value;
	return -ENOSYS;
}

int platform_realtime_signals(int *first, int *last)
{
	(void)first, (void)last;
	return -ENOSYS;
}
