/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files: see debug_file.h. Order: docs/names.md. */
#include "elf/image/debug_file.h"

#include "base/text/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define LINK_BYTES_MAX 4096
#define DIRECTORY "/usr/lib/debug"

/* The target's root, where it is not ours, then ours (-1). Returns how many. */
static int roots_of(const struct elf_module *m, int roots[2])
{
	int count = 0;

	if (m->debug.root_fd >= 0)
		roots[count++] = m->debug.root_fd;
	roots[count++] = -1;
	return count;
}

static int debug_file_open_below(int root_fd, const char *path)
{
	struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_IN_ROOT};
	long fd;

	if (root_fd < 0)
		return open(path, OPEN_FLAGS);
	fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root_fd, path + strspn(path, "/"), OPEN_FLAGS);
	return (int)fd;
}

/* Somebody else's file is not taken for a part of this program. */
static int is_trusted(const struct elf_module *m, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid() || (m->fd >= 0 && st.st_uid == m->owner));
}

/* Takes over @fd. */
static int debug_file_adopt(const struct elf_module *m, int fd, const char *path,
			    struct debug_file *out)
{
	unsigned char head[sizeof(Elf64_Ehdr)];
	struct debug_file f = {.fd = fd};

	if (fd < 0)
		return -ENOENT;
	if (is_trusted(m, fd) && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    elf_header_machine(head, sizeof(head)) == m->machine)
		f.elf = elf_open(fd);
	if (f.elf && path)
		f.path = strdup(path);
	if (!f.elf || elf_kind(f.elf) != ELF_K_ELF || (path && !f.path)) {
		debug_file_close(&f);
		return -ENOENT;
	}
	*out = f;
	return 0;
}

static int debug_file_try_path(const struct elf_module *m, int root_fd, const char *path,
			       struct debug_file *out)
{
	return debug_file_adopt(m, debug_file_open_below(root_fd, path), path, out);
}

void debug_file_close(struct debug_file *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

Elf *debug_file_keep(struct debug_file *f)
{
	Elf *elf = f->elf;

	if (elf)
		elf_cntl(elf, ELF_C_FDDONE);
	f->elf = NULL;
	debug_file_close(f);
	return elf;
}

/* 0, or -ENOENT: it is closed. */
static int debug_file_accept(struct debug_file *f, int is_right)
{
	if (!is_right)
		debug_file_close(f);
	return is_right ? 0 : -ENOENT;
}

static int has_wanted(Elf *elf, enum debug_want want)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (want == DEBUG_WANT_DWARF)
		return elf_has_debug_section(elf, "debug_info");
	if (want == DEBUG_WANT_FRAMES)
		return elf_has_debug_section(elf, "debug_frame");
	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return 1;
	return 0;
}

/* 1 = it is, 0 = it cannot be told, -1 = another one's. */
static int compare_build_id(Elf *elf, const uint8_t *id, size_t bytes)
{
	uint8_t found[ELF_BUILD_ID_MAX];
	size_t found_bytes = elf_find_build_id(elf, found);

	if (!bytes || !found_bytes)
		return 0;
	return found_bytes == bytes && memcmp(found, id, bytes) == 0 ? 1 : -1;
}

/* ---- by build-id */

static int build_id_path(char *path, size_t room, const uint8_t *id, size_t bytes)
{
	size_t at;

	if (bytes < 2 || bytes > ELF_BUILD_ID_MAX)
		return -ENOENT;
	at = (size_t)snprintf(path, room, DIRECTORY "/.build-id/%02x/", id[0]);
	if (at + 2 * bytes + sizeof(".debug") > room)
		return -ENOENT;
	strcpy(hex_put(path + at, id + 1, bytes - 1), ".debug");
	return 0;
}

static int find_by_build_id(const struct elf_module *m, int root_fd, const uint8_t *id,
			    size_t bytes, struct debug_file *out)
{
	char path[PATH_MAX];

	if (build_id_path(path, sizeof(path), id, bytes) != 0 ||
	    debug_file_try_path(m, root_fd, path, out) != 0)
		return -ENOENT;
	return debug_file_accept(out, compare_build_id(out->elf, id, bytes) > 0);
}

/* ---- by debug link: a file name and a checksum */

struct link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

static int read_link(const struct elf_module *m, struct link *out)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_find_section(m->elf, ".gnu_debuglink", &header);
	Elf_Data *data =
		section && header.sh_size <= LINK_BYTES_MAX ? elf_section_data(section) : NULL;
	size_t length;

	if (!data || !data->d_buf)
		return -ENOENT;
	length = strnlen(data->d_buf, data->d_size);
	if (length == 0 || length > NAME_MAX || data->d_size < ((length + 4) & ~(size_t)3) + 4)
		return -ENOENT;
	memcpy(out->name, data->d_buf, length);
	out->name[length] = 0;
	memcpy(&out->crc, (char *)data->d_buf + ((length + 4) & ~(size_t)3), 4);
	return strchr(out->name, '/') || strcmp(out->name, "..") == 0 ? -ENOENT : 0;
}

static int has_crc(int fd, uint32_t expected)
{
	static const size_t room = 1 << 16;
	unsigned char *bytes = malloc(room);
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t got = -1;

	while (bytes && (got = pread(fd, bytes, room, at)) > 0) {
		crc = crc32(crc, bytes, (uInt)got);
		at += got;
	}
	free(bytes);
	return got == 0 && (uint32_t)crc == expected;
}

static int try_link(const struct elf_module *m, int root_fd, const char *path, uint32_t crc,
		    struct debug_file *out)
{
	if (debug_file_try_path(m, root_fd, path, out) != 0)
		return -ENOENT;
	return debug_file_accept(out,
				 compare_build_id(out->elf, m->build_id, m->build_id_bytes) >= 0 &&
					 has_crc(out->fd, crc));
}

/* Beside the file, in .debug there, and below the debug directory. */
static int find_by_link(const struct elf_module *m, int root_fd, const struct link *link,
			struct debug_file *out)
{
	const char *slash = m->path ? strrchr(m->path, '/') : NULL;
	int length = slash ? (int)(slash - m->path) : 0;
	char path[PATH_MAX];

	if (!slash)
		return -ENOENT;
	snprintf(path, sizeof(path), "%.*s/%s", length, m->path, link->name);
	if (strcmp(path, m->path) != 0 && try_link(m, root_fd, path, link->crc, out) == 0)
		return 0;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", length, m->path, link->name);
	if (try_link(m, root_fd, path, link->crc, out) == 0)
		return 0;
	snprintf(path, sizeof(path), DIRECTORY "%s%.*s/%s", m->path[0] == '/' ? "" : "/", length,
		 m->path, link->name);
	return try_link(m, root_fd, path, link->crc, out);
}

/* ---- all */

static int find_below(const struct elf_module *m, int root_fd, const struct link *link,
		      enum debug_want want, struct debug_file *out)
{
	if (find_by_build_id(m, root_fd, m->build_id, m->build_id_bytes, out) == 0 &&
	    debug_file_accept(out, has_wanted(out->elf, want)) == 0)
		return 0;
	if (link && find_by_link(m, root_fd, link, out) == 0)
		return debug_file_accept(out, has_wanted(out->elf, want));
	return -ENOENT;
}

static int find_by_server(const struct elf_module *m, const uint8_t *id, size_t bytes,
			  struct debug_file *out)
{
	if (!m->debug.debuginfod || bytes == 0 ||
	    debug_file_adopt(m, debuginfod_open(id, bytes), NULL, out) != 0)
		return -ENOENT;
	return debug_file_accept(out, compare_build_id(out->elf, id, bytes) > 0);
}

int debug_file_find(const struct elf_module *m, enum debug_want want, struct debug_file *out)
{
	struct link link;
	int has_link = read_link(m, &link) == 0;
	int roots[2], count = roots_of(m, roots);

	for (int i = 0; i < count; i++)
		if (find_below(m, roots[i], has_link ? &link : NULL, want, out) == 0)
			return 0;
	if (find_by_server(m, m->build_id, m->build_id_bytes, out) == 0)
		return debug_file_accept(out, has_wanted(out->elf, want));
	return -ENOENT;
}

/* ---- alternate files */

struct alternate {
	const char *name;
	const uint8_t *id;
	size_t id_bytes;
};

static int read_alternate(Elf *elf, struct alternate *out)
{
	Elf_Data *data = elf_debug_section_data(elf, "gnu_debugaltlink", "");
	size_t length;

	if (!data || !data->d_buf || data->d_size > LINK_BYTES_MAX)
		return -ENOENT;
	length = strnlen(data->d_buf, data->d_size);
	if (length == 0 || length == data->d_size || data->d_size - length - 1 > ELF_BUILD_ID_MAX)
		return -ENOENT;
	out->name = data->d_buf;
	out->id = (const uint8_t *)data->d_buf + length + 1;
	out->id_bytes = data->d_size - length - 1;
	return 0;
}

/* A relative name counts from the directory of the file that has the link. */
static void debug_file_resolve(char *out, size_t room, const char *name, const char *beside)
{
	const char *slash = beside && name[0] != '/' ? strrchr(beside, '/') : NULL;

	snprintf(out, room, "%.*s%s", slash ? (int)(slash + 1 - beside) : 0, slash ? beside : "",
		 name);
}

int debug_file_alternate(const struct elf_module *m, Elf *elf, const char *path,
			 struct debug_file *out)
{
	char resolved[PATH_MAX];
	struct alternate a;
	int roots[2], count = roots_of(m, roots);

	if (read_alternate(elf, &a) != 0)
		return -ENOENT;
	debug_file_resolve(resolved, sizeof(resolved), a.name, path);
	for (int i = 0; i < count; i++) {
		if (find_by_build_id(m, roots[i], a.id, a.id_bytes, out) == 0)
			return 0;
		if (debug_file_try_path(m, roots[i], resolved, out) == 0 &&
		    debug_file_accept(out, compare_build_id(out->elf, a.id, a.id_bytes) > 0) == 0)
			return 0;
	}
	return find_by_server(m, a.id, a.id_bytes, out);
}

int debug_file_next(const struct elf_module *m, const char *path, int *nth, struct debug_file *out)
{
	int roots[2], count = roots_of(m, roots);

	while (*nth < count)
		if (debug_file_try_path(m, roots[(*nth)++], path, out) == 0)
			return 0;
	return -ENOENT;
}
