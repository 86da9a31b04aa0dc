/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of ELF files: see modules.h. */
#include "collector/walk/modules.h"

#include "base/map.h"
#include "elf/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

struct modules {
	struct tables *tables;
	struct table_cache *cache;
	struct map *files;        /* struct file_key -> struct module_file * (0: cannot be read) */
	struct map *tables_known; /* struct table_key -> offset: one file may have many copies */
	struct map *codes;        /* struct module_file *, path -> struct code * */
	struct module_file *vdso;
	int vdso_tried;
	int asks_servers;
};

struct table_key {
	uint64_t fingerprint;
	uint8_t build_id[TABLE_BUILD_ID_MAX];
};

struct file_key {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
};

struct modules *modules_new(struct tables *tables, struct table_cache *cache)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->tables = tables;
	m->cache = cache;
	m->files = map_new();
	m->tables_known = map_new();
	m->codes = map_new();
	if (m->files && m->tables_known && m->codes)
		return m;
	modules_free(m);
	return NULL;
}

void modules_ask_servers(struct modules *m)
{
	m->asks_servers = 1;
}

/* Takes over both, which may be NULL; without @elf, or without memory, NULL. @root_fd: where what
 * was split off them is looked for, -1 = in our root alone. */
static struct module_file *file_new(const struct modules *m, struct elf_module *elf,
				    struct elf_module *names, int root_fd)
{
	struct elf_debug debug = {.root_fd = root_fd, .debuginfod = m->asks_servers};
	struct module_file *file = elf ? calloc(1, sizeof(*file)) : NULL;

	if (!file) {
		elf_module_free(elf);
		elf_module_free(names);
		return NULL;
	}
	if (names)
		elf_module_set_debug(names, &debug);
	debug.debuginfod = 0; /* who walks does not wait for a server */
	elf_module_set_debug(elf, &debug);
	*file = (struct module_file){.elf = elf, .names = names, .offset = WEFT_TABLE_PENDING};
	return file;
}

static void file_free(void *value)
{
	struct module_file *file = value;

	if (!file)
		return;
	elf_module_free(file->elf);
	elf_module_free(file->names);
	free(file->own);
	free(file);
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	map_free_values(m->files, file_free);
	map_free(m->tables_known);
	map_free_values(m->codes, free);
	file_free(m->vdso);
	free(m);
}

int modules_open_below(int root_fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (unsigned int)flags, .resolve = RESOLVE_IN_ROOT | resolve};
	long fd;

	if (root_fd < 0)
		return open(path, flags);
	fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root_fd, path + (path[0] == '/'), flags | (resolve ? O_NOFOLLOW : 0));
	return (int)fd;
}

/* Takes over @fd: it is returned if that is the file that is mapped, @surely or perhaps; else -1.
 */
static int modules_checked(int fd, const struct mapping *one, int surely)
{
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && mapping_may_be(one, &st) &&
	    (!surely || (st.st_ino == one->inode && major(st.st_dev) == one->device_major &&
			 minor(st.st_dev) == one->device_minor)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* By its path; a deleted or replaced file through the kernel's own link to it. */
static int open_mapped(const struct mapping *one, int root_fd, int proc_fd)
{
	char link[64];
	int fd = modules_checked(modules_open_below(root_fd, one->path, OPEN_FLAGS, 0), one, 0);

	/* Of a process in a root of its own the kernel tells paths as they are in ours. */
	if (fd < 0 && root_fd >= 0)
		fd = modules_checked(open(one->path, OPEN_FLAGS), one, 1);
	if (fd >= 0 || proc_fd < 0)
		return fd;
	snprintf(link, sizeof(link), "map_files/%llx-%llx", (unsigned long long)one->start,
		 (unsigned long long)one->end);
	return modules_checked(openat(proc_fd, link, OPEN_FLAGS), one, 0);
}

static struct module_file *file_of_fd(struct modules *m, int fd, const struct mapping *one,
				      int root_fd)
{
	struct file_key key;
	struct elf_module *module = NULL, *names = NULL;
	struct stat st;
	uint64_t *value;
	char name[256];
	int fresh;

	if (fstat(fd, &st))
		return NULL;
	memset(&key, 0, sizeof(key));
	key.device = st.st_dev;
	key.inode = st.st_ino;
	key.size = (uint64_t)st.st_size;
	key.changed_s = st.st_mtim.tv_sec;
	key.changed_ns = st.st_mtim.tv_nsec;
	value = map_put(m->files, &key, sizeof(key), &fresh);
	if (!value)
		return NULL;
	if (fresh) {
		mapping_name(one, name, sizeof(name));
		if (elf_module_open(&module, one->path, fd, name) == 0 &&
		    elf_module_open(&names, one->path, fd, name))
			names = NULL;
		*value = (uint64_t)(uintptr_t)file_new(m, module, names, root_fd);
	}
	return (struct module_file *)(uintptr_t)*value;
}

/* Every process of this kernel is given the same image, so ours will do. */
static struct module_file *vdso_file(struct modules *m)
{
	struct elf_module *module = NULL, *names = NULL;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes;

	if (m->vdso_tried || !header)
		return m->vdso;
	m->vdso_tried = 1;
	bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (elf_module_open_image(&module, header, bytes, "[vdso]") == 0 &&
	    elf_module_open_image(&names, header, bytes, "[vdso]"))
		names = NULL;
	m->vdso = file_new(m, module, names, -1);
	return m->vdso;
}

/* The bias, by the file's program headers. A mapping that they do not explain is not of this file.
 */
static int find_bias(struct mapping *one, const struct elf_module *module)
{
	uint64_t address;

	if (one->has_bias)
		return 0;
	if (elf_module_address(module, one->offset, &address))
		return -ENOENT;
	one->bias = one->start - address;
	one->has_bias = 1;
	return 0;
}

void modules_attach(struct modules *m, struct mapping *one, int root_fd, int proc_fd)
{
	int fd;

	one->opened = 1;
	if (strcmp(one->path, "[vdso]") == 0 || strcmp(one->path, "linux-vdso.so.1") == 0) {
		one->file = vdso_file(m);
	} else if (one->path[0] == '/') {
		fd = open_mapped(one, root_fd, proc_fd);
		if (fd < 0)
			return;
		one->file = file_of_fd(m, fd, one, root_fd);
		close(fd);
	}
	if (one->file && find_bias(one, one->file->elf))
		one->file = NULL;
}

static struct code *code_new(const struct mapping *one)
{
	size_t path_bytes = strlen(one->path) + 1, name_bytes;
	struct code *code;
	char name[256], *texts;

	mapping_name(one, name, sizeof(name));
	name_bytes = strlen(name) + 1;
	code = malloc(sizeof(*code) + path_bytes + name_bytes);
	if (!code)
		return NULL;
	texts = (char *)(code + 1);
	memcpy(texts, one->path, path_bytes);
	memcpy(texts + path_bytes, name, name_bytes);
	*code = (struct code){texts, texts + path_bytes, one->file ? one->file->names : NULL};
	return code;
}

const struct code *modules_code(struct modules *m, struct mapping *one)
{
	char key[sizeof(void *) + PATH_MAX];
	size_t bytes = strlen(one->path);
	uint64_t *value;

	if (one->code || bytes == 0)
		return one->code;
	if (bytes > PATH_MAX)
		bytes = PATH_MAX;
	memcpy(key, &one->file, sizeof(one->file));
	memcpy(key + sizeof(one->file), one->path, bytes);
	value = map_put(m->codes, key, sizeof(one->file) + bytes, NULL);
	if (!value)
		return NULL;
	if (!*value)
		*value = (uint64_t)(uintptr_t)code_new(one);
	one->code = (const struct code *)(uintptr_t)*value;
	return one->code;
}

/* Takes over @own: it is freed if the memfd has room for a copy, else kept. */
static void keep_table(struct modules *m, struct module_file *file, struct unwind_table *own)
{
	file->offset = tables_add(m->tables, own);
	if (file->offset == WEFT_TABLE_PENDING) {
		file->table = file->own = own;
		return;
	}
	file->table = tables_at(m->tables, file->offset);
	free(own);
}

static struct unwind_table *build(struct modules *m, struct module_file *file)
{
	struct unwind_table *table = elf_module_take_table(file->elf);

	if (table)
		table_cache_save(m->cache, file->elf, table);
	return table;
}

/* Where the offset of the same table is noted, once another copy of this file has it (0 = not yet).
 * NULL: the file has no build-id. */
static uint64_t *table_known(struct modules *m, struct module_file *file)
{
	struct table_key key;
	const uint8_t *id;
	size_t bytes = elf_module_build_id(file->elf, &id);

	if (bytes == 0 || bytes > sizeof(key.build_id))
		return NULL;
	memset(&key, 0, sizeof(key));
	key.fingerprint = elf_module_fingerprint(file->elf);
	memcpy(key.build_id, id, bytes);
	return map_put(m->tables_known, &key, sizeof(key), NULL);
}

uint64_t modules_table(struct modules *m, struct module_file *file, int quick)
{
	struct unwind_table *table = NULL;
	uint64_t *known;

	if (file->offset != WEFT_TABLE_PENDING || file->has_tried)
		return file->offset;
	known = table_known(m, file);
	if (known && *known) {
		file->offset = *known;
		file->table = tables_at(m->tables, file->offset);
		return file->offset;
	}
	if (!file->has_looked)
		table = table_cache_load(m->cache, file->elf);
	file->has_looked = 1;
	if (!table && quick)
		return file->offset;
	file->has_tried = 1;
	if (!table)
		table = build(m, file);
	if (table)
		keep_table(m, file, table);
	else
		file->offset = WEFT_TABLE_NONE;
	if (known && file->offset >= WEFT_TABLES_FIRST)
		*known = file->offset;
	return file->offset;
}
