/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a process in /proc, by a descriptor of its directory there. */
#ifndef WEFT_PROC_PROCESS_FILE_H
#define WEFT_PROC_PROCESS_FILE_H

#include "proc/proc_text.h"

#include <stdint.h>

/* A field of /proc/PID/stat by its number in proc(5); 0 when it cannot be read. */
#define STAT_STATE 3
#define STAT_PARENT 4
#define STAT_FLAGS 9
#define STAT_UTIME 14
#define STAT_START_TIME 22
#define STAT_STACK_START 28
uint64_t process_stat_number(int proc_fd, int field);
uint64_t process_stat_number_of(pid_t pid, int field);
uint64_t stat_number(const char *text, int field); /* of the text of stat, which may be NULL */

/*
 * The id of a process or thread in its innermost PID namespace: the last number of the line NSpid
 * in @status, the text of its `status`; @outside where there is no such line. *levels, unless NULL:
 * PID namespaces from ours down to its own; 1 = it is in ours.
 */
int32_t pid_innermost(const char *status, int32_t outside, int *levels);

/*
 * What is to be added to the CLOCK_MONOTONIC of a process to get ours: not 0 if it is in another
 * time namespace. 0, too, where that cannot be told.
 */
int64_t process_time_shift(int proc_fd);

/* Is its executable a 32-bit ELF file? 0, too, where /proc/PID/exe cannot be read. */
int process_is_32_bit(pid_t pid);

/* The arguments of a process with blanks between them, freed by the caller; @proc_fd is /proc/PID.
 * "" for a process without any (a zombie, a kernel thread), NULL with errno. */
char *process_command_line(int proc_fd);
char *process_command_line_of(pid_t pid);

#endif
