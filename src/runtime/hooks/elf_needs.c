/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a program that is about to be started need AddressSanitizer's runtime as a shared library?
 * That one must be the first library of all, and ends a program in which it is not. Read is the
 * file that exec will read: found as exec finds it, through the #! lines of scripts; its dynamic
 * section, as the loader reads it. What cannot be read needs nothing: exec will fail, or the loader
 * judges.
 *
 * This may run in a vfork child: it writes only to its own stack and allocates nothing. Not seen
 * are a folder that posix_spawn's file actions change to, and what a program without us starts (a
 * static shell): it hands LD_PRELOAD down as it is.
 */
#include "runtime/hooks/hooks.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/sys.h"

/* Whether they may be made is asked once, at the end of this file: not where the program filters
 * its system calls, but after no_new_privs alone, which sandboxes set before they exec. */
#undef sys_call6

#define PATH_BYTES 1024
#define LINE_BYTES 256
#define SCRIPTS_MAX 4
#define HEADERS_MAX 24
#define ENTRIES_AT_ONCE 32
#define ENTRIES_MAX 4096
#define NAME_BYTES 24

static int read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return sys_call4(SYS_pread64, fd, to, bytes, offset) == (long)bytes;
}

int weft_elf_is_sanitizer(const char *path, size_t bytes)
{
	static const char *const names[] = {"libasan.so", "libclang_rt.asan"};
	size_t name = bytes;

	while (name && path[name - 1] != '/')
		name--;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bytes - name >= strlen(names[i]) &&
		    !memcmp(path + name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

/* ---- the file */

static int open_file(const char *path)
{
	return (int)sys_call4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
}

/* What lies further along PATH is started where this is a directory. */
static int open_regular(const char *path)
{
	int fd = open_file(path);
	char first;

	if (fd < 0 || sys_call4(SYS_pread64, fd, &first, 1, 0) != -EISDIR)
		return fd;
	sys_call1(SYS_close, fd);
	return -EACCES;
}

static int open_in(const char *folder, size_t bytes, const char *name)
{
	char path[PATH_BYTES];
	size_t name_bytes = strlen(name) + 1;

	if (bytes + 1 + name_bytes > sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, folder, bytes);
	path[bytes] = '/';
	memcpy(path + bytes + (bytes != 0), name, name_bytes);
	if (sys_call3(SYS_faccessat, AT_FDCWD, path, 1 /* X_OK */))
		return -EACCES;
	return open_regular(path);
}

static int find_and_open(const char *name)
{
	const char *at = secure_getenv("PATH");
	size_t bytes;
	int fd = -ENOENT;

	if (strchr(name, '/'))
		return open_file(name);
	for (at = at ? at : "/bin:/usr/bin"; fd < 0; at += bytes + 1) {
		bytes = strcspn(at, ":");
		fd = open_in(at, bytes, name);
		if (!at[bytes])
			break;
	}
	return fd;
}

/* The interpreter of a #! line, in @line; NULL: it is no script. */
static const char *interpreter_of(int fd, char line[LINE_BYTES])
{
	long bytes = sys_call4(SYS_pread64, fd, line, LINE_BYTES - 1, 0);
	char *at;

	if (bytes < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[bytes] = 0;
	at = line + 2;
	while (*at == ' ' || *at == '\t')
		at++;
	at[strcspn(at, " \t\n")] = 0;
	return *at ? at : NULL;
}

/* ---- its dynamic section */

struct dynamic {
	int fd;
	Elf64_Phdr part[HEADERS_MAX];
	uint16_t parts;
	uint64_t offset, bytes; /* of the entries, in the file */
};

/* Where an address of the program lies in the file; 0: nowhere. */
static uint64_t offset_of(const struct dynamic *d, uint64_t address)
{
	for (uint16_t i = 0; i < d->parts; i++) {
		const Elf64_Phdr *p = &d->part[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return p->p_offset + (address - p->p_vaddr);
	}
	return 0;
}

static int find_dynamic(struct dynamic *d)
{
	Elf64_Ehdr header = {.e_phnum = 0};

	if (!read_at(d->fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(*d->part))
		return 0;
	d->parts = header.e_phnum < HEADERS_MAX ? header.e_phnum : HEADERS_MAX;
	if (!read_at(d->fd, d->part, d->parts * sizeof(*d->part), header.e_phoff))
		return 0;
	for (uint16_t i = 0; i < d->parts; i++) {
		if (d->part[i].p_type != PT_DYNAMIC)
			continue;
		d->offset = d->part[i].p_offset;
		d->bytes = d->part[i].p_filesz;
		return 1;
	}
	return 0;
}

static int is_needed(const struct dynamic *d, uint64_t strings, uint64_t at)
{
	char name[NAME_BYTES] = "";
	long bytes = sys_call4(SYS_pread64, d->fd, name, sizeof(name) - 1, strings + at);

	return bytes > 0 && weft_elf_is_sanitizer(name, strlen(name));
}

/* @strings 0: the address of the strings; else their place in the file: 1 if one of the names that
 * are needed is a sanitizer's. */
static uint64_t walk_entries(const struct dynamic *d, uint64_t strings)
{
	Elf64_Dyn entry[ENTRIES_AT_ONCE] = {{.d_tag = DT_NULL}};
	uint64_t count = d->bytes / sizeof(*entry), n;

	for (uint64_t first = 0; first < count && first < ENTRIES_MAX; first += n) {
		n = count - first < ENTRIES_AT_ONCE ? count - first : ENTRIES_AT_ONCE;
		if (!read_at(d->fd, entry, n * sizeof(*entry), d->offset + first * sizeof(*entry)))
			return 0;
		for (uint64_t i = 0; i < n; i++) {
			if (entry[i].d_tag == DT_NULL)
				return 0;
			if (!strings && entry[i].d_tag == DT_STRTAB)
				return entry[i].d_un.d_ptr;
			if (strings && entry[i].d_tag == DT_NEEDED &&
			    is_needed(d, strings, entry[i].d_un.d_val))
				return 1;
		}
	}
	return 0;
}

static __attribute__((noinline)) int elf_needs_it(int fd)
{
	struct dynamic d = {.fd = fd};
	uint64_t strings;

	if (!find_dynamic(&d))
		return 0;
	strings = offset_of(&d, walk_entries(&d, 0));
	return strings && walk_entries(&d, strings);
}

static int file_needs_it(int fd, int depth)
{
	char line[LINE_BYTES] = "";
	const char *interpreter = interpreter_of(fd, line);
	int other, needs;

	if (!interpreter)
		return elf_needs_it(fd);
	other = depth < SCRIPTS_MAX ? open_file(interpreter) : -ELOOP;
	if (other < 0)
		return 0;
	needs = file_needs_it(other, depth + 1);
	sys_call1(SYS_close, other);
	return needs;
}

int weft_elf_needs_sanitizer(const struct weft_begun *program)
{
	int fd = program->fd, needs;

	if (weft_rt_is_careful() && !weft_seccomp_is_only_announced())
		return 0;
	if (program->name)
		fd = program->searches ? find_and_open(program->name) : open_file(program->name);
	if (fd < 0)
		return 0;
	needs = file_needs_it(fd, 0);
	if (program->name)
		sys_call1(SYS_close, fd);
	return needs;
}
