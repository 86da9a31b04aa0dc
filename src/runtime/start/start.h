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
 *   tell.c          why there is none, on the program's stderr
 *   parts.c         parts of a slot's life
 *   copies_table.c  functions offered to other copies
 */
#ifndef WEFT_RUNTIME_START_ROOM_H
#define WEFT_RUNTIME_START_ROOM_H

/* First thing in the constructor: from now on parts are called (struct weft_part). */
void weft_parts_begin(void);

/* In the constructor. 1: another copy has begun already, and is this one's master. */
int weft_copies_find_master(void);
/* In the constructor, once there is a session: finds libcustomlabels-weft.so if it is loaded. */
void weft_copies_meet_labels(void);

/*
 * Starts `weft collect` for @file, sets the socket's path for weft_join() and WEFT_SOCKET for
 * the children. In the constructor only. 0 or -errno: then WEFT_RECORD is gone from the
 * environment, and the program's stderr says why (weft_tell(), or the collector).
 */
int weft_launch(const char *file);
/* Tells why there is no recording: @what went wrong, and @error (-errno). */
void weft_tell(const char *what, int error);
/* At exit: if this process started the collector, waits up to 2 s until the file is complete. */
void weft_launch_wait_for_file(void);
/* The same in _exit, where only PID 1 of a namespace waits. Async-signal-safe. */
void weft_launch_last_words(void);

#endif
