/* SPDX-License-Identifier: Apache-2.0 */
/* A collector started by the program itself (WEFT_RECORD): see launch.c. */
#ifndef WEFT_RUNTIME_LAUNCH_H
#define WEFT_RUNTIME_LAUNCH_H

/*
 * Starts `weft collect` for @file, sets the socket's path for weft_join() and WEFT_SOCKET for
 * the children. In the constructor only. 0 or -errno.
 */
int weft_launch(const char *file);

/* At exit: if this process started the collector, waits up to 2 s until the file is complete. */
void weft_launch_wait_for_file(void);

/* The same in _exit, where only PID 1 of a namespace waits. Async-signal-safe. */
void weft_launch_last_words(void);

#endif
