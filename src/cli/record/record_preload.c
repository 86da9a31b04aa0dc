/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that weft record puts into a program: see record.h. */
#include "cli/record/record.h"

#include "cli/frame/locate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const record_waits[] = {"locks", "io", NULL};

static int record_preload_refuse(const char *library, int error)
{
	if (error == -EILSEQ)
		return cli_error("%s: its path has a blank or colon, so that the loader "
				 "cannot preload it, and a link to it can be kept neither in the "
				 "cache directory nor in /tmp: the path is as bad, or others can "
				 "write there (WEFT_LIB, WEFT_CACHE name other places)",
				 library);
	return cli_error("%s: %s (WEFT_LIB names another place)", library, strerror(-error));
}

static int record_preload_is_asked(const struct cli_args *args, const char *group)
{
	for (size_t i = 0; i < cli_count(args, "waits"); i++)
		if (!strcmp(cli_text_at(args, "waits", i), group))
			return 1;
	return 0;
}

/* Sets WEFT_WAITS to the groups that --waits names, each once. */
static int set_waits(const struct cli_args *args)
{
	char groups[32] = "";
	size_t used = 0;

	for (const char *const *group = record_waits; *group; group++)
		if (record_preload_is_asked(args, *group))
			used += (size_t)snprintf(groups + used, sizeof(groups) - used, "%s%s",
						 used ? "," : "", *group);
	return setenv("WEFT_WAITS", groups, 1) ? cli_error("WEFT_WAITS: %s", strerror(errno)) : 0;
}

int record_preload(const struct cli_args *args, char *preload, size_t bytes)
{
	char library[PATH_MAX], waits[PATH_MAX] = "";
	int has_waits = cli_given(args, "waits"), n, rc = locate_preload(library, sizeof(library));

	if (rc)
		return record_preload_refuse("libweft.so", rc);
	rc = has_waits ? locate_waits_preload(waits, sizeof(waits)) : 0;
	if (rc)
		return record_preload_refuse("libweft-waits.so", rc);
	n = snprintf(preload, bytes, "%s%s%s", waits, has_waits ? ":" : "", library);
	if (n < 0 || (size_t)n >= bytes)
		return record_preload_refuse("libweft.so", -ENAMETOOLONG);
	return has_waits ? set_waits(args) : 0;
}
