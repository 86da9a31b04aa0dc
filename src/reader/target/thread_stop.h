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
 * A thread may stay traced by us, for it cannot be detached yet: it was killed while it stood (an
 * exec of its process then waits until we wait for it), or did not stop in time. Such a thread is
 * owed. thread_stop_owed() detaches those that it can, and returns how many are still owed.
 * thread_stop() calls it first, and stops no thread (-EBUSY) while one is owed. A caller stops one
 * thread at a time: an exec of its process meanwhile would block both for ever. If it lives on, it
 * calls thread_stop_owed() every few milliseconds until that is 0.
 */
int thread_stop(int32_t tid, struct stopped_thread *out);
void thread_let_go(const struct stopped_thread *s);
size_t thread_stop_owed(void);

#endif
