/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums as text for people and as JSON for programs. Text is as wide as the terminal, and leaves
 * out what has no room; JSON has everything.
 *
 * Runs on the command's one thread. Printing changes nothing.
 *
 *   table.c         typed cells, as text or JSON
 *   layout.c        lines: numbers, then a name
 *   text.c          a report, as text
 *   text_account.c  its lines of CPU time
 *   text_counters.c its lines of losses
 *   text_tree.c     its call tree
 *   json.c          a report, as JSON
 *   json_account.c  CPU time, as JSON
 *   json_value.c    numbers and foreign texts
 */
#ifndef WEFT_REPORT_SHOW_ROOM_H
#define WEFT_REPORT_SHOW_ROOM_H

#endif
