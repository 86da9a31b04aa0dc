/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as a stream of samples, whatever made it: fields found by their types, contexts
 * joined to samples by time, and what the recording says of itself. All rooms of report stand on
 * it.
 *
 * Runs on the command's one thread. A file is read once for what samples depend on, then once for
 * the samples; a damaged one is used up to the damage, and that is told.
 *
 *   source.c      samples of a file, one by one
 *   plan.c        which field of a type is what
 *   types.c       sample types, and names of ids
 *   decode.c      values as ids of the model
 *   model.c       names, threads, stacks as numbers
 *   names.c       equal texts, equal numbers
 *   context.c     what a context said at a time
 *   key.c         what samples are grouped by
 *   where.c       --where KEY=VALUE
 *   facts.c       what the recording says of itself
 *   facts_take.c  from events into these facts
 *   resources.c   what processes say they are
 *   rows.c        arrays found by a key
 *   account.c     CPU time used, and seen
 *   times.c       wall-clock samples, weighed by time
 *   interval.c    95 % intervals of shares
 *   source_text.c source files and their lines
 */
#ifndef WEFT_REPORT_READ_ROOM_H
#define WEFT_REPORT_READ_ROOM_H

#endif
