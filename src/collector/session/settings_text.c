/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a recording as text: see settings_text.h. */
#include "collector/session/settings_text.h"

#include "base/atomic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int settings_line_next(const char *text, size_t bytes, size_t *at, struct setting_line *out)
{
	const char *line = text + *at;
	int rc = weft_setting_line(text, bytes, at, out);

	if (rc > 0 &&
	    (!out->glob.bytes || !out->name.bytes || memchr(line, 0, (size_t)(text + *at - line))))
		return -EINVAL;
	return rc;
}

static int is_same_key(const struct setting_line *a, const struct setting_line *b)
{
	return a->glob.bytes == b->glob.bytes && a->name.bytes == b->name.bytes &&
	       memcmp(a->glob.at, b->glob.at, a->glob.bytes) == 0 &&
	       strncasecmp(a->name.at, b->name.at, a->name.bytes) == 0;
}

static int is_said_later(const struct setting_line *line, const char *text, size_t bytes,
			 size_t from)
{
	struct setting_line later;
	int rc;

	while ((rc = settings_line_next(text, bytes, &from, &later)))
		if (rc > 0 && is_same_key(line, &later))
			return 1;
	return 0;
}

static char *settings_text_put_line(char *to, const struct setting_line *l)
{
	size_t bytes = (size_t)(l->value.at - l->glob.at) + l->value.bytes;

	memcpy(to, l->glob.at, bytes);
	to[bytes] = '\n';
	return to + bytes + 1;
}

/* Those of @text that neither it nor @over says again behind them. */
static char *keep_lines(char *to, const char *text, size_t bytes, const char *over,
			size_t over_bytes)
{
	struct setting_line line;
	size_t at = 0;
	int rc;

	while ((rc = settings_line_next(text, bytes, &at, &line)))
		if (rc > 0 && !is_said_later(&line, text, bytes, at) &&
		    !is_said_later(&line, over, over_bytes, 0))
			to = settings_text_put_line(to, &line);
	return to;
}

int settings_text_add(struct settings_text *t, const char *lines, size_t bytes)
{
	char *grown, *to;

	if (bytes > SETTINGS_TEXT_MAX)
		return -ENOSPC;
	grown = malloc(t->bytes + bytes + 2); /* a last line may lack its end */
	if (!grown)
		return -ENOMEM;
	to = keep_lines(grown, t->text ? t->text : "", t->bytes, lines, bytes);
	to = keep_lines(to, lines, bytes, "", 0);
	if ((size_t)(to - grown) > SETTINGS_TEXT_MAX) {
		free(grown);
		return -ENOSPC;
	}
	free(t->text);
	t->text = grown;
	t->bytes = (size_t)(to - grown);
	return 0;
}

void settings_text_free(struct settings_text *t)
{
	free(t->text);
	*t = (struct settings_text){0};
}

/* Pairs with the reader in the program, which reads again if seq is odd, or has changed. */
void settings_text_publish(const struct settings_text *t, struct weft_event_text *to)
{
	uint64_t seq = load_relaxed(&to->seq) | 1;

	store_relaxed(&to->seq, seq);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&to->bytes, (uint32_t)t->bytes);
	if (t->bytes)
		memcpy(to + 1, t->text, t->bytes);
	store_release(&to->seq, seq + 1);
}
