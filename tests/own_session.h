/* SPDX-License-Identifier: Apache-2.0 */
/* For programs of tests and bench that look at the session they are recorded in. */
#ifndef WEFT_TESTS_OWN_SESSION_H
#define WEFT_TESTS_OWN_SESSION_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weft/abi/session.h>

/* The header of this process's session; NULL: it has none. */
static inline struct weft_session_header *own_session(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct weft_session_header *found = NULL;
	unsigned long start, offset;
	char line[512];

	/* (its rows of settings are mapped once more, elsewhere) */
	while (f && !found && fgets(line, sizeof(line), f))
		if (strstr(line, "memfd:weft-session") &&
		    sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2 && offset == 0)
			found = (struct weft_session_header *)start;
	if (f)
		fclose(f);
	return found && found->magic == WEFT_SESSION_MAGIC ? found : NULL;
}

/* What @signo is when this process queues it with @value. */
static inline siginfo_t own_signal(int signo, uint64_t value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signo;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)value;
	return info;
}

/* A queued @signo that the handler takes for a tick of @slot's timer. */
static inline siginfo_t own_session_tick(const struct weft_session_header *header,
					 const struct weft_slot *slot, int signo)
{
	uint64_t offset =
		(uint64_t)((const char *)slot - (const char *)header) - header->slots_offset;

	return own_signal(signo, WEFT_SIGVAL(header->cookie, slot->thread.generation,
					     offset / header->slot_stride));
}

#endif
