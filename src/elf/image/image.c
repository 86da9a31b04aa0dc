/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file itself: identity, segments, build-id, and what lies where. Read, never mapped. What
 * is made from it is built above, when asked for (module.h).
 */
#include "elf/image/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 4096
#define NOTES_BYTES_MAX (1u << 20)

Elf *elf_open(int fd)
{
	return elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
}

int elf_header_machine(const unsigned char *head, size_t bytes)
{
	Elf64_Ehdr h;

	if (bytes < sizeof(h))
		return -ENOEXEC;
	memcpy(&h, head, sizeof(h));
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (h.e_machine != EM_X86_64 && h.e_machine != EM_AARCH64)
		return -ENOEXEC;
	return h.e_machine;
}

static int load_segments(struct elf_module *m)
{
	size_t count;

	if (elf_getphdrnum(m->elf, &count) != 0 || count > SEGMENTS_MAX)
		return -ENOEXEC;
	m->segments = calloc(count + 1, sizeof(*m->segments));
	if (!m->segments)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(m->elf, (int)i, &m->segments[i]))
			m->segment_count = i + 1;
		else
			break;
	return 0;
}

static void find_build_id(struct elf_module *m, const GElf_Phdr *segment)
{
	Elf_Data *data;

	if (segment->p_filesz > NOTES_BYTES_MAX || segment->p_offset > INT64_MAX)
		return;
	data = elf_getdata_rawchunk(m->elf, (int64_t)segment->p_offset, segment->p_filesz,
				    segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	m->build_id_bytes = elf_build_id_of(data, m->build_id);
}

int elf_image_load(struct elf_module *m, const char *name)
{
	int err;

	if (!m->elf || elf_kind(m->elf) != ELF_K_ELF)
		return -ENOEXEC;
	m->name = strdup(name);
	if (!m->name)
		return -ENOMEM;
	err = load_segments(m);
	for (size_t i = 0; !err && i < m->segment_count && m->build_id_bytes == 0; i++)
		if (m->segments[i].p_type == PT_NOTE)
			find_build_id(m, &m->segments[i]);
	return err;
}

int elf_image_open(struct elf_module *m, const char *path, int fd)
{
	unsigned char head[sizeof(Elf64_Ehdr)];
	struct stat st;
	ssize_t got;

	/* Not blocked by what only looks like a file: a FIFO waits for its writer. */
	m->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
			: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (m->fd < 0 || fstat(m->fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	m->owner = st.st_uid;
	m->path = path ? strdup(path) : NULL;
	if (path && !m->path)
		return -ENOMEM;
	got = pread(m->fd, head, sizeof(head), 0);
	if (got < 0)
		return -errno;
	m->machine = elf_header_machine(head, (size_t)got);
	if (m->machine < 0)
		return m->machine;
	m->elf = elf_open(m->fd);
	return 0;
}

int elf_image_copy(struct elf_module *m, const void *image, size_t bytes)
{
	m->machine = elf_header_machine(image, bytes);
	if (m->machine < 0)
		return m->machine;
	m->image = malloc(bytes);
	if (!m->image)
		return -ENOMEM;
	memcpy(m->image, image, bytes);
	m->image_bytes = bytes;
	m->elf = elf_memory(m->image, bytes);
	return 0;
}

void elf_image_close(struct elf_module *m)
{
	free(m->segments);
	free(m->name);
	free(m->path);
	elf_end(m->elf);
	free(m->image);
	if (m->fd >= 0)
		close(m->fd);
}

const char *elf_module_name(const struct elf_module *m)
{
	return m->name;
}

int elf_module_machine(const struct elf_module *m)
{
	return m->machine;
}

size_t elf_module_build_id(const struct elf_module *m, const uint8_t **out)
{
	*out = m->build_id;
	return m->build_id_bytes;
}

/* How well a mapping at @file_offset fits: mappings begin with the page in which their segment
 * does, so one page of the file may be mapped for two segments; code wins. 0: not at all. */
static int segment_fits(const GElf_Phdr *s, uint64_t file_offset, uint64_t page)
{
	int is_code = s->p_flags & PF_X ? 2 : 0;

	if (s->p_type != PT_LOAD || s->p_filesz == 0)
		return 0;
	if (file_offset >= s->p_offset)
		return file_offset - s->p_offset < s->p_filesz ? is_code + 1 : 0;
	return file_offset >= (s->p_offset & ~(page - 1)) &&
			       (s->p_offset & (page - 1)) == (s->p_vaddr & (page - 1))
		       ? is_code
		       : 0;
}

int elf_is_code(const struct elf_module *m, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *s = &m->segments[i];

		if (s->p_type == PT_LOAD && (s->p_flags & PF_X) && start >= s->p_vaddr &&
		    end - s->p_vaddr <= s->p_memsz)
			return 1;
	}
	return 0;
}

int elf_module_address(const struct elf_module *m, uint64_t file_offset, uint64_t *address)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const GElf_Phdr *found = NULL;
	int best = 0;

	for (size_t i = 0; i < m->segment_count; i++) {
		int fits = segment_fits(&m->segments[i], file_offset, page);

		if (fits > best) {
			best = fits;
			found = &m->segments[i];
		}
	}
	if (!found)
		return -ENOENT;
	*address = found->p_vaddr + (file_offset - found->p_offset);
	return 0;
}

int elf_module_read(const struct elf_module *m, uint64_t address, void *out, size_t bytes)
{
	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *s = &m->segments[i];

		if (s->p_type != PT_LOAD || address < s->p_vaddr || bytes > s->p_filesz ||
		    address - s->p_vaddr > s->p_filesz - bytes || s->p_offset > INT64_MAX / 2)
			continue;
		if (m->fd >= 0) {
			off_t at = (off_t)(s->p_offset + (address - s->p_vaddr));

			return at >= 0 && pread(m->fd, out, bytes, at) == (ssize_t)bytes ? 0
											 : -ENOENT;
		}
		if (s->p_offset + (address - s->p_vaddr) > m->image_bytes ||
		    bytes > m->image_bytes - (s->p_offset + (address - s->p_vaddr)))
			return -ENOENT;
		memcpy(out, (char *)m->image + s->p_offset + (address - s->p_vaddr), bytes);
		return 0;
	}
	return -ENOENT;
}

int elf_module_object(const struct elf_module *m, uint64_t *start, uint64_t *eh_frame_hdr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lowest = UINT64_MAX, header = 0;

	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *s = &m->segments[i];

		if (s->p_type == PT_LOAD && s->p_vaddr < lowest)
			lowest = s->p_vaddr;
		if (s->p_type == PT_GNU_EH_FRAME)
			header = s->p_vaddr;
	}
	if (lowest == UINT64_MAX)
		return -ENOENT;
	*start = lowest & ~(page - 1);
	*eh_frame_hdr = header;
	return 0;
}

int elf_module_is_code_start(const struct elf_module *m, uint64_t file_offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *s = &m->segments[i];

		if (s->p_type == PT_LOAD && s->p_flags & PF_X &&
		    (s->p_offset & ~(page - 1)) == file_offset)
			return 1;
	}
	return 0;
}
