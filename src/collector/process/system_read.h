/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of the machine, read from /proc and /sys: processors, memory, the time
 * that they were busy. Every file may be missing, cut or nonsense: then what it would have told
 * is 0 or "", and nothing else fails. No file is read further than a few pages.
 *
 * Paths are below @root, "" but in tests.
 */
#ifndef WEFT_COLLECTOR_SYSTEM_READ_H
#define WEFT_COLLECTOR_SYSTEM_READ_H

#include <stddef.h>
#include <stdint.h>

/* Clock ticks since the boot, of all processors together. */
struct machine_time {
	uint64_t busy, all; /* busy: all but idle, waiting for disks and stolen */
};
int system_read_time(const char *root, struct machine_time *out); /* 0 or -errno, -EBADMSG */

/* Clock ticks of a process; @waited: of children that it has waited for. */
struct process_time {
	uint64_t user, system, waited_user, waited_system;
};
/* @proc_fd: /proc/PID. 0; -errno, -EBADMSG. */
int system_read_process_time(int proc_fd, struct process_time *out);

struct machine_memory {
	uint64_t total_bytes, used_bytes; /* used: what could not be had without swapping */
};
int system_read_memory(const char *root, struct machine_memory *out);

struct machine_processors {
	uint32_t sockets, cores, threads; /* that are online; at least 1 each */
	char model[128];                  /* "" = not told */
	char description[512];
};
void system_read_processors(const char *root, struct machine_processors *out);

/* "Debian GNU/Linux 12, Linux 6.1.0-18-amd64 #1 SMP ... x86_64". */
void system_read_version(const char *root, char *out, size_t room);

#endif
