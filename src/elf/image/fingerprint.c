/* SPDX-License-Identifier: Apache-2.0 */
/* What tells two files apart that have one build-id: layout and unwind data, hashed. And what
 * tells two builders of tables apart. */
#include "base/hash.h"
#include "elf/image/internal.h"
#include "table_builder.h"

#include <elfutils/libdwfl.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (256 * 1024)
#define BYTES_MAX (UINT64_C(1) << 29)

/* As the section lies in the file, compressed or not. */
static uint64_t hash_section(const struct elf_module *m, const char *name, uint64_t hash)
{
	GElf_Shdr header;
	uint8_t *piece;
	uint64_t at = 0;

	if (!elf_find_section(m->elf, name, &header) || header.sh_size > BYTES_MAX ||
	    header.sh_offset > INT64_MAX / 2)
		return hash_mix(hash);
	piece = malloc(PIECE_BYTES);
	while (piece && at < header.sh_size) {
		uint64_t left = header.sh_size - at;
		ssize_t n = pread(m->fd, piece, left < PIECE_BYTES ? left : PIECE_BYTES,
				  (off_t)(header.sh_offset + at));

		if (n <= 0)
			break;
		hash = hash_bytes(piece, (size_t)n, hash);
		at += (uint64_t)n;
	}
	free(piece);
	return hash_mix(hash ^ at);
}

static uint64_t hash_module(const struct elf_module *m)
{
	uint64_t hash = (uint64_t)m->machine;

	for (size_t i = 0; i < m->segment_count; i++) {
		const GElf_Phdr *s = &m->segments[i];
		uint64_t words[] = {s->p_type,  s->p_flags,  s->p_offset,
				    s->p_vaddr, s->p_filesz, s->p_memsz};

		hash = hash_bytes(words, sizeof(words), hash);
	}
	if (m->fd < 0)
		return hash_bytes(m->image, m->image_bytes, hash);
	hash = hash_section(m, ".eh_frame_hdr", hash);
	hash = hash_section(m, ".eh_frame", hash);
	return hash_section(m, ".debug_frame", hash);
}

uint64_t elf_module_fingerprint(struct elf_module *m)
{
	if (!m->fingerprint)
		m->fingerprint = hash_module(m) | 1;
	return m->fingerprint;
}

uint32_t elf_table_builder(void)
{
	const char *elfutils = dwfl_version(NULL);

	return (uint32_t)hash_mix(hash_bytes(elfutils, strlen(elfutils), TABLE_BUILDER_SOURCES));
}
