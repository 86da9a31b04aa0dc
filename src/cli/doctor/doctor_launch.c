/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of WEFT_RECORD: a program under libweft.so begins a collector by itself, which records
 * it into /dev/null. What it says on its stderr is the finding.
 */
#include "cli/doctor/doctor.h"
#include "cli/frame/locate.h"

#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define COLLECTOR_TRIES 500 /* of 10 ms */

/* The collector is nobody's child; it is waited for, so that it has removed all that it made. But
 * what WEFT_COMMAND names may never end. */
static void wait_for_collector(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < COLLECTOR_TRIES && waitpid(-1, NULL, WNOHANG) >= 0; i++)
		nanosleep(&pause, NULL);
}

static int run_recorded(const char *library, char *text, size_t room)
{
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	status = doctor_run_under(library, "/dev/null", text, room);
	wait_for_collector();
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	return status;
}

static int line_begins(const char *line, const char *beginning)
{
	return !strncmp(line, beginning, strlen(beginning));
}

/* Warnings, of WEFT_SETTINGS, stand before the reason; with them alone, all is recorded. */
static int is_complaint(const char *line)
{
	return line_begins(line, "weft: WEFT_RECORD: ") ||
	       (line_begins(line, "weft collect: ") &&
		!line_begins(line, "weft collect: warning: "));
}

/* The line in which libweft.so or the collector says why not; NULL: neither does. */
static char *complaint(char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (is_complaint(line))
			return line;
	return NULL;
}

void doctor_launch(struct finding *out)
{
	char library[PATH_MAX], text[4096] = "", *why;
	int status = locate_preload(library, sizeof(library));

	finding_choose(out,
		       "LD_PRELOAD=libweft.so WEFT_RECORD=FILE: the program begins a collector; "
		       "WEFT_COMMAND and WEFT_DIR say which, and where it listens; WEFT_QUIET "
		       "keeps the program's stderr clean");
	if (status) {
		finding_set(out, FINDING_MISSING, "no libweft.so to preload");
		return;
	}
	status = run_recorded(library, text, sizeof(text));
	why = complaint(text);
	if (status < 0)
		finding_refused(out, FINDING_LIMITED, "running a program", -status);
	else if (why)
		finding_set(out, FINDING_LIMITED, "%s", why);
	else if (status)
		finding_set(out, FINDING_LIMITED, "a program that does it ended with %d", status);
	else
		finding_set(out, FINDING_OK, "works");
}
