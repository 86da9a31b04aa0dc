/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that carry the runtime: see carrier.h. */
#include "collector/process/carrier.h"

#include "collector/process/process.h"
#include "elf/image/elf_open.h"
#include "proc/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define LIBRARY "libweft"

/* ---- the mappings */

/* libweft.so, libweft-late.so; not libweft-jfr.so, which is no runtime. */
static int is_library(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strncmp(name, LIBRARY ".so", sizeof(LIBRARY ".so") - 1) == 0 ||
	       strncmp(name, LIBRARY "-late.so", sizeof(LIBRARY "-late.so") - 1) == 0;
}

/* The session is mapped from its header on. */
static int carrier_take_mapping(void *arg, struct proc_map *map)
{
	struct carrier *c = arg;

	if (strncmp(map->path, CARRIER_MEMFD, sizeof(CARRIER_MEMFD) - 1) == 0) {
		if (map->offset != 0 || map->end - map->start < WEFT_SESSION_HEADER_BYTES)
			return 0;
		c->address = map->start;
		c->end = map->end;
		c->inode = map->inode;
	} else if (map->path[0] == '/') {
		c->has_library |= is_library(map->path);
	}
	return 0;
}

/* ---- the descriptor and the header */

static int header_is_own(const struct weft_session_header *h, pid_t pid)
{
	return h->magic == WEFT_SESSION_MAGIC && h->pid == (int32_t)pid;
}

/* If this descriptor is a session, take it. A forked child has its parent's open, too: its own
 * wins. */
static void carrier_read_descriptor(struct carrier *c, int fd_dir, const char *name)
{
	struct weft_session_header h;
	char link[64] = "";
	struct stat st;
	int fd;

	if (readlinkat(fd_dir, name, link, sizeof(link) - 1) < 0 ||
	    strncmp(link, CARRIER_MEMFD, sizeof(CARRIER_MEMFD) - 1) != 0)
		return;
	fd = openat(fd_dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	    !(c->has_header && header_is_own(&c->header, c->pid))) {
		c->fd = atoi(name);
		c->inode = st.st_ino;
		c->header = h;
		c->has_header = 1;
	}
	close(fd);
}

static int read_descriptors(struct carrier *c, int proc_fd)
{
	DIR *list = proc_directory(proc_fd, "fd");
	const struct dirent *entry;

	if (!list)
		return -errno;
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			carrier_read_descriptor(c, dirfd(list), entry->d_name);
	closedir(list);
	return 0;
}

/* The header of a session without a descriptor, from the process's memory. */
static void read_mapped_header(struct carrier *c)
{
	struct iovec to = {&c->header, sizeof(c->header)};
	struct iovec from = {(void *)(uintptr_t)c->address, sizeof(c->header)};

	c->has_header =
		process_vm_readv(c->pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(c->header) &&
		c->header.magic == WEFT_SESSION_MAGIC;
}

/* ---- how it came there */

static int environment_preloads(int proc_fd)
{
	size_t bytes = 0;
	char *text = proc_read_all(proc_fd, "environ", &bytes);
	const char *preload = proc_variable(text, bytes, "LD_PRELOAD");
	int found = preload && strstr(preload, LIBRARY);

	free(text);
	return found;
}

int carrier_elf_needs(Elf *elf, int (*is_it)(const char *name))
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;

	while ((section = elf_nextscn(elf, section))) {
		int is_dynamic = gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC;
		Elf_Data *data = is_dynamic ? elf_getdata(section, NULL) : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
			const char *name =
				entry.d_tag == DT_NEEDED
					? elf_strptr(elf, header.sh_link, entry.d_un.d_val)
					: NULL;

			if (name && is_it(name))
				return 1;
		}
	}
	return 0;
}

static int executable_needs(int proc_fd)
{
	int fd = openat(proc_fd, "exe", O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_open(fd);
	int found = elf && carrier_elf_needs(elf, is_library);

	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

static enum carrier_way find_way(const struct carrier *c, int proc_fd)
{
	if (!c->has_library)
		return CARRIER_STATIC;
	if (executable_needs(proc_fd))
		return CARRIER_LINKED;
	return environment_preloads(proc_fd) ? CARRIER_PRELOADED : CARRIER_LOADED;
}

/* ---- one process */

/* A collector has the sessions of others mapped and open, but carries no runtime. */
static int is_collector(const struct carrier *c)
{
	return c->has_header && c->header.pid != (int32_t)c->pid &&
	       c->header.collector_pid == (int32_t)c->pid;
}

static int carrier_read(struct carrier *c, int proc_fd)
{
	int rc = proc_maps_each(c->pid, carrier_take_mapping, c);

	if (rc == 0)
		rc = read_descriptors(c, proc_fd);
	if (rc)
		return rc;
	if (!c->has_header && c->address)
		read_mapped_header(c);
	if ((!c->address && c->fd < 0) || is_collector(c))
		return -ENOENT;
	c->way = find_way(c, proc_fd);
	return 0;
}

int carrier_look(struct carrier *out, pid_t pid)
{
	char path[32];
	int proc_fd, rc;

	*out = (struct carrier){.pid = pid, .fd = -1};
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = carrier_read(out, proc_fd);
	close(proc_fd);
	return rc == -EPERM ? -EACCES : rc;
}

static int is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

enum carrier_state carrier_state(const struct carrier *c)
{
	const struct weft_session_header *h = &c->header;

	if (!c->has_header)
		return CARRIER_UNKNOWN;
	/* In a namespace of its own the process has another number there. */
	if (h->pid != (int32_t)c->pid && carrier_is_near(c->pid) == 1)
		return CARRIER_FORKED;
	switch (h->run_state) {
	case WEFT_RUN_IDLE:
		return CARRIER_IDLE;
	case WEFT_RUN_RECORDING:
		return is_alive(h->collector_pid) ? CARRIER_RECORDED : CARRIER_LEFT;
	default:
		return h->features & WEFT_FEATURE_RUNTIME_MADE ? CARRIER_IDLE : CARRIER_OVER;
	}
}

const char *carrier_way_text(enum carrier_way way)
{
	static const char *const text[] = {"libweft.a", "preloaded", "linked", "loaded"};

	return text[way];
}

const char *carrier_state_text(enum carrier_state state)
{
	static const char *const text[] = {"idle", "recorded", "over", "left", "forked", "unknown"};

	return text[state];
}

int carrier_is_near(pid_t pid)
{
	struct stat ours, its;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat("/proc/self/ns/pid", &ours) || stat(path, &its))
		return -errno;
	return ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

long carrier_status_number(pid_t pid, const char *name)
{
	size_t bytes = 0;
	char *text = proc_read_all_of(pid, "status", &bytes);
	const char *at = proc_line(text, name);
	long value = at ? strtol(at, NULL, 10) : -1;

	free(text);
	return value;
}
