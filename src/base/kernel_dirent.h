/* SPDX-License-Identifier: Apache-2.0 */
/* The record of getdents64(2), which older C libraries do not declare. */
#ifndef WEFT_BASE_KERNEL_DIRENT_H
#define WEFT_BASE_KERNEL_DIRENT_H

#include <stdint.h>

struct kernel_dirent {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes; /* size of this entry; the next follows */
	uint8_t type;
	char name[];
};

#endif
