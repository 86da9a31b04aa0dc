/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another process: see target.h. /proc/PID is held open, so that a pid that was given to another
 * process is noticed; memory is read by pid, which is why callers ask target_is_there() at the end.
 */
#include "reader/target/target.h"

#include "base/array.h"
#include "proc/proc_text.h"
#include "proc/process_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IOV_COUNT_MAX 1024

static int read_start(const struct target *t, uint64_t *start)
{
	*start = process_stat_number(t->proc_fd, STAT_START_TIME);
	return *start ? 0 : -ESRCH;
}

/* While the process maps and unmaps, a read of several pieces may show a range twice. */
static int target_add_mapping(void *arg, struct proc_map *m)
{
	struct target *t = arg;
	struct proc_map *one;

	if (t->mapping_count && m->start < t->mappings[t->mapping_count - 1].end)
		return 0;
	one = array_add(&t->mappings, &t->mapping_count, &t->mapping_room, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = *m;
	m->path = NULL;
	return 0;
}

static void drop_mappings(struct target *t)
{
	for (size_t i = 0; i < t->mapping_count; i++)
		free(t->mappings[i].path);
	t->mapping_count = 0;
}

/* The mappings as a thread shows them: how many, or -errno. */
static ssize_t read_mappings(struct target *t, int32_t tid)
{
	char path[48], *text;
	size_t bytes;
	int rc;

	snprintf(path, sizeof(path), "task/%d/maps", (int)tid);
	text = proc_read_all(t->proc_fd, path, &bytes);
	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	drop_mappings(t);
	rc = proc_maps_parse(text, bytes, target_add_mapping, t);
	free(text);
	t->member = tid;
	return rc < 0 ? rc : (ssize_t)t->mapping_count;
}

static int target_read_mappings(void *arg, int32_t tid)
{
	ssize_t n = read_mappings(arg, tid);

	return n == -ESRCH ? 0 : n < 0 ? (int)n : n > 0;
}

/* A first thread that has ended shows no memory, while the others may live on. */
int target_refresh(struct target *t)
{
	ssize_t n;

	if (t->proc_fd < 0)
		return 0;
	/* after an exec this is another program's; what is kept is checked whenever it is used */
	free(t->glibc);
	t->glibc = NULL;
	t->has_scanned = 0;
	n = read_mappings(t, t->pid);
	if (n == 0 || n == -ESRCH)
		n = target_threads(t, target_read_mappings, t);
	return n == 0 ? -ESRCH : n < 0 ? (int)n : 0;
}

/* maps may be readable where memory is not. */
static int memory_is_ours(struct target *t)
{
	uint8_t byte;
	int rc = -ESRCH;

	for (size_t i = 0; i < t->mapping_count; i++)
		if (t->mappings[i].permissions[0] == 'r') {
			rc = target_read(t, t->mappings[i].start, &byte, 1);
			if (rc != -EFAULT)
				break;
		}
	return rc;
}

int target_is_there(const struct target *t)
{
	uint64_t start = 0;

	if (t->proc_fd < 0)
		return 0;
	return read_start(t, &start) || start != t->pid_start ? -ESRCH : 0;
}

static ssize_t process_readv(const struct target *t, const struct iovec *to,
			     const struct iovec *from, unsigned int count)
{
	ssize_t n = process_vm_readv(t->member, to, count, from, count, 0);

	return n < 0 ? -errno : n;
}

static const struct target_source process = {process_readv, target_file_open, target_program_open};

static struct target *target_new(const struct target_source *source, void *arg)
{
	struct target *t = calloc(1, sizeof(*t));

	if (t) {
		t->proc_fd = -1;
		t->source = source;
		t->source_arg = arg;
	}
	return t;
}

int target_open(struct target **out, int32_t pid)
{
	struct target *t;
	char path[32];
	int rc;

	if (pid <= 0)
		return -ESRCH;
	t = target_new(&process, NULL);
	if (!t)
		return -ENOMEM;
	t->pid = t->member = pid;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	t->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = t->proc_fd >= 0 ? read_start(t, &t->pid_start) : errno == ENOENT ? -ESRCH : -errno;
	if (rc == 0)
		rc = target_refresh(t);
	if (rc == 0)
		rc = memory_is_ours(t);
	if (rc == 0) {
		*out = t;
		return 0;
	}
	target_close(t);
	return rc;
}

int target_from_text(struct target **out, const char *maps, size_t bytes,
		     const struct target_source *source, void *source_arg)
{
	struct target *t = target_new(source, source_arg);
	int rc;

	if (!t)
		return -ENOMEM;
	rc = proc_maps_parse(maps, bytes, target_add_mapping, t);
	if (rc < 0) {
		target_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

void target_close(struct target *t)
{
	if (!t)
		return;
	drop_mappings(t);
	free(t->mappings);
	free(t->glibc);
	free(t->known);
	if (t->proc_fd >= 0)
		close(t->proc_fd);
	free(t);
}

const struct proc_map *target_mapping_at(const struct target *t, uint64_t address)
{
	size_t at = array_upto(t->mappings, t->mapping_count, sizeof(*t->mappings),
			       offsetof(struct proc_map, end), address);

	return at < t->mapping_count && t->mappings[at].start <= address ? &t->mappings[at] : NULL;
}

ssize_t target_readv(const struct target *t, const struct iovec *to, const struct iovec *from,
		     unsigned int count)
{
	return count > IOV_COUNT_MAX ? -EINVAL : t->source->readv(t, to, from, count);
}

int target_read(const struct target *t, uint64_t address, void *to, size_t bytes)
{
	size_t done = 0;

	/* The kernel refuses a range that wraps around; a source of tests may not. */
	if (address + bytes < address)
		return -EFAULT;
	while (done < bytes) {
		struct iovec here = {(char *)to + done, bytes - done};
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process */
		struct iovec there = {(void *)(uintptr_t)(address + done), bytes - done};
		ssize_t n = target_readv(t, &here, &there, 1);

		if (n <= 0)
			return n < 0 ? (int)n : -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

int target_read_u64(const struct target *t, uint64_t address, uint64_t *to)
{
	uint64_t value;
	int rc = target_read(t, address, &value, sizeof(value));

	if (rc == 0)
		*to = value;
	return rc;
}

int target_threads(const struct target *t, int (*f)(void *arg, int32_t tid), void *arg)
{
	struct dirent *entry;
	DIR *tasks;
	int rc = 0;

	if (t->proc_fd < 0)
		return -ESRCH;
	tasks = proc_directory(t->proc_fd, "task");
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (rc == 0 && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			rc = f(arg, (int32_t)strtol(entry->d_name, NULL, 10));
	closedir(tasks);
	return rc;
}
