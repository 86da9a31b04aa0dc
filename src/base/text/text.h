/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts, and formatted output that may be larger than memory. Runs on its caller's thread, outside
 * the recorded program; the first error stays in the sink.
 *
 *   sink.c       bytes to an output or into memory
 *   utf8.h       texts, code point by code point
 *   hex.h        hexadecimal digits
 *   digits.h     numbers
 *   visible.c    texts of strangers, for terminals
 *   json_write.c JSON, written as it comes
 *   nearest.c    "did you mean"
 */
#ifndef WEFT_BASE_TEXT_ROOM_H
#define WEFT_BASE_TEXT_ROOM_H

#endif
