/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a process in /proc: see process_file.h. */
#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (16 * 1024 * 1024)

char *process_read_file(int directory_fd, const char *name, size_t *bytes)
{
	size_t room = 16384, size = 0;
	char *text = NULL, *grown;
	ssize_t n = -1;
	int saved, fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	do {
		if (!text || size + 4096 > room)
			room *= 2;
		grown = realloc(text, room);
		if (!grown)
			break;
		text = grown;
		n = read(fd, text + size, room - size - 1);
		if (n > 0)
			size += (size_t)n;
	} while (n > 0 && size < FILE_MAX);
	saved = errno;
	close(fd);
	if (n < 0) {
		free(text);
		errno = saved;
		return NULL;
	}
	text[size] = 0;
	*bytes = size;
	return text;
}

/* The command in field 2 may hold anything, so fields are counted from its last bracket. */
uint64_t stat_number(const char *text, int field)
{
	const char *at = text ? strrchr(text, ')') : NULL;

	for (int before = 2; at && before < field; before++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_stat_number(int proc_fd, int field)
{
	size_t bytes = 0;
	char *text = process_read_file(proc_fd, "stat", &bytes);
	uint64_t number = stat_number(text, field);

	free(text);
	return number;
}

char *process_command_line(int proc_fd)
{
	size_t bytes = 0;
	char *text = process_read_file(proc_fd, "cmdline", &bytes);

	if (!text)
		return NULL;
	while (bytes && text[bytes - 1] == 0)
		bytes--;
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == 0)
			text[i] = ' ';
	return text;
}

char *process_command_line_of(pid_t pid)
{
	char path[32], *text;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = process_command_line(fd);
	close(fd);
	return text;
}
