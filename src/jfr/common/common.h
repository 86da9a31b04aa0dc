/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading and writing of JFR files share: types, constant pools, encodings, and the file
 * itself. Public header of libweft-jfr: weft/jfr.h.
 *
 * No thread of its own; one object, one thread at a time. A file that is written grows by whole
 * pieces alone.
 *
 *   types.c        types that our recordings declare
 *   classes.c      types that a file declares
 *   class_link.c   their references, linked
 *   pool.c         a constant pool, written
 *   chunk_parts.c  a chunk, written whole
 *   encode.c       integers and strings, encoded
 *   input.h        a cursor over hostile bytes
 *   text.c         strings of any encoding
 *   arena.c        memory freed all at once
 *   file.c         a file that grows whole
 *   file_replace.c a file that takes its name
 */
#ifndef WEFT_JFR_COMMON_ROOM_H
#define WEFT_JFR_COMMON_ROOM_H

#endif
