/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can readers outside find the contexts that a program or library publishes? Judged by the file
 * alone, format by format, with what would mend it (weft check).
 *
 * Runs on the command's one thread. Files are hostile: read, never mapped.
 *
 *   elf_check.c        the judgement, format by format
 *   elf_check_labels.c Custom Labels
 *   elf_check_otel.c   OpenTelemetry's thread context
 *   elf_facts.c        what the file says
 */
#ifndef WEFT_READER_CHECK_ROOM_H
#define WEFT_READER_CHECK_ROOM_H

#endif
