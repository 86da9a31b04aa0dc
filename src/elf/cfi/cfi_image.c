/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest ELF file that elfutils takes call frame information from: header, the one
 * section, section names, section headers. It stands in for the real file, of which
 * elfutils would read every debug section, and .eh_frame_hdr, which may lie.
 */
#include "elf/image/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char section_names[] = "\0.shstrtab\0.eh_frame\0.debug_frame";
enum { NAME_SHSTRTAB = 1, NAME_EH_FRAME = 11, NAME_DEBUG_FRAME = 21 };

struct layout {
	size_t section, names, headers, end;
};

static struct layout layout_of(size_t size)
{
	struct layout l = {.section = sizeof(Elf64_Ehdr)};

	l.names = l.section + size;
	l.headers = (l.names + sizeof(section_names) + 7) & ~(size_t)7;
	l.end = l.headers + 3 * sizeof(Elf64_Shdr);
	return l;
}

static void cfi_image_put_header(uint8_t *image, const struct layout *l, int machine)
{
	Elf64_Ehdr h = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = (Elf64_Half)machine,
		.e_version = EV_CURRENT,
		.e_shoff = l->headers,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};

	memcpy(image, &h, sizeof(h));
}

static void put_sections(uint8_t *image, const struct layout *l, const struct cfi_section *s)
{
	Elf64_Shdr headers[3] = {
		[1] = {.sh_name = s->is_eh_frame ? NAME_EH_FRAME : NAME_DEBUG_FRAME,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = s->is_eh_frame ? SHF_ALLOC : 0,
		       .sh_addr = s->address,
		       .sh_offset = l->section,
		       .sh_size = s->size,
		       .sh_addralign = 1},
		[2] = {.sh_name = NAME_SHSTRTAB,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = l->names,
		       .sh_size = sizeof(section_names),
		       .sh_addralign = 1},
	};

	memcpy(image + l->section, s->bytes, s->size);
	memcpy(image + l->names, section_names, sizeof(section_names));
	memcpy(image + l->headers, headers, sizeof(headers));
}

int cfi_image_open(const struct cfi_section *s, Elf **elf, void **image)
{
	struct layout l = layout_of(s->size);
	uint8_t *bytes = calloc(1, l.end);

	if (!bytes)
		return -ENOMEM;
	cfi_image_put_header(bytes, &l, s->machine);
	put_sections(bytes, &l, s);
	*elf = elf_memory((char *)bytes, l.end);
	if (!*elf) {
		free(bytes);
		return -ENOMEM;
	}
	*image = bytes;
	return 0;
}
