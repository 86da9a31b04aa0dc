/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching: recording a process that runs already and carries the runtime (libweft.so), whose
 * own session waits under /proc/PID/fd.
 *
 *	attach_find()     its session, looked at, checked like any stranger's, and locked: whoever
 *	                  holds the memfd's flock(2) is the one that records. The kernel lets go of
 *	                  it when its holder ends, however that happens.
 *	session_attach()  takes the session over (session_attach.c)
 *	order_try()       an order (abi/session.h) to a thread that it does not disturb (order.h)
 *
 * Nothing is written to a process that is refused. To one that carries no runtime (a stranger)
 * nothing is written either: the collector has a session of it that nobody else maps, in which
 * there is never a slot, and tells its threads by what the kernel says of them.
 */
#ifndef WEFT_COLLECTOR_ATTACH_H
#define WEFT_COLLECTOR_ATTACH_H

#include "collector/session/session.h"

#include <sys/types.h>
#include <weft/abi/session.h>

enum attach_verdict {
	ATTACH_FINE = 0,
	ATTACH_GONE,         /* no such process */
	ATTACH_THREAD,       /* a thread; other = its process */
	ATTACH_DENIED,       /* may not be looked at: another user's */
	ATTACH_NO_WEFT,      /* carries no runtime */
	ATTACH_32_BIT,       /* cannot carry one */
	ATTACH_FORKED,       /* has no session of its own yet; other = whose it was forked from */
	ATTACH_RECORDED,     /* other = who records it; 0: not known yet */
	ATTACH_OVER,         /* was recorded from its start: it keeps no descriptor */
	ATTACH_NO_FD,        /* has closed its session's descriptor */
	ATTACH_NAMESPACE,    /* lives in another PID namespace */
	ATTACH_MALFORMED,    /* its session is none, or of another version */
	ATTACH_CONTEXT_ONLY, /* libweft.a, or nobody takes orders: nothing can be armed there */
	ATTACH_FILTERED,     /* filters its system calls: its runtime asks for nothing */
	ATTACH_UNBEGUN,      /* did so from its begin, and has no session */
	ATTACH_FAILED,       /* error says why */
};

struct attach_target {
	pid_t pid;
	int is_stranger;                   /* carries no runtime: seen from outside alone */
	int fd;                            /* the memfd, locked; -1 */
	struct weft_session_header layout; /* private copy, validated */
	pid_t other;
	int error; /* -errno of ATTACH_FAILED */
};

/* @needs_orders: the cpu engine is wanted, which the process itself must arm. Without it one that
 * carries no runtime will do: a stranger, of which there is nothing to take over. */
enum attach_verdict attach_find(struct attach_target *out, pid_t pid, int needs_orders);
void attach_target_close(struct attach_target *t); /* takes one that was not found */

/* A sentence without a full stop, what is the matter and what to do. */
void attach_explain(const struct attach_target *t, enum attach_verdict verdict, char *out,
		    size_t room);

/* Is @memfd a session of @pid that may be mapped? 0 and *layout; -EPROTO; -EXDEV: another
 * process's, whose number is in layout->pid. @start: its start time, clock ticks. */
int attach_check(int memfd, pid_t pid, uint64_t start, struct weft_session_header *layout);

/*
 * session_attach() - take over the session of @t for process @p, as its recorder: what an
 * earlier one left is closed, settings are written, the engines are told to run. The descriptor
 * is taken over, too. 0 and *out, or -errno: then the session stays stopped.
 */
int session_attach(struct session **out, struct process *p, struct attach_target *t,
		   const struct session_settings *settings);

/* Are handlers and timers in place there, as far as it can be believed? */
int session_engines_run(const struct session *s);

/* The runtime's word on the newest order to attach: 0 carried out, or there was none to give, as in
 * a process with libweft.a, where nobody takes orders; -EAGAIN not yet; -errno. */
int session_attach_state(const struct session *s);

#endif
