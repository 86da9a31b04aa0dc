/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF's lines and inlined calls for one address at a time: reads no more of a file than the unit
 * that holds it. dwread.h says why it is not libdw.
 *
 * Runs on the worker's thread, or in the command; may take seconds. Every length and offset is
 * checked against its section; a hostile file costs its own names.
 *
 *   dwread.h         the whole of it, and why
 *   dwread_file.c    sections, units
 *   dwread_abbrev.c  abbreviations
 *   dwread_form.c    values of attributes
 *   dwread_tree.c    functions and inlined calls
 *   dwread_ranges.c  address ranges, of units too
 *   dwread_lines.c   line programs
 *   dwread_name.c    names of functions
 *   dwread_span.c    which stretch has an address
 *   dwread_split.c   .dwo and .dwp
 */
#ifndef WEFT_ELF_DWARF_ROOM_H
#define WEFT_ELF_DWARF_ROOM_H

#endif
