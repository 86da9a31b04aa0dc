/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniDebugInfo: .gnu_debugdata is an xz-packed ELF file that has the symbols which .dynsym
 * lacks. The unpacked size is bounded: some kilobytes of xz can hold gigabytes.
 */
#include "elf/image/internal.h"

#include <errno.h>

#ifdef WEFT_HAVE_LZMA

#include <lzma.h>
#include <stdlib.h>

#define UNPACKED_MAX (64u << 20)
#define DECODER_BYTES_MAX (128u << 20)

static int mini_debug_unpack(const Elf_Data *packed, struct buf *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&stream, DECODER_BYTES_MAX, 0);

	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	while (ret == LZMA_OK && out->size < UNPACKED_MAX) {
		static const size_t step = 1 << 16;

		stream.next_out = buf_reserve(out, step);
		stream.avail_out = step;
		if (!stream.next_out)
			break;
		ret = lzma_code(&stream, LZMA_FINISH);
		out->size += step - stream.avail_out;
	}
	lzma_end(&stream);
	return ret == LZMA_STREAM_END && !out->failed ? 0 : -EINVAL;
}

int elf_mini_debug(const struct elf_module *m, Elf **elf, void **image)
{
	Elf_Data *packed = elf_debug_section_data(m->elf, "gnu_debugdata", "");
	struct buf unpacked = {0};

	if (!packed || !packed->d_buf || mini_debug_unpack(packed, &unpacked) != 0 ||
	    elf_header_machine(unpacked.data, unpacked.size) != m->machine) {
		buf_free(&unpacked);
		return -ENOENT;
	}
	*elf = elf_memory((char *)unpacked.data, unpacked.size);
	*image = unpacked.data;
	if (*elf)
		return 0;
	free(*image);
	return -ENOENT;
}

#else

int elf_mini_debug(const struct elf_module *m, Elf **elf, void **image)
{
	(void)m;
	(void)elf;
	(void)image;
	return -ENOENT;
}

#endif
