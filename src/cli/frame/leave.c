/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that write a file: see leave.h. */
#include "cli/frame/leave.h"

#include "base/output.h"
#include "cli/frame/cli.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* SA_RESETHAND has put the default action back; it ends the process when the handler returns. */
static void leave_on_signal(int signo)
{
	output_abandon_all();
	raise(signo);
}

void leave_by(void (*handler)(int signo))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND}, before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

void leave_no_half_files(void)
{
	leave_by(leave_on_signal);
}

static void leave_do_nothing(int signo)
{
	(void)signo;
}

void leave_not_by(int signo)
{
	struct sigaction action = {.sa_handler = leave_do_nothing, .sa_flags = SA_RESTART}, before;

	sigaction(signo, NULL, &before);
	if (before.sa_handler == SIG_DFL)
		sigaction(signo, &action, NULL);
}

int is_standard_output(const char *path)
{
	return output_is_standard(path);
}

const char *output_name(const char *path)
{
	return is_standard_output(path) ? "standard output" : path;
}

int would_overwrite(const char *from, const char *to)
{
	struct stat a, b;

	return stat(from, &a) == 0 && stat(to, &b) == 0 && S_ISREG(a.st_mode) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int stat_directory(const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];

	if (!slash)
		return stat(".", st);
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path) + 1, path);
	return stat(directory, st);
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int would_take_place(const char *a, const char *b)
{
	struct stat one, other;

	if (stat(b, &one) == 0)
		return would_overwrite(a, b);
	return strcmp(last_of(a), last_of(b)) == 0 && stat_directory(a, &one) == 0 &&
	       stat_directory(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

int refuse_to_overwrite(const char *to, const char *program, char *const *words)
{
	if (would_overwrite(program, to))
		return cli_usage("%s: is the program itself: name another file", to);
	for (; *words; words++)
		if (would_overwrite(*words, to))
			return cli_usage("%s: is a file that the program is given: name another",
					 to);
	return CLI_DONE;
}
