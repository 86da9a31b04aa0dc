/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of unwind tables and the one walker, compiled for both planes: the handler inside the
 * program and the collector outside walk by the same lines of code, and must agree.
 *
 * No libc, no allocation, no state: it reads only what it is given.
 *
 *   rules.h      tables and rules: the format
 *   table.c      a table checked, a row found
 *   walk.c       one step up a stack
 *   walk_body.h  the step itself
 */
#ifndef WEFT_UNWIND_ROOM_H
#define WEFT_UNWIND_ROOM_H

#endif
