/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a process in /proc: see process_file.h. */
#include "proc/process_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 1024

uint64_t stat_number(const char *text, int field)
{
	const char *at = proc_stat_field(text, field);

	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_stat_number(int proc_fd, int field)
{
	char text[STAT_BYTES];

	proc_read(proc_fd, "stat", text, sizeof(text));
	return stat_number(text, field);
}

uint64_t process_stat_number_of(pid_t pid, int field)
{
	char text[STAT_BYTES];

	proc_read_of(pid, "stat", text, sizeof(text));
	return stat_number(text, field);
}

int32_t pid_innermost(const char *status, int32_t outside, int *levels)
{
	const char *at = proc_line(status, "NSpid");
	int count = 0;
	char *next;

	for (; at && (*at == '\t' || *at == ' '); at = next) {
		long one = strtol(at, &next, 10);

		if (next == at)
			break;
		outside = (int32_t)one;
		count++;
	}
	if (levels)
		*levels = count ? count : 1;
	return outside;
}

/* Of the time namespace of the process at @proc_fd. timens_offsets are those of its children's. 1:
 * found. */
static int time_offset(int proc_fd, int64_t *ns)
{
	char own[64] = "", childrens[64] = "", text[256];
	long long seconds, rest;
	const char *line;

	if (readlinkat(proc_fd, "ns/time", own, sizeof(own) - 1) <= 0 ||
	    readlinkat(proc_fd, "ns/time_for_children", childrens, sizeof(childrens) - 1) <= 0 ||
	    strcmp(own, childrens) != 0 ||
	    proc_read(proc_fd, "timens_offsets", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &seconds, &rest) != 2)
		return 0;
	*ns = (int64_t)((uint64_t)seconds * 1000000000u + (uint64_t)rest);
	return 1;
}

int64_t process_time_shift(int proc_fd)
{
	char here[64] = "", there[64] = "";
	int64_t ours = 0, theirs = 0;
	int self, known;

	if (readlink("/proc/self/ns/time", here, sizeof(here) - 1) <= 0 ||
	    readlinkat(proc_fd, "ns/time", there, sizeof(there) - 1) <= 0 ||
	    strcmp(here, there) == 0)
		return 0;
	self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	known = self >= 0 && time_offset(self, &ours) && time_offset(proc_fd, &theirs);
	if (self >= 0)
		close(self);
	return known ? (int64_t)((uint64_t)ours - (uint64_t)theirs) : 0;
}

int process_is_32_bit(pid_t pid)
{
	unsigned char start[EI_CLASS + 1] = {0};
	char path[32];
	int fd, bits;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	bits = fd >= 0 && read(fd, start, sizeof(start)) == (ssize_t)sizeof(start) &&
	       memcmp(start, ELFMAG, SELFMAG) == 0 && start[EI_CLASS] == ELFCLASS32;
	if (fd >= 0)
		close(fd);
	return bits;
}

/* Takes over the text of a cmdline, and returns it; NULL, too. */
static char *process_file_spaced(char *text, size_t bytes)
{
	while (bytes && text[bytes - 1] == 0)
		bytes--;
	for (size_t i = 0; text && i < bytes; i++)
		if (text[i] == 0)
			text[i] = ' ';
	return text;
}

char *process_command_line(int proc_fd)
{
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "cmdline", &bytes);

	return process_file_spaced(text, bytes);
}

char *process_command_line_of(pid_t pid)
{
	size_t bytes = 0;
	char *text = proc_read_all_of(pid, "cmdline", &bytes);

	return process_file_spaced(text, bytes);
}
