/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that the recorded program has started: see collector_descendants(). */
#include "collector/run/collector.h"

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
	out->pid = pid;
	if (proc_read_of(pid, "comm", out->command, sizeof(out->command)) < 0)
		memcpy(out->command, "?", 2);
	out->command[strcspn(out->command, "\n")] = 0;
}

struct descendants {
	const char *socket;
	struct collector_running *out;
	size_t room, count;
};

static int descendants_add(void *arg, pid_t pid)
{
	struct descendants *d = arg;

	if (pid == getpid() || !descendants_is_descendant(pid, d->socket))
		return 0;
	if (d->count < d->room)
		descendants_describe(pid, &d->out[d->count]);
	d->count++;
	return 0;
}

size_t collector_descendants(const struct collector *c, struct collector_running *out, size_t room)
{
	struct descendants d = {collector_socket(c), out, room, 0};

	proc_each(descendants_add, &d);
	return d.count;
}
