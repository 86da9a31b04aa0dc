/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro report, printed. */
#ifndef WEFT_CLI_CORO_REPORT_H
#define WEFT_CLI_CORO_REPORT_H

#include "coro/look/names.h"
#include "coro/look/report.h"

#include <stdio.h>

struct coro_report_show {
	const char *path;
	const char *kind; /* "trace", "recording", "shared file" */
	struct coro_names *names;
	unsigned int by; /* tables that are wanted: 1 << enum coro_by */
	uint64_t top;    /* rows of each; 0 = all */
	int columns;     /* 0 = any */
	int findings;    /* show them, too; 0: tables alone */
};

/* The groups that are not empty, in order: most time first. Returns @g's array. */
struct coro_group *coro_groups_sorted(struct coro_groups *g);
extern const char *const coro_by_text[CORO_BYS], *const coro_confidence_text[];
/* What a group is called. Returns @out. */
const char *coro_group_text(const struct coro_report_show *show, enum coro_by by,
			    const struct coro_group *g, char out[CORO_NAME_BYTES]);

/* Errors of @out stay in it. */
void coro_report_text(struct coro_report *r, const struct coro_report_show *show, FILE *out);
/* To standard output. 0 or -errno. */
int coro_report_json(struct coro_report *r, const struct coro_report_show *show);

#endif
