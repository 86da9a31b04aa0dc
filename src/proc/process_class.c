/* SPDX-License-Identifier: Apache-2.0 */
/* See process_class.h. */
#include "proc/process_class.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int process_is_32_bit(int32_t pid)
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
