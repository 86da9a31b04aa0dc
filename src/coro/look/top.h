/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of weft coro top: coroutines as they are, what they did since the last look, and
 * what is odd about them.
 */
#ifndef WEFT_CORO_TOP_H
#define WEFT_CORO_TOP_H

#include "coro/look/source.h"

enum top_lint {
	TOP_STUCK = 1 << 0,   /* suspended long, and not woken */
	TOP_LONG = 1 << 1,    /* runs long without a suspension */
	TOP_STARVED = 1 << 2, /* woken long ago, and not resumed */
	TOP_NEVER = 1 << 3,   /* created long ago, and never resumed */
};
#define TOP_LINTS 4

enum top_sort { TOP_BY_FOR, TOP_BY_RUN, TOP_BY_WAIT, TOP_BY_SWITCHES, TOP_BY_ID, TOP_SORTS };
extern const char *const top_sorts[]; /* names; ends with NULL */
enum top_sort top_sort_of(const char *name);

struct top_row {
	uint64_t probe_id, for_ns, addr, site;
	uint64_t run_ns, wait_ns, switches; /* since the last look */
	uint32_t pid, tid;
	uint8_t state, lints;
	uint8_t has_context;
	struct weft_ctp_context context;
};

/* Of a station at the last look. */
struct top_before {
	uint32_t generation;
	uint64_t run_ns, wait_ns, resumes;
};

#define TOP_HISTORY 10

struct top {
	struct coro_source source;
	/* what is asked */
	uint64_t stuck_ns, long_ns;
	enum top_sort sort;
	int only_lints;
	char filter[64]; /* only rows of which has_text() holds; "" = any, and it is not called */
	int (*has_text)(struct top *t, const struct top_row *row, const char *text);
	/* what there is */
	struct top_row *rows;
	size_t count, room;
	struct top_before *before;
	size_t before_room;
	uint64_t looked_ns, period_ns; /* 0: the first look */
	uint64_t counts[WEFT_CTP_LISTED + 1], linted[TOP_LINTS];
	uint64_t switches, run_ns, refused;
	uint64_t live[TOP_HISTORY]; /* of the last looks, newest last */
	unsigned int looks;
	int error;
};

/* Reads all. 0 or -errno. */
int top_look(struct top *t);
void top_free(struct top *t);

/* Live coroutines became more from look to look, all that are remembered. */
int top_is_growing(const struct top *t);
uint64_t top_live(const struct top *t);
uint64_t top_per_second(const struct top *t, uint64_t count);

#endif
