/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on stderr, each one line and one write: "weft VERB: what: why". They tell names of
 * strangers, of which nothing reaches the terminal as a command. */
#include "cli/frame/cli.h"

#include "base/text/visible.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *current_verb;

void cli_set_verb(const char *verb)
{
	current_verb = verb;
}

__attribute__((format(printf, 2, 0))) static void message_say(const char *kind, const char *format,
							      va_list list, const char *tail)
{
	char text[2048], clean[4 * sizeof(text)];

	vsnprintf(text, sizeof(text), format, list);
	visible_text(clean, sizeof(clean), text);
	fflush(stdout);
	fprintf(stderr, "weft%s%s: %s%s%s", current_verb ? " " : "",
		current_verb ? current_verb : "", kind, clean, tail);
}

int cli_error(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	message_say("", format, list, "\n");
	va_end(list);
	return CLI_FAILED;
}

void cli_tell(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	message_say("", format, list, "\n");
	va_end(list);
}

void cli_warning(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	message_say("warning: ", format, list, "\n");
	va_end(list);
}

int cli_usage(const char *format, ...)
{
	char hint[128];
	va_list list;

	snprintf(hint, sizeof(hint), "\n(try 'weft %s%s--help')\n",
		 current_verb ? current_verb : "", current_verb ? " " : "");
	va_start(list, format);
	message_say("", format, list, hint);
	va_end(list);
	return CLI_USAGE;
}

int cli_not_run(const char *command, int rc)
{
	cli_error("%s: %s", command, rc == -ENOENT ? "command not found" : strerror(-rc));
	return rc == -ENOENT ? 127 : CLI_CANNOT_RUN;
}

int cli_written(int rc)
{
	return rc ? cli_error("standard output: %s", strerror(-rc)) : CLI_DONE;
}

int cli_flushed(void)
{
	int failed = fflush(stdout) || ferror(stdout);

	return cli_written(!failed ? 0 : errno ? -errno : -EIO);
}
