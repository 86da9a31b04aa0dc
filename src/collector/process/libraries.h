/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files with code are mapped where in a process: a file reaches from the start of its first
 * mapping to the end of its last. Made by the walker, written into the recording by the worker
 * (jdk.NativeLibrary), handed over by process.told. A list has what is mapped now and, marked as
 * gone, what has been unmapped since the list was last written.
 */
#ifndef WEFT_COLLECTOR_LIBRARIES_H
#define WEFT_COLLECTOR_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>

/* more are left out */
#define LIBRARIES_MAX 4096

struct library {
	uint64_t base, top; /* top: the first byte behind it */
	char *path;         /* as the process sees it */
	int gone;           /* it is mapped there no more */
};

struct libraries {
	struct library *item;
	size_t count, room;
};

/* From the text of /proc/PID/maps; NULL: out of memory, or there are none. */
struct libraries *libraries_read(const char *text, size_t bytes);
void libraries_free(struct libraries *l); /* takes NULL */

/* Adds what only @before has to @now, marked as gone. Frees @before, which may be NULL. */
void libraries_follow(struct libraries *now, struct libraries *before);

/* Removes what is marked as gone. */
void libraries_settle(struct libraries *l);

#endif
