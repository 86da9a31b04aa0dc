/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of a recording, in any of the encodings, as UTF-8. */
#ifndef WEFT_JFR_TEXT_H
#define WEFT_JFR_TEXT_H

#include "jfr/common/arena.h"
#include "jfr/common/input.h"

#include <weft/jfr.h>

/*
 * The rest of a string after its encoding byte (not STRING_NULL, not STRING_POOL). UTF-8 is not
 * copied out of the file. A wrong encoding or length, and lack of memory, set in->failed.
 */
struct weft_jfr_string text_read(struct input *in, uint8_t encoding, struct arena *memory);

void text_skip(struct input *in, uint8_t encoding); /* STRING_POOL as well */

#endif
