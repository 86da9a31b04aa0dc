/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream can show is asked anew at every call, which is cheap. */
#include "cli/frame/term.h"

#include "base/text/visible.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_UNKNOWN 80

int term_is(FILE *stream)
{
	return isatty(fileno(stream));
}

int term_has_cursor(FILE *stream)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0 && term_is(stream);
}

static int term_has_colour(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");

	return !(no_color && *no_color) && term_has_cursor(stream);
}

int term_columns(FILE *stream)
{
	struct winsize size;

	if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return COLUMNS_UNKNOWN;
}

const char *term_colour(FILE *stream, enum term_colour colour)
{
	static const char *const sequences[] = {
		[TERM_PLAIN] = "\033[0m", [TERM_BOLD] = "\033[1m",   [TERM_DIM] = "\033[2m",
		[TERM_RED] = "\033[31m",  [TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m",
	};

	return term_has_colour(stream) ? sequences[colour] : "";
}

/* Prints one line of the text; returns where it ends. */
static const char *term_put_line(FILE *out, const char *text, int indent, int room)
{
	int lead = (int)strspn(text, " "), used = indent + lead, words = 0;

	fprintf(out, "%*s", lead, "");
	for (text += lead; *text && *text != '\n'; words++) {
		int word = (int)strcspn(text, " \n");

		if (words && used + 1 + word > room) {
			fprintf(out, "\n%*s", indent + lead, "");
			used = indent + lead;
			words = 0;
		}
		used += words ? fprintf(out, " ") : 0;
		used += (int)visible_print(out, text, (size_t)word);
		text += word;
		text += strspn(text, " ");
	}
	return text;
}

void term_wrapped(FILE *out, const char *text, int indent)
{
	int room = term_columns(out) - 1;

	for (;;) {
		text = term_put_line(out, text, indent, room);
		fputc('\n', out);
		if (!*text || !*++text)
			return;
		if (*text != '\n')
			fprintf(out, "%*s", indent, "");
	}
}

void term_finding(enum term_colour colour, const char *state, const char *title, int column,
		  const char *value, const char *more)
{
	printf("  %s%-8s%s %-*s ", term_colour(stdout, colour), state,
	       term_colour(stdout, TERM_PLAIN), column - 12, title);
	term_wrapped(stdout, value, column);
	if (!*more)
		return;
	printf("%*s%s", column, "", term_colour(stdout, TERM_DIM));
	term_wrapped(stdout, more, column);
	fputs(term_colour(stdout, TERM_PLAIN), stdout);
}
