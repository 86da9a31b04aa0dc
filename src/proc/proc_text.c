/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc as text: see proc_text.h. */
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_FIELD 2
#define ROOM_FIRST ((size_t)32 << 10)
#define ROOM_LEAST 4096
#define BYTES_MAX ((size_t)128 << 20)

ssize_t proc_read(int directory_fd, const char *path, char *out, size_t room)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	out[0] = 0;
	if (fd < 0)
		return -errno;
	do
		n = read(fd, out, room - 1);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	close(fd);
	out[n < 0 ? 0 : n] = 0;
	return n;
}

ssize_t proc_read_of(pid_t pid, const char *name, char *out, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return proc_read(AT_FDCWD, path, out, room);
}

ssize_t proc_read_task(int proc_fd, pid_t tid, const char *name, char *out, size_t room)
{
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
	n = proc_read(proc_fd, path, out, room);
	return n == 0 ? -ESRCH : n;
}

static char *proc_text_read_all(int fd, size_t *bytes)
{
	size_t room = ROOM_FIRST / 2, size = 0;
	char *text = NULL, *grown;
	ssize_t n = 1;

	while (n > 0 && size < BYTES_MAX) {
		if (!text || size + ROOM_LEAST > room) {
			room *= 2;
			grown = realloc(text, room);
			if (!grown)
				break;
			text = grown;
		}
		n = read(fd, text + size, room - size - 1);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			size += (size_t)n;
	}
	if (n != 0 && size < BYTES_MAX) { /* no memory, or not to be read */
		free(text);
		return NULL;
	}
	text[size] = 0;
	*bytes = size;
	return text;
}

char *proc_read_all(int directory_fd, const char *path, size_t *bytes)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC), saved;
	char *text;

	if (fd < 0)
		return NULL;
	text = proc_text_read_all(fd, bytes);
	saved = errno;
	close(fd);
	errno = saved;
	return text;
}

char *proc_read_all_of(pid_t pid, const char *name, size_t *bytes)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return proc_read_all(AT_FDCWD, path, bytes);
}

DIR *proc_directory(int directory_fd, const char *path)
{
	int fd = openat(directory_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

int proc_each(int (*each)(void *arg, pid_t pid), void *arg)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int rc = 0;

	if (!proc)
		return -errno;
	while (rc == 0 && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			rc = each(arg, pid);
	}
	closedir(proc);
	return rc;
}

const char *proc_stat_field(const char *stat, int field)
{
	const char *at = stat ? strrchr(stat, ')') : NULL;

	for (int before = COMMAND_FIELD; at && before < field; before++)
		at = strchr(at + 1, ' ');
	return at && at[0] == ' ' ? at + 1 : NULL;
}

const char *proc_variable(const char *text, size_t bytes, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; at && at < text + bytes; at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

const char *proc_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, length) == 0 && at[length] == ':')
			return at + length + 1;
	}
	return NULL;
}

uint64_t proc_line_number(const char *text, const char *name, int base)
{
	const char *at = proc_line(text, name);

	return at ? strtoull(at, NULL, base) : 0;
}
