/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of WEFT_RECORD: a program under libweft.so begins a collector by itself, which records
 * it into /dev/null. What it says on its stderr is the finding.
 */
#include "cli/doctor/doctor.h"
#include "cli/frame/locate.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The collector is nobody's child; it is waited for, so that it has removed all that it made. */
static int run_recorded(const char *library, char *text, size_t room)
{
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	status = doctor_run_under(library, "/dev/null", text, room);
	while (wait(NULL) > 0 || errno == EINTR)
		continue;
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	return status;
}

/* The line in which libweft.so or the collector says why not; NULL: neither does. */
static char *complaint(char *text)
{
	static const char *const begins[] = {"weft: WEFT_RECORD: ", "weft collect: "};
	char *line = NULL;

	for (size_t i = 0; !line && i < sizeof(begins) / sizeof(begins[0]); i++)
		line = strstr(text, begins[i]);
	if (line)
		line[strcspn(line, "\n")] = '\0';
	return line;
}

void doctor_launch(struct finding *out)
{
	char library[PATH_MAX], text[1024] = "", *why;
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
