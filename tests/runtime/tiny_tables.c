/* SPDX-License-Identifier: Apache-2.0 */
/* See tiny_tables.h. */
#include "tiny_tables.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/module.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define FILES_MAX 512

const char *tiny_last_map;

struct file {
	char path[512];
	struct elf_module *module;
	uint64_t offset, eh; /* of its table; of .eh_frame_hdr, 0 = none */
};

static struct file files[FILES_MAX];
static int file_count;
static uint8_t *base;
static uint64_t used = WEFT_TABLES_FIRST;

int tiny_tables_open(void)
{
	int fd = memfd_create("tables-of-tiny", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const uint64_t magic = WEFT_TABLES_MAGIC;

	if (fd < 0 || ftruncate(fd, (off_t)WEFT_TABLES_BYTES))
		return -1;
	base = mmap(NULL, WEFT_TABLES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		    0);
	if (base == MAP_FAILED ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return -1;
	memcpy(base, &magic, sizeof(magic));
	return fd;
}

static uint64_t put_table(const struct unwind_table *table)
{
	uint64_t at = used;

	if (!table)
		return WEFT_TABLE_NONE;
	memcpy(base + at, table, table->bytes);
	used = (used + table->bytes + WEFT_TABLE_ALIGN - 1) & ~(uint64_t)(WEFT_TABLE_ALIGN - 1);
	return at;
}

/* File address of PT_GNU_EH_FRAME. */
static uint64_t eh_of(const uint8_t *image, size_t bytes)
{
	const Elf64_Ehdr *h = (const void *)image;
	const Elf64_Phdr *p;

	if (bytes < sizeof(*h) || h->e_phoff + (uint64_t)h->e_phnum * sizeof(*p) > bytes)
		return 0;
	p = (const void *)(image + h->e_phoff);
	for (int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			return p[i].p_vaddr;
	return 0;
}

/* The vdso out of the process; its pages are few. */
static int open_vdso(struct file *f, int pid, uint64_t start, uint64_t end)
{
	char path[64];
	size_t bytes = end - start;
	uint8_t *image = malloc(bytes);
	int fd, failed;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	failed = fd < 0 || !image || pread(fd, image, bytes, (off_t)start) != (ssize_t)bytes ||
		 elf_module_open_image(&f->module, image, bytes, "[vdso]");
	if (fd >= 0)
		close(fd);
	free(image);
	return failed;
}

static int open_file(struct file *f)
{
	static _Alignas(8) uint8_t head[4096];
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, head, sizeof(head));

	if (fd >= 0)
		close(fd);
	if (bytes > 0)
		f->eh = eh_of(head, (size_t)bytes);
	return elf_module_open(&f->module, f->path, -1, f->path);
}

static struct file *file_of(const char *path, int pid, uint64_t start, uint64_t end)
{
	struct file *f = files;

	for (; f < files + file_count; f++)
		if (!strcmp(f->path, path))
			return f;
	if (file_count == FILES_MAX)
		return NULL;
	snprintf(f->path, sizeof(f->path), "%s", path);
	if (!strcmp(path, "[vdso]") ? open_vdso(f, pid, start, end) : open_file(f))
		return NULL;
	f->offset = put_table(elf_module_table(f->module));
	file_count++;
	return f;
}

static void add_module(struct tiny_map *map, const char *path, uint64_t start, uint64_t end,
		       uint64_t offset, uint64_t lowest)
{
	struct weft_map_module *m = &map->modules[map->count];
	struct file *f = *path == '/' || !strcmp(path, "[vdso]")
				 ? file_of(path, map->pid, start, end)
				 : NULL;
	uint64_t address;

	if (map->count == TINY_MODULES_MAX)
		return;
	*m = (struct weft_map_module){.start = start, .end = end};
	if (f && elf_module_address(f->module, offset, &address) == 0) {
		m->bias = start - address;
		m->table = f->offset;
		if (f->eh) {
			m->object_start = lowest;
			m->object_eh = m->bias + f->eh;
		}
	}
	map->count++;
}

/* The lowest mapping of a file is where its object begins. */
static void read_lines(struct tiny_map *map, char *text)
{
	char path[512], last[512] = "", access[8];
	uint64_t lowest = 0;

	map->count = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long start, end, offset;

		path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end, access, &offset,
			   path) < 4)
			continue;
		if (strcmp(path, last) || offset == 0) {
			lowest = start;
			memcpy(last, path, sizeof(last));
		}
		if (access[2] == 'x' && strcmp(path, "[vsyscall]"))
			add_module(map, path, start, end, offset, lowest);
	}
}

static size_t read_maps(int pid, char *text, size_t room)
{
	char path[64];
	size_t bytes = 0;
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && bytes < room - 1 && (got = read(fd, text + bytes, room - 1 - bytes)) > 0)
		bytes += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[bytes] = 0;
	return bytes;
}

static void store(struct tiny_map *map, struct weft_session_header *shared,
		  const struct weft_session_header *layout)
{
	uint64_t bytes = sizeof(struct weft_map_snapshot) + map->count * sizeof(*map->modules);
	struct weft_map_snapshot *to;

	if (map->place + bytes > layout->map_bytes)
		map->place = 0;
	to = (void *)((uint8_t *)shared + layout->map_offset + map->place);
	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(to + 1, map->modules, map->count * sizeof(*map->modules));
	to->count = map->count;
	to->epoch = map->epoch;
	map->number++;
	__atomic_store_n(&to->number, map->number, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->tables_used, used, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->map_number, map->number, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->map_current, layout->map_offset + map->place, __ATOMIC_RELEASE);
	map->place += (bytes + 63) & ~UINT64_C(63);
}

void tiny_map_publish(struct tiny_map *map, struct weft_session_header *shared,
		      const struct weft_session_header *layout)
{
	static char text[1 << 20];
	uint64_t epoch = __atomic_load_n(&shared->modules_epoch, __ATOMIC_ACQUIRE) >> 32 << 32;
	size_t bytes = read_maps(map->pid, text, sizeof(text));
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ epoch;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	if (!bytes || hash == map->hash || map->is_last)
		return;
	map->hash = hash;
	map->epoch = epoch;
	map->is_last = tiny_last_map && strstr(text, tiny_last_map);
	read_lines(map, text);
	store(map, shared, layout);
}

int tiny_map_find(void *arg, uint64_t pc, struct unwind_module *out)
{
	const struct tiny_map *map = arg;

	for (uint32_t i = 0; i < map->count; i++) {
		const struct weft_map_module *m = &map->modules[i];

		if (pc < m->start || pc >= m->end)
			continue;
		*out = (struct unwind_module){.start = m->start, .end = m->end, .bias = m->bias};
		if (m->table)
			out->table = (const void *)(base + m->table);
		return 0;
	}
	return -1;
}
