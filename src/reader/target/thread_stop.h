/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of another process, stopped for a moment by ptrace without a signal. Whatever it
 * waits for goes on afterwards; a signal that came meanwhile is handed on. Some waits that no
 * system restarts (epoll_wait) end early, by EINTR.
 */
#ifndef WEFT_READER_THREAD_STOP_H
#define WEFT_READER_THREAD_STOP_H

#include <stddef.h>
#include <stdint.h>

struct stopped_thread {
	int32_t tid;
	int signal; /* to hand on; 0: none */
};

/*
 * thread_stop() - 0; -ESRCH: it has ended; -EPERM: not ours, or somebody traces it already;
 * -EBUSY: it is where nothing stops it (on a disk, in vfork).
 * The thread that stops must be the one that lets go.
 *
 * A thread may be ours and not at hand: killed while it stood (an exec of its process then waits
 * until we take note), or not stopped in time. thread_stop_owed() lets go of those that are at
 * hand by now, and says how many are still owed. thread_stop() does so first, and stops no other
 * (-EBUSY) while one is owed; nor does a caller who has one stopped: an exec of its process at
 * that time would block both for ever. Whoever stops threads and goes on living calls it every few
 * milliseconds until it says 0.
 */
int thread_stop(int32_t tid, struct stopped_thread *out);
void thread_let_go(const struct stopped_thread *s);
size_t thread_stop_owed(void);

#endif
