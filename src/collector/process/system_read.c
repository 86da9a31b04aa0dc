/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc and /sys, each read once into a buffer of fixed size: see system_read.h. */
#include "collector/process/system_read.h"

#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TEXT_BYTES 8192
#define PROCESSORS_MAX 8192
#define STAT_IDLE 3
#define STAT_IOWAIT 4
#define STAT_STEAL 7
#define STAT_FIELDS 8 /* guest time is part of user time */

static ssize_t read_below(const char *root, const char *path, char *text, size_t room)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s", root, path);

	text[0] = 0;
	if (n < 0 || (size_t)n >= sizeof(full))
		return -ENAMETOOLONG;
	return proc_read(AT_FDCWD, full, text, room);
}

/* Up to @count decimal numbers from @text on; how many there were. */
static size_t read_numbers(const char *text, uint64_t *number, size_t count)
{
	size_t i = 0;

	for (; i < count; i++) {
		char *end;

		errno = 0;
		number[i] = strtoull(text, &end, 10);
		if (end == text || errno)
			break;
		text = end;
	}
	return i;
}

int system_read_time(const char *root, struct machine_time *out)
{
	uint64_t n[STAT_FIELDS] = {0}, all = 0;
	char text[TEXT_BYTES];
	ssize_t rc = read_below(root, "/proc/stat", text, sizeof(text));

	if (rc < 0)
		return (int)rc;
	/* old kernels have four */
	if (strncmp(text, "cpu ", 4) != 0 || read_numbers(text + 4, n, STAT_FIELDS) <= STAT_IDLE)
		return -EBADMSG;
	for (int i = 0; i < STAT_FIELDS; i++)
		all += n[i];
	out->all = all;
	out->busy = all - n[STAT_IDLE] - n[STAT_IOWAIT] - n[STAT_STEAL];
	return 0;
}

int system_read_process_time(int proc_fd, struct process_time *out)
{
	char text[1024];
	ssize_t rc = proc_read(proc_fd, "stat", text, sizeof(text));
	uint64_t n[4];
	const char *at;

	if (rc < 0)
		return (int)rc;
	at = proc_stat_field(text, STAT_UTIME);
	if (!at || read_numbers(at, n, 4) != 4)
		return -EBADMSG;
	*out = (struct process_time){n[0], n[1], n[2], n[3]};
	return 0;
}

int system_read_memory(const char *root, struct machine_memory *out)
{
	char text[TEXT_BYTES];
	ssize_t rc = read_below(root, "/proc/meminfo", text, sizeof(text));
	uint64_t total, available;

	if (rc < 0)
		return (int)rc;
	total = proc_line_number(text, "MemTotal", 10);
	available = proc_line_number(text, "MemAvailable", 10);
	if (!available)
		available = proc_line_number(text, "MemFree", 10);
	if (!total || total > UINT64_MAX / 1024)
		return -EBADMSG;
	out->total_bytes = total * 1024;
	out->used_bytes = available < total ? (total - available) * 1024 : 0;
	return 0;
}

/* Of the first processor that cpuinfo tells of: what stands behind @name, or behind @other, which
 * is what another architecture calls it; "" = neither is there. */
static void cpuinfo_text(const char *text, const char *name, const char *other, char *out,
			 size_t room)
{
	const char *value = proc_line(text, name);

	if (!value)
		value = proc_line(text, other);
	value = value ? value + strspn(value, " \t") : "";
	snprintf(out, room, "%.*s", (int)strcspn(value, "\n"), value);
}

/* The first number of a list as "0-3,8"; -1 = none. */
static long first_of_list(const char *root, unsigned int cpu, const char *name)
{
	char path[96], text[256], *end;
	long first;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, name);
	if (read_below(root, path, text, sizeof(text)) <= 0)
		return -1;
	first = strtol(text, &end, 10);
	return end == text ? -1 : first;
}

/* The first processor of a socket, or of a core, is the one that is counted for it. */
static void count_processor(const char *root, unsigned int cpu, struct machine_processors *out)
{
	long package = first_of_list(root, cpu, "package_cpus_list");
	long core = first_of_list(root, cpu, "thread_siblings_list");

	if (package < 0)
		package = first_of_list(root, cpu, "core_siblings_list");
	out->threads++;
	out->sockets += package == (long)cpu;
	out->cores += core == (long)cpu;
}

/* A list as "0-3,8". */
static void count_processors(const char *root, const char *list, struct machine_processors *out)
{
	while (*list) {
		unsigned long first, last;
		char *end;

		first = last = strtoul(list, &end, 10);
		if (end == list)
			return;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && out->threads < PROCESSORS_MAX; first++)
			count_processor(root, (unsigned int)first, out);
		list = end + (*end == ',');
		if (list == end)
			return;
	}
}

void system_read_processors(const char *root, struct machine_processors *out)
{
	char text[TEXT_BYTES], vendor[64], flags[256];

	*out = (struct machine_processors){0};
	if (read_below(root, "/sys/devices/system/cpu/online", text, sizeof(text)) > 0)
		count_processors(root, text, out);
	if (!out->threads) {
		long n = sysconf(_SC_NPROCESSORS_ONLN);

		out->threads = n > 0 ? (uint32_t)n : 1;
	}
	/* some containers hide the topology */
	out->cores = out->cores ? out->cores : out->threads;
	out->sockets = out->sockets ? out->sockets : 1;
	read_below(root, "/proc/cpuinfo", text, sizeof(text));
	cpuinfo_text(text, "model name\t", "CPU part\t", out->model, sizeof(out->model));
	cpuinfo_text(text, "vendor_id\t", "CPU implementer\t", vendor, sizeof(vendor));
	cpuinfo_text(text, "flags\t\t", "Features\t", flags, sizeof(flags));
	snprintf(out->description, sizeof(out->description), "Brand: %s, Vendor: %s, Flags: %s",
		 out->model, vendor, flags);
}

void system_read_version(const char *root, char *out, size_t room)
{
	char text[TEXT_BYTES], name[128] = "";
	struct utsname u;

	if (read_below(root, "/etc/os-release", text, sizeof(text)) > 0) {
		const char *at = strstr(text, "PRETTY_NAME=");

		if (at) {
			at += strlen("PRETTY_NAME=");
			at += *at == '"';
			snprintf(name, sizeof(name), "%.*s, ", (int)strcspn(at, "\"\n"), at);
		}
	}
	if (uname(&u))
		snprintf(out, room, "%s", name);
	else
		snprintf(out, room, "%s%s %s %s %s", name, u.sysname, u.release, u.version,
			 u.machine);
}
