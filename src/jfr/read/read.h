/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader: anybody's .jfr, by the metadata that each chunk declares, packed or not, finished or
 * still being written. reader.h is its state.
 *
 * No thread of its own; a reader belongs to one thread. Bytes are hostile: every length is checked
 * against what is there, and damage is an error with a place, never a crash.
 *
 *   reader.c         the file, chunk by chunk
 *   chunk_view.c     a chunk's header, checked
 *   pool_index.c     where its constants lie
 *   decode.c         values by their classes
 *   view.c           what users ask of classes
 *   follow.c         files that are being written
 *   summary.c        events counted, not decoded
 *   declared.c       types of all chunks together
 *   unpack.c         packed recordings
 *   unpack_frames.c  gzip, LZ4, zstd
 *   unpack_zip.c     zip archives
 *   unpack_private.h between these
 */
#ifndef WEFT_JFR_READ_ROOM_H
#define WEFT_JFR_READ_ROOM_H

#endif
