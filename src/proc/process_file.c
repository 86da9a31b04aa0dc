/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a process in /proc: see process_file.h. */
#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t stat_number(const char *text, int field)
{
	const char *at = proc_stat_field(text, field);

	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_stat_number(int proc_fd, int field)
{
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "stat", &bytes);
	uint64_t number = stat_number(text, field);

	free(text);
	return number;
}

char *process_command_line(int proc_fd)
{
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "cmdline", &bytes);

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
