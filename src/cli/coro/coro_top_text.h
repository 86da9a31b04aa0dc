/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro top as lines of text, and on a screen. */
#ifndef WEFT_CLI_CORO_TOP_TEXT_H
#define WEFT_CLI_CORO_TOP_TEXT_H

#include "coro/look/top.h"

#define TOP_LINE 512
/* Lines of text, not cut; each returns @line. */
const char *top_title(struct top *t, char line[TOP_LINE]);
const char *top_sums(struct top *t, char line[TOP_LINE]);
const char *top_warnings(struct top *t, char line[TOP_LINE]);
const char *top_heads(char line[TOP_LINE]);
const char *top_line(struct top *t, const struct top_row *row, char line[TOP_LINE]);
/* The model's has_text(): is it in the row's line? */
int top_has_text(struct top *t, const struct top_row *row, const char *text);

/* The interactive one; returns an exit status. 0 refresh: as fast as 100 ms. */
int top_screen(struct top *t, uint64_t refresh_ns);

#endif
