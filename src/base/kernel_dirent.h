/* SPDX-License-Identifier: Apache-2.0 */
/* What getdents64(2) fills in: no header of a C library of some age has it. */
#ifndef WEFT_BASE_KERNEL_DIRENT_H
#define WEFT_BASE_KERNEL_DIRENT_H

#include <stdint.h>

struct kernel_dirent {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes; /* of this entry, up to the next */
	uint8_t type;
	char name[];
};

#endif
