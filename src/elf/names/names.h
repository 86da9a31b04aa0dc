/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an address is called: the function of a symbol table, with DWARF the functions inlined
 * there and their lines, and code that a JIT compiler has made, by the files that tell of it.
 *
 * Runs on the worker's thread or in the command; jit_*.c on the walker's. A name lives as long as
 * its module, or as its list of JIT code.
 *
 *   names.c     symbols by address, and by name
 *   places.c    functions and source lines
 *   jit_code.c  JIT code by address and time
 *   jit_map.c   perf maps, read while they grow
 *   jit_dump.c  jitdumps, likewise
 */
#ifndef WEFT_ELF_NAMES_ROOM_H
#define WEFT_ELF_NAMES_ROOM_H

#endif
