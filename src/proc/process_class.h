/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of program a process runs. */
#ifndef WEFT_PROC_PROCESS_CLASS_H
#define WEFT_PROC_PROCESS_CLASS_H

#include <stdint.h>

/* 0, too, where /proc/PID/exe cannot be read. */
int process_is_32_bit(int32_t pid);

#endif
