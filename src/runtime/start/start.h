/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The top of the runtime: constructors, and the tables that name functions of all rooms. Nothing
 * below refers to it, except for one symbol that pulls the constructor out of libweft.a.
 *
 * Runs in the constructor, before the program's own code, and at exit: it may allocate. Whatever
 * fails is left out; the program never notices.
 *
 *   init.c          libweft.so begins and ends
 *   init_static.c   libweft.a begins
 *   launch.c        a collector begun by the program
 *   parts.c         parts of a slot's life
 *   copies_table.c  functions offered to other copies
 */
#ifndef WEFT_RUNTIME_START_ROOM_H
#define WEFT_RUNTIME_START_ROOM_H

#endif
