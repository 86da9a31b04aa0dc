/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding .eh_frame and .debug_frame: by section headers, or, where those were stripped,
 * .eh_frame through the program header of .eh_frame_hdr; .debug_frame also in the separate
 * debug file.
 */
#include "elf/image/debug_file.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Programs of this size have some gigabytes of code. */
#define CFI_BYTES_MAX (UINT64_C(1) << 29)

static int load_by_name(struct cfi_section *s, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section =
		elf_find_section(elf, s->is_eh_frame ? ".eh_frame" : ".debug_frame", &header);
	Elf_Data *data = section ? elf_section_data(section) : NULL;

	if (!data || !data->d_buf || data->d_size == 0 || data->d_size > CFI_BYTES_MAX)
		return -ENOENT;
	s->bytes = malloc(data->d_size);
	if (!s->bytes)
		return -ENOMEM;
	memcpy(s->bytes, data->d_buf, data->d_size);
	s->size = data->d_size;
	s->address = header.sh_addr;
	return 0;
}

static const GElf_Phdr *find_segment(const struct elf_module *m, GElf_Word type, uint64_t address)
{
	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *p = &m->segments[i];

		if (p->p_type == type && (type != PT_LOAD || (address >= p->p_vaddr &&
							      address - p->p_vaddr < p->p_filesz)))
			return p;
	}
	return NULL;
}

/* Cuts at the terminator: what follows .eh_frame in its segment is something else. */
static size_t size_up_to_terminator(const uint8_t *bytes, size_t room)
{
	size_t at = 0;

	while (room - at >= 4) {
		uint32_t length;

		memcpy(&length, bytes + at, 4);
		if (length == 0 || length >= 0xfffffff0 || length > room - at - 4)
			break;
		at += 4 + (size_t)length;
	}
	return at;
}

/* Address of .eh_frame out of .eh_frame_hdr, in the one encoding that linkers write. */
static int eh_frame_address(const struct elf_module *m, uint64_t *address)
{
	const GElf_Phdr *p = find_segment(m, PT_GNU_EH_FRAME, 0);
	uint8_t head[8];
	int32_t relative;

	if (!p || elf_module_read(m, p->p_vaddr, head, sizeof(head)) != 0)
		return -ENOENT;
	if (head[0] != 1 || head[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return -ENOENT;
	memcpy(&relative, head + 4, 4);
	*address = p->p_vaddr + 4 + (uint64_t)(int64_t)relative;
	return 0;
}

static int load_by_segment(struct cfi_section *s, const struct elf_module *m)
{
	const GElf_Phdr *p;
	uint64_t room;

	if (eh_frame_address(m, &s->address) != 0)
		return -ENOENT;
	p = find_segment(m, PT_LOAD, s->address);
	if (!p)
		return -ENOENT;
	room = p->p_filesz - (s->address - p->p_vaddr);
	if (room > CFI_BYTES_MAX)
		return -ENOENT;
	s->bytes = malloc(room);
	if (!s->bytes)
		return -ENOMEM;
	if (elf_module_read(m, s->address, s->bytes, room) != 0)
		return -ENOENT;
	s->size = size_up_to_terminator(s->bytes, room);
	return s->size ? 0 : -ENOENT;
}

static int cfi_section_load_separate(struct cfi_section *s, const struct elf_module *m)
{
	struct debug_file found;
	int err = debug_file_find(m, DEBUG_WANT_FRAMES, &found);

	if (err)
		return err;
	err = load_by_name(s, found.elf);
	debug_file_close(&found);
	return err;
}

int cfi_section_load(struct cfi_section *s, const struct elf_module *m, enum cfi_where where)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->is_eh_frame = where == CFI_EH_FRAME;
	s->machine = m->machine;
	err = where == CFI_SEPARATE_DEBUG_FRAME ? cfi_section_load_separate(s, m)
						: load_by_name(s, m->elf);
	if (err == -ENOENT && s->is_eh_frame)
		err = load_by_segment(s, m);
	if (!err)
		err = cfi_section_check(s);
	if (err)
		cfi_section_free(s);
	return err;
}

void cfi_section_free(struct cfi_section *s)
{
	free(s->bytes);
	free(s->spans);
	memset(s, 0, sizeof(*s));
}
