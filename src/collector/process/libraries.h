/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files with code lie where in a process, as its mappings tell: a file is there from the
 * start of its first mapping to the end of its last. Made by the walker, written into the
 * recording by the worker (jdk.NativeLibrary); handed over through process_tell_libraries(). A list
 * has what lies there now and, marked, what has gone since it was last written.
 */
#ifndef WEFT_COLLECTOR_LIBRARIES_H
#define WEFT_COLLECTOR_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>

/* More are not told. */
#define LIBRARIES_MAX 4096

struct library {
	uint64_t base, top; /* top: the first byte behind it */
	char *path;         /* as the process sees it */
	int gone;           /* it does not lie there any more */
};

struct libraries {
	struct library *item;
	size_t count, room;
};

/* From the text of /proc/PID/maps; NULL: out of memory, or there are none. */
struct libraries *libraries_read(const char *text, size_t bytes);
void libraries_free(struct libraries *l); /* takes NULL */

/* Of @before (frees it; may be NULL), what is not in @now has gone: adds it there. */
void libraries_follow(struct libraries *now, struct libraries *before);

/* What has gone is forgotten. */
void libraries_settle(struct libraries *l);

#endif
