/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that the recorded program has started: see descendants.h. */
#include "collector/run/descendants.h"

#include "collector/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is "WEFT_SOCKET=<socket>" one of the strings of an environment? Zombies have none. */
static int names_socket(const char *environment, size_t bytes, const char *socket)
{
	static const char name[] = "WEFT_SOCKET=";
	const char *end = environment + bytes;

	while (environment < end) {
		size_t length = strnlen(environment, (size_t)(end - environment));

		if (strncmp(environment, name, sizeof(name) - 1) == 0 &&
		    strcmp(environment + sizeof(name) - 1, socket) == 0)
			return 1;
		environment += length + 1;
	}
	return 0;
}

static int descendants_is_descendant(pid_t pid, const char *socket)
{
	size_t bytes = 0;
	char *text = proc_read_all_of(pid, "environ", &bytes);
	int found = text && names_socket(text, bytes, socket);

	free(text);
	return found;
}

static void descendants_describe(pid_t pid, struct collector_running *out)
{
	size_t bytes = 0;
	char *text = proc_read_all_of(pid, "comm", &bytes);

	out->pid = pid;
	snprintf(out->command, sizeof(out->command), "%.*s", text ? (int)strcspn(text, "\n") : 1,
		 text ? text : "?");
	free(text);
}

size_t descendants_find(const char *socket, struct collector_running *out, size_t room)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	if (!proc)
		return 0;
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0 || pid == getpid() || !descendants_is_descendant(pid, socket))
			continue;
		if (count < room)
			descendants_describe(pid, &out[count]);
		count++;
	}
	closedir(proc);
	return count;
}
