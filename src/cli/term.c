/* SPDX-License-Identifier: Apache-2.0 */
/* Asked anew at every call: streams are few and the answers cheap. */
#include "cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_UNKNOWN 80

int term_is(FILE *stream)
{
	return isatty(fileno(stream));
}

int term_has_colour(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return 0;
	if (!term || !*term || !strcmp(term, "dumb"))
		return 0;
	return term_is(stream);
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
