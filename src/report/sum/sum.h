/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of samples: by key, by call path, by what a view counts. Arithmetic over the stream of
 * report/read; nothing is printed here.
 *
 * Runs on the command's one thread. A sample counts at most once in the total of a row, and in the
 * self of one row.
 *
 *   report.c    all sums of one report
 *   aggregate.c sums by one key
 *   tree.c      sums by call path
 *   tally.c     rows of a view
 *   partition.c keys that divide samples alike
 *   books.c     attempted = delivered + lost + pending
 */
#ifndef WEFT_REPORT_SUM_ROOM_H
#define WEFT_REPORT_SUM_ROOM_H

#endif
