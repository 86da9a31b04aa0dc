/* SPDX-License-Identifier: Apache-2.0 */
/* A stopped process: its registers as the walker takes them, and its frames as gdb sees them. */
#ifndef WEFT_TEST_STOPPED_H
#define WEFT_TEST_STOPPED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "unwind/rules.h"

/* x86-64, as PTRACE_GETREGS gives them. */
void stopped_registers(struct unwind_registers *regs, const struct user_regs_struct *u);

/* The pcs of all frames but inlined ones, leaf first; 0: gdb cannot be used. */
size_t gdb_frames(pid_t pid, uint64_t *frames, size_t max);

#endif
