/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcustomlabels-weft.so: the Custom Labels interface for programs, whose two symbols outside
 * readers look for in a library of this name. Sets are this library's own; where libweft.so is in
 * the process, they go along with its contexts.
 *
 * Runs on the thread that calls. A set changes only where no reader sees it; a reader that stops
 * the thread between any two instructions finds a whole one.
 *
 *   api.c       the public functions
 *   set.c       sets: made, changed, freed
 *   current.c   the two symbols readers find
 *   weft_set.c  changes of weft's own set
 */
#ifndef WEFT_CUSTOMLABELS_ROOM_H
#define WEFT_CUSTOMLABELS_ROOM_H

#endif
