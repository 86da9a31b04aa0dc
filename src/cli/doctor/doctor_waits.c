/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of libweft-waits.so. The same child as that of the hooks (doctor_hooks.c) is run with
 * both libraries before it, and looks whose functions it would call.
 */
#include "cli/doctor/doctor.h"
#include "cli/frame/locate.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE "waits:"

static const struct group {
	const char *name, *function;
} groups[] = {{"locks", "pthread_mutex_lock"}, {"io", "read"}};

/* ---- the child */

static int is_wrapped(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name), *ours = dlsym(RTLD_DEFAULT, "weft_waits_v1");
	Dl_info info, own;

	return function && ours && dladdr(function, &info) && dladdr(ours, &own) &&
	       info.dli_fbase == own.dli_fbase;
}

/* Is the group one that WEFT_WAITS asks for, as the library reads it? */
static int doctor_waits_is_asked(const char *group)
{
	const char *setting = getenv("WEFT_WAITS");
	size_t bytes = strlen(group);

	if (!setting || !*setting)
		return 1;
	for (; *setting; setting += strcspn(setting, ", "), setting += *setting != 0)
		if (strcspn(setting, ", ") == bytes && !memcmp(setting, group, bytes))
			return 1;
	return 0;
}

void doctor_list_waits(void)
{
	fputs(LINE, stdout);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (is_wrapped(groups[i].function) && doctor_waits_is_asked(groups[i].name))
			printf(" %s", groups[i].name);
	putchar('\n');
}

/* ---- the parent */

static int find_libraries(char *libraries, size_t room)
{
	char waits[PATH_MAX], library[PATH_MAX];
	int n, rc = locate_waits_preload(waits, sizeof(waits));

	if (!rc)
		rc = locate_preload(library, sizeof(library));
	if (rc)
		return rc;
	n = snprintf(libraries, room, "%s:%s", waits, library);
	return n < 0 || (size_t)n >= room ? -ENAMETOOLONG : 0;
}

static void doctor_waits_judge(struct finding *out, char *text)
{
	char *line = strstr(text, "\n" LINE);

	line = line ? line + 1 + strlen(LINE) : NULL;
	if (line)
		line[strcspn(line, "\n")] = '\0';
	if (!line || !*line)
		finding_set(out, FINDING_LIMITED, "none");
	else
		finding_set(out, FINDING_OK, "%s", line + 1);
	finding_choose(out, "what weft record --waits makes events of where WEFT_WAITS says no "
			    "other: waits for locks, and in calls that wait");
}

void doctor_waits(struct finding *out)
{
	char libraries[2 * PATH_MAX], text[1024] = "";
	int err = find_libraries(libraries, sizeof(libraries)), status;

	if (err) {
		finding_refused(out, FINDING_MISSING, "libweft-waits.so", -err);
		return;
	}
	status = doctor_run_under(libraries, NULL, text, sizeof(text));
	if (status)
		finding_set(out, FINDING_MISSING, "a program cannot be run under it");
	else
		doctor_waits_judge(out, text);
}
