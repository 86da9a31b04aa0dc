/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proof, without stopping it, that a thread did not run while something of it was read.
 *
 *	still_begin()   notes how often the thread has come onto a CPU (schedstat, third number),
 *	                and makes sure that it is on none right then. For a sleeping thread the
 *	                kernel does so: only then are there numbers in `syscall`. A runnable one
 *	                waits for the CPU in field 39 of stat: the calling thread moves there and
 *	                looks again, for two cannot run on one CPU
 *	(reading)
 *	still_end()     it has come onto no CPU since: so all was read while it did not run
 *
 * What only the thread itself writes cannot have changed in between, whatever it looks like. A
 * thread that was on another CPU waits for this one for the time of the reading, as it would
 * for any other program.
 */
#ifndef WEFT_READER_STILL_H
#define WEFT_READER_STILL_H

#include <sched.h>
#include <stdint.h>

struct still {
	cpu_set_t own; /* where the calling thread could run before */
	int moved;     /* the calling thread may run on `cpu` alone */
	int cpu;
	int never_move; /* rather say -EAGAIN: on a busy machine each move is a wait */
	uint64_t arrivals;
};

/* 0; -EAGAIN: it runs, or has just been moved; -ESRCH; -ENOTSUP: the kernel does not count
 * (SCHED_INFO), or we may not run where the thread does. */
int still_begin(struct still *s, int proc_fd, int32_t tid);
/* 1: it did not run; 0: it did; -errno. */
int still_end(const struct still *s, int proc_fd, int32_t tid);
/* Lets the calling thread run where it could before. Takes a zeroed one. */
void still_close(struct still *s);

#endif
