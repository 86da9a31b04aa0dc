/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that the recorded program has started and that still run: those whose environment
 * names our socket. A forked child joins only when it uses CPU time, and a program that
 * cannot be recorded never does; both are found here.
 */
#ifndef WEFT_COLLECTOR_DESCENDANTS_H
#define WEFT_COLLECTOR_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

struct collector_running {
	pid_t pid;
	char command[64];
};

/* Fills up to @room entries; returns how many there are. Slow: it reads all of /proc. */
size_t descendants_find(const char *socket, struct collector_running *out, size_t room);

#endif
