/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files that any process of the recording has mapped, each opened once: keyed by
 * device, inode, size and change time. Used by the worker thread alone, for opening one may
 * take its time.
 */
#ifndef WEFT_COLLECTOR_MODULES_H
#define WEFT_COLLECTOR_MODULES_H

#include "collector/maps.h"

struct modules;

struct modules *modules_new(void);
void modules_free(struct modules *m);

/*
 * modules_attach() - find the file behind a mapping, open it once, and set the mapping's
 * module and bias. @root_fd: the process's root directory (O_PATH), @proc_fd: its /proc
 * directory; -1 where there is none. Leaves module NULL where the file cannot be had.
 */
void modules_attach(struct modules *m, struct mapping *one, int root_fd, int proc_fd);

#endif
