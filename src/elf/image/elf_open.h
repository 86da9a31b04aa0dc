/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way in which weft opens an ELF file for libelf: read by pread(), never mapped. A mapped
 * file that its owner overwrites or cuts kills the reader by SIGBUS; one that is read gives bytes
 * that do not fit together, which libelf and its callers refuse.
 */
#ifndef WEFT_ELF_OPEN_H
#define WEFT_ELF_OPEN_H

#include <libelf.h>

/* @fd stays the caller's, and open as long as the Elf is used. NULL: it cannot be read. What is in
 * it may be anything: elf_kind() says whether it is an ELF file. Ended by elf_end(). */
Elf *elf_open(int fd);

/* e_machine of a 64-bit little-endian ELF file for x86-64 or aarch64, or -ENOEXEC. To be asked
 * before libelf, which would also take archives, other classes and byte orders. */
int elf_header_machine(const unsigned char *head, size_t bytes);

#endif
