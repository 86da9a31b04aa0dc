/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a process carry the runtime, and what does its session say? A look from outside, by
 * /proc alone: nothing in the process changes. What is found there is shown, not trusted.
 *
 * The session is a memfd named weft-session. A session that the runtime made itself is among
 * the descriptors; one that a collector made is only mapped (the target keeps no descriptor
 * then), and so is the parent's in a forked child.
 */
#ifndef WEFT_COLLECTOR_CARRIER_H
#define WEFT_COLLECTOR_CARRIER_H

#include <libelf.h>
#include <sys/types.h>
#include <weft/abi/session.h>

#define CARRIER_MEMFD "/memfd:weft-session"

/* How the runtime came into the process. */
enum carrier_way {
	CARRIER_STATIC,    /* libweft.a: no libweft.so is mapped */
	CARRIER_PRELOADED, /* LD_PRELOAD named it */
	CARRIER_LINKED,    /* the executable needs it */
	CARRIER_LOADED,    /* dlopen, or another library needs it */
};

enum carrier_state {
	CARRIER_IDLE,     /* context is published, nobody records */
	CARRIER_RECORDED, /* by header.collector_pid */
	CARRIER_OVER,     /* its recording has ended */
	CARRIER_LEFT,     /* its collector was killed */
	CARRIER_FORKED,   /* has its parent's session mapped, and none of its own (yet) */
	CARRIER_UNKNOWN,  /* the session could not be read */
};

struct carrier {
	pid_t pid;
	int fd;           /* the number of the session's descriptor there; -1 = it keeps none */
	uint64_t inode;   /* of the memfd */
	uint64_t address; /* where its first page is mapped; 0 = nowhere */
	uint64_t end;     /* of that mapping */
	int has_header;
	struct weft_session_header header; /* a copy, unchecked */
	int has_library;                   /* libweft.so is mapped */
	enum carrier_way way;
};

/*
 * carrier_look() - 0; -ENOENT: carries no runtime; -ESRCH: no such process (any more);
 * -EACCES: may not be looked at (another user's); -errno.
 */
int carrier_look(struct carrier *out, pid_t pid);

enum carrier_state carrier_state(const struct carrier *c);

/* Names for people and programs. */
const char *carrier_way_text(enum carrier_way way);
const char *carrier_state_text(enum carrier_state state);

/* Does a file need a library by such a name? */
int carrier_elf_needs(Elf *elf, int (*is_it)(const char *name));

/* Is it in the same PID namespace as we are? 1, 0, or -errno. */
int carrier_is_near(pid_t pid);

/* A number of /proc/PID/status ("Threads", "Tgid"); -1 = cannot be had. */
long carrier_status_number(pid_t pid, const char *name);

#endif
