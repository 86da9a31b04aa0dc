/* SPDX-License-Identifier: Apache-2.0 */
/* The one opener: see elf_open.h. */
#include "elf/image/elf_open.h"

#include <stddef.h>

Elf *elf_open(int fd)
{
	return elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
}
