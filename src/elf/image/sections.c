/* SPDX-License-Identifier: Apache-2.0 */
/* Sections by name, unpacked; damaged or absurd ones are as if they were not there. */
#include "elf/image/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECTION_BYTES_MAX (UINT64_C(1) << 31)
#define PACKED_HEADER 12 /* "ZLIB", size in big endian */

/* The next section of this name after @section. */
static Elf_Scn *find_after(Elf *elf, Elf_Scn *section, const char *name, GElf_Shdr *header)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *found;

		if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(elf, names, header->sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Scn *elf_find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	return find_after(elf, NULL, name, header);
}

int elf_join_sections(Elf *elf, const char *name, struct buf *out)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = find_after(elf, section, name, &header)) != NULL) {
		Elf_Data *data = elf_section_data(section);

		if (data && data->d_buf && data->d_size <= SECTION_BYTES_MAX - out->size)
			buf_put(out, data->d_buf, data->d_size);
	}
	return out->size && !out->failed ? 0 : -ENOENT;
}

/* No format packs better than 1 : 1032. */
static int is_plausible(uint64_t unpacked, uint64_t packed)
{
	return unpacked <= SECTION_BYTES_MAX && unpacked / 2048 <= packed;
}

Elf_Data *elf_section_data(Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Chdr packed;

	if (!gelf_getshdr(section, &header) || header.sh_size > SECTION_BYTES_MAX)
		return NULL;
	if (header.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(section, &packed) ||
		    !is_plausible(packed.ch_size, header.sh_size) ||
		    elf_compress(section, 0, 0) < 0)
			return NULL;
	}
	return elf_getdata(section, NULL);
}

/* The older way of packing: known by the section's name, the size before the data. */
static Elf_Data *unpack_old(Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data;
	uint64_t size = 0;

	if (header->sh_size > SECTION_BYTES_MAX)
		return NULL;
	data = elf_rawdata(section, NULL);
	/* it has been unpacked before */
	if (!data || !data->d_buf || data->d_size < PACKED_HEADER ||
	    memcmp(data->d_buf, "ZLIB", 4) != 0)
		return elf_getdata(section, NULL);
	for (int i = 4; i < PACKED_HEADER; i++)
		size = size << 8 | ((const uint8_t *)data->d_buf)[i];
	if (!is_plausible(size, data->d_size) || elf_compress_gnu(section, 0, 0) < 0)
		return NULL;
	return elf_getdata(section, NULL);
}

static Elf_Scn *find_prefixed(Elf *elf, const char *prefix, const char *name, const char *suffix,
			      GElf_Shdr *header)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s%s", prefix, name, suffix);
	return elf_find_section(elf, full, header);
}

Elf_Data *elf_debug_section_data(Elf *elf, const char *name, const char *suffix)
{
	GElf_Shdr header;
	Elf_Scn *section = find_prefixed(elf, ".", name, suffix, &header);

	if (section)
		return elf_section_data(section);
	section = find_prefixed(elf, ".z", name, suffix, &header);
	return section ? unpack_old(section, &header) : NULL;
}

int elf_has_debug_section(Elf *elf, const char *name)
{
	GElf_Shdr header;

	return find_prefixed(elf, ".", name, "", &header) ||
	       find_prefixed(elf, ".z", name, "", &header);
}

size_t elf_find_build_id(Elf *elf, uint8_t out[ELF_BUILD_ID_MAX])
{
	GElf_Shdr header;
	Elf_Scn *section = elf_find_section(elf, ".note.gnu.build-id", &header);

	return elf_build_id_of(section ? elf_section_data(section) : NULL, out);
}

size_t elf_build_id_of(Elf_Data *data, uint8_t out[ELF_BUILD_ID_MAX])
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(bytes + name, "GNU", 4) != 0 || note.n_descsz > ELF_BUILD_ID_MAX)
			continue;
		memcpy(out, bytes + desc, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}
