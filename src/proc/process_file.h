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
uint64_t stat_number(const char *text, int field); /* of the text of stat, which may be NULL */

/* The arguments of a process with blanks between them, freed by the caller; @proc_fd is /proc/PID.
 * "" for a process without any (a zombie, a kernel thread), NULL with errno. */
char *process_command_line(int proc_fd);
char *process_command_line_of(pid_t pid);

#endif
