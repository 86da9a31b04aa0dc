/* SPDX-License-Identifier: Apache-2.0 */
/* Is a process one that weft can record, by its word size? */
#ifndef WEFT_PROC_PROCESS_CLASS_H
#define WEFT_PROC_PROCESS_CLASS_H

#include <stdint.h>

/* Is its executable a 32-bit ELF file? 0, too, where /proc/PID/exe cannot be read. */
int process_is_32_bit(int32_t pid);

#endif
