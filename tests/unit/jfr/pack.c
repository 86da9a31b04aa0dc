/* SPDX-License-Identifier: Apache-2.0 */
/* Frames by the libraries themselves; zip by hand, as no library here writes it. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

#ifdef WEFT_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef WEFT_HAVE_LZ4
#include <lz4frame.h>
#endif
#ifdef WEFT_HAVE_ZSTD
#include <zstd.h>
#endif

const char *const pack_names[PACKINGS] = {"gzip",         "zip", "zip stored",
					  "zip streamed", "LZ4", "zstd"};

static void put_le(struct buf *b, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++, value >>= 8)
		buf_put_u8(b, (uint8_t)value);
}

#ifdef WEFT_HAVE_ZLIB
static int deflate_all(struct buf *out, int window, const void *data, size_t bytes)
{
	z_stream z = {0};
	uint8_t *room;
	size_t most;

	if (deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	most = deflateBound(&z, (uLong)bytes);
	room = malloc(most);
	if (!room)
		abort();
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)bytes;
	z.next_out = room;
	z.avail_out = (uInt)most;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	buf_put(out, room, z.total_out);
	deflateEnd(&z);
	free(room);
	return 1;
}

static uint32_t checksum(const void *data, size_t bytes)
{
	return (uint32_t)crc32(0, data, (uInt)bytes);
}
#else
static int deflate_all(struct buf *out, int window, const void *data, size_t bytes)
{
	(void)out, (void)window, (void)data, (void)bytes;
	return 0;
}

static uint32_t checksum(const void *data, size_t bytes)
{
	(void)data, (void)bytes;
	return 0;
}
#endif

static void put_sizes(struct buf *b, const struct zip_entry *e, size_t packed)
{
	put_le(b, checksum(e->data, e->bytes) + e->spoil, 4);
	put_le(b, packed, 4);
	put_le(b, e->bytes, 4);
}

/* What headers and directory have alike: from the version up to the length of the name. */
static void put_common(struct buf *b, const struct zip_entry *e, size_t packed, int streamed)
{
	put_le(b, 20, 2);
	put_le(b, e->flags | (e->streamed ? 8 : 0), 2);
	put_le(b, e->deflated ? 8 : 0, 2);
	put_le(b, 0, 4); /* time */
	if (streamed)
		put_le(b, 0, 12);
	else
		put_sizes(b, e, packed);
	put_le(b, strlen(e->name), 2);
}

static void put_entry(struct buf *out, struct buf *directory, const struct zip_entry *e,
		      size_t start)
{
	struct buf packed = {0};
	size_t at = out->size - start;

	if (!e->deflated || !deflate_all(&packed, -15, e->data, e->bytes))
		buf_put(&packed, e->data, e->bytes);
	buf_put(out, "PK\3\4", 4);
	put_common(out, e, packed.size, e->streamed);
	put_le(out, 0, 2);
	buf_put(out, e->name, strlen(e->name));
	buf_put(out, packed.data, packed.size);
	if (e->streamed) {
		buf_put(out, "PK\7\10", 4);
		put_sizes(out, e, packed.size);
	}
	buf_put(directory, "PK\1\2", 4);
	put_le(directory, 20, 2);
	put_common(directory, e, packed.size, 0);
	put_le(directory, 0, 12); /* extra, comment, disk, attributes */
	put_le(directory, at, 4);
	buf_put(directory, e->name, strlen(e->name));
	buf_free(&packed);
}

void pack_zip(struct buf *out, const struct zip_entry *entries, size_t count)
{
	struct buf directory = {0};
	size_t start = out->size, at;

	for (size_t i = 0; i < count; i++)
		put_entry(out, &directory, &entries[i], start);
	at = out->size - start;
	buf_put(out, directory.data, directory.size);
	buf_put(out, "PK\5\6", 4);
	put_le(out, 0, 4);
	put_le(out, count, 2);
	put_le(out, count, 2);
	put_le(out, directory.size, 4);
	put_le(out, at, 4);
	put_le(out, 0, 2);
	buf_free(&directory);
}

static int put_lz4(struct buf *out, const void *data, size_t bytes)
{
#ifdef WEFT_HAVE_LZ4
	LZ4F_preferences_t how = {
		.frameInfo = {.contentChecksumFlag = LZ4F_contentChecksumEnabled}};
	size_t most = LZ4F_compressFrameBound(bytes, &how), n;
	void *room = malloc(most);

	if (!room)
		abort();
	n = LZ4F_compressFrame(room, most, data, bytes, &how);
	if (LZ4F_isError(n))
		abort();
	buf_put(out, room, n);
	free(room);
	return 1;
#else
	(void)out, (void)data, (void)bytes;
	return 0;
#endif
}

static int put_zstd(struct buf *out, const void *data, size_t bytes)
{
#ifdef WEFT_HAVE_ZSTD
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t most = ZSTD_compressBound(bytes), n;
	void *room = malloc(most);

	if (!c || !room || ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))
		abort();
	n = ZSTD_compress2(c, room, most, data, bytes);
	if (ZSTD_isError(n))
		abort();
	buf_put(out, room, n);
	free(room);
	ZSTD_freeCCtx(c);
	return 1;
#else
	(void)out, (void)data, (void)bytes;
	return 0;
#endif
}

int pack(struct buf *out, enum packing how, const void *data, size_t bytes)
{
	struct zip_entry e = {.name = "a.jfr", .data = data, .bytes = bytes};

	switch (how) {
	case PACK_GZIP:
		return deflate_all(out, 31, data, bytes);
	case PACK_LZ4:
		return put_lz4(out, data, bytes);
	case PACK_ZSTD:
		return put_zstd(out, data, bytes);
	default:
#ifndef WEFT_HAVE_ZLIB
		return 0;
#endif
		e.deflated = how != PACK_ZIP_STORED;
		e.streamed = how == PACK_ZIP_STREAMED;
		pack_zip(out, &e, 1);
		return 1;
	}
}
