/* SPDX-License-Identifier: Apache-2.0 */
/* What weft inspect prints: a table for people (inspect_text.c), JSON (inspect_json.c). */
#ifndef WEFT_CLI_INSPECT_SHOW_H
#define WEFT_CLI_INSPECT_SHOW_H

#include "reader/context/inspect.h"

#include <stdio.h>

struct inspect_show {
	const struct inspect *inspect;
	const char *thread; /* pattern of names and tids; NULL = all */
	unsigned int abis;  /* a bit per enum live_abi */
	int is_line;        /* JSON on one line */
};

extern const char *const inspect_abi_text[]; /* ends with NULL */

int inspect_shows_thread(const struct inspect_show *show, const struct inspect_thread *t);
int inspect_shows_context(const struct inspect_show *show, const struct live_context *c);

enum inspect_format { INSPECT_OTEL_PROCESS, INSPECT_OTEL_THREAD, INSPECT_LABELS, INSPECT_NODEJS };
/* Who publishes by a format: "weft", "another library", "weft or another library" (weft's session
 * is there, but cannot be read), "failed"; NULL = nobody. */
const char *inspect_publisher(const struct inspect *i, enum inspect_format format);
/* Why labels of goroutines cannot be read; NULL: they can, or it is no Go program. */
const char *inspect_go_trouble(const struct inspect *i);
const char *inspect_trouble_text(enum inspect_trouble trouble);

int inspect_text(const struct inspect_show *show, FILE *out);
int inspect_json(const struct inspect_show *show, FILE *out); /* 0 or -errno */

#endif
