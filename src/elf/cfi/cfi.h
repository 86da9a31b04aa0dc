/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables out of .eh_frame and .debug_frame, and rules for code that neither describes:
 * linkage stubs, signal trampolines, small gaps. elfutils executes the programs; nothing reaches it
 * unchecked.
 *
 * Runs on the walker's thread, or in a test. A damaged entry costs its own code a table, never
 * more; work for one file is bounded.
 *
 *   table_build.c  the table, row by row
 *   cfi_section.c  a section, found and copied
 *   cfi_check.c    entries made sound
 *   cfi_program.c  is a program safe to execute?
 *   cfi_image.c    one section as an ELF image
 *   cfi_rule.c     a row as a rule
 *   plt.c          names of linkage stubs
 *   plt_rules.c    and their rules
 *   trampoline.c   code that handlers return to
 *   gap_rules.c    short code without unwind data
 */
#ifndef WEFT_ELF_CFI_ROOM_H
#define WEFT_ELF_CFI_ROOM_H

#endif
