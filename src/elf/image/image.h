/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file as bytes: opened once, read and never mapped, its sections and the files beside it
 * that hold what was stripped. What is made from it are the rooms above: cfi, dwarf, names.
 *
 * Runs on whichever thread owns the module; not thread-safe per module. Files are hostile: the
 * worst that their bytes do is -ENOEXEC or something missing.
 *
 *   image.c        identity, segments, addresses
 *   elf_open.h     the one opener: read, never mapped
 *   sections.c     contents of sections
 *   cursor.h       bytes, within bounds
 *   debug_file.c   separate debug files
 *   debuginfod.c   and those of servers
 *   mini_debug.c   .gnu_debugdata
 *   fingerprint.c  what tables depend on
 *   demangle.c     names of C++ and Rust
 *   internal.h     the module, and its parts
 */
#ifndef WEFT_ELF_IMAGE_ROOM_H
#define WEFT_ELF_IMAGE_ROOM_H

#endif
