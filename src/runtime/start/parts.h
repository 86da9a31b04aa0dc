/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PARTS_H
#define WEFT_RUNTIME_PARTS_H

/* First thing in the constructor: from now on parts are called (core/part.h). */
void weft_parts_begin(void);

#endif
