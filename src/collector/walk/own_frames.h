/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of a program reads as it would without weft. Frames of weft's libraries between
 * frames of the program (the start of a thread, the delivery of a signal, a call that is
 * wrapped) are hidden. What weft itself uses stays to be seen: where the innermost frame is
 * weft's, it stays, alone of the weft frames around it; and where weft called nothing but libc,
 * the innermost of weft's does.
 *
 * A runtime that is linked into the program (libweft.a) is not told apart from it.
 */
#ifndef WEFT_COLLECTOR_OWN_FRAMES_H
#define WEFT_COLLECTOR_OWN_FRAMES_H

#include "collector/walk/walking.h"

/* Sets hidden[i] to 1 for each frame from @first on that is to be left out, leaf first; the rest
 * to 0. Returns how many are hidden. @hidden: @walked's frame_count. */
size_t own_frames_hide(const struct walked_stack *stack, size_t first, uint8_t *hidden);

#endif
