/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_open.h"

#include "cli/frame/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int coro_open_is_pid(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && access(text, F_OK);
}

static int coro_open_refuse_pid(const char *pid, int rc)
{
	if (rc == -EACCES || rc == -EPERM)
		return cli_error("%s: its mappings cannot be read: %s (name the shared file)", pid,
				 strerror(-rc));
	return cli_error("%s: %s", pid,
			 rc == -ENODATA ? "a process that writes no coroutines"
					: "no such process");
}

static int coro_open_by_pid(const char *text, char **path)
{
	pid_t pid;
	int rc = cli_pid(text, &pid) ? -ENOENT : coro_source_of_pid(pid, path);

	return rc ? coro_open_refuse_pid(text, rc) : CLI_DONE;
}

/* The only one in use. */
static int coro_open_in_use(char **path)
{
	char *found[2];

	coro_source_in_use(found);
	*path = found[0];
	if (!found[0])
		return cli_error("no engine runs here (start one with weft coro run, or name "
				 "a shared file or a pid)");
	if (!found[1])
		return CLI_DONE;
	cli_usage("several shared files are in use, %s and %s: name one, or a pid", found[0],
		  found[1]);
	free(found[1]);
	return CLI_USAGE;
}

int coro_open(struct coro_source *s, const char *text)
{
	char *found = NULL;
	const char *path = text;
	int status = CLI_DONE, rc;

	if (!text)
		status = coro_open_in_use(&found);
	else if (coro_open_is_pid(text))
		status = coro_open_by_pid(text, &found);
	if (found)
		path = found;
	if (!status) {
		rc = coro_source_open(s, path);
		if (rc)
			status = cli_error("%s: %s", path,
					   rc == -EBADMSG ? "not a shared file of cTP"
							  : strerror(-rc));
	}
	free(found);
	return status;
}
