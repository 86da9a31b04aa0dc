/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Go runtime in another process, as far as the labels of its goroutines take it (runtime/pprof:
 * Do, SetGoroutineLabels): which version it is, and where that one has what.
 *
 * Go promises none of this. Its versions differ in where fields lie and in how labels are kept, so
 * that a version is read only when it is in the table of go_program.c; and what is read says itself
 * that it is what it is taken for, for each M (a thread) is named by its goroutines, too
 * (go_labels.h).
 */
#ifndef WEFT_READER_GO_PROGRAM_H
#define WEFT_READER_GO_PROGRAM_H

#include "reader/target/target.h"

#define GO_VERSION_BYTES 64
#define GO_OFFSETS_MAX 1024 /* no offset is above it */
#define GO_LISTS 8

#define GO_LINKS 2

/* Where the fields of struct runtime.m and runtime.g lie, by the minor version of Go 1. */
struct go_layout {
	uint16_t first, last; /* versions that have it */
	uint16_t m_procid;    /* the thread's tid, as the process has it; 0: it does not run */
	uint16_t m_curg;      /* the goroutine that it runs */
	/* The next M. Some versions moved it from one patch to the next: 0 = it has one place. */
	uint16_t m_alllink[GO_LINKS];
	uint16_t g_labels;     /* NULL: there are none */
	uint16_t has_map_only; /* labels are a map, not a list */
};

/* The same in all of them. */
#define GO_M_G0 0 /* the goroutine of the M itself */
#define GO_G_M 48 /* the M that runs it */

enum go_state {
	GO_ABSENT,   /* no module is Go's */
	GO_READABLE, /* layout and list are set */
	GO_UNKNOWN,  /* a version that is not in the table */
	GO_STRIPPED, /* no symbol says where its threads are, and they are not found */
};

struct go_program {
	enum go_state state;
	const struct go_layout *layout;
	/* Addresses of pointers to an M; the one to all of them, or more than one of which that is
	 * one (go_threads.h: go_scan). */
	uint64_t list[GO_LISTS];
	int list_count;
	char version[GO_VERSION_BYTES]; /* "go1.26.8"; "" = of a form that is not known */
	char path[256];                 /* of the module */
	uint64_t modules;               /* digest of the mappings in which it was looked for */
};

/* Of "go1.26.8", with whatever follows; NULL: not in the table. */
const struct go_layout *go_layout_of(const char *version);

/* The version in the @bytes of a .go.buildinfo: 0; -ENOENT: it is none. */
int go_build_version(const uint8_t *info, size_t bytes, char version[GO_VERSION_BYTES]);

/*
 * go_program_find() - in the mappings as @t has them; a zeroed *out at first. While these are the
 * same nothing is done. Of several runtimes (libraries of -buildmode=c-shared) it is the first that
 * can be read.
 */
void go_program_find(struct target *t, struct go_program *out);

#endif
