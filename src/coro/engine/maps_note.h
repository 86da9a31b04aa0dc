/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code the traced processes have mapped, in a file beside the trace, so that addresses have
 * names when the processes are gone (coro_names_noted() reads it). A process is looked at when it
 * comes, and again when an event tells an address that is in nothing noted of it: so what
 * dlopen() brings is noted, too. Each line once.
 *
 *   # weft coro maps 1
 *   PID LINE            as /proc/PID/maps has it, of code that is mapped from a file
 *
 * Nothing of the trace depends on it: what fails here costs names, and is told at the end.
 */
#ifndef WEFT_CORO_MAPS_NOTE_H
#define WEFT_CORO_MAPS_NOTE_H

#include "coro/engine/trace.h"

#include <sys/types.h>

struct maps_note;

/* The file is made with the first line, as base/output.h has it of a growing one, but nothing is
 * written that is no file. One that is there is replaced if it is such a file, or with @replace;
 * lines are added to it with @append; else it is left alone. A process whose pid events
 * tell counts only if it has the file @inode mapped: the pid may be of another namespace. NULL: no
 * memory. */
struct maps_note *maps_note_new(const char *path, int replace, int append, dev_t device,
				ino_t inode);
/* @pid: as we see it. */
void maps_note_process(struct maps_note *n, uint32_t pid, uint64_t now_ns);
void maps_note_events(struct maps_note *n, const struct coro_event *events, size_t count,
		      uint64_t now_ns);
/* 0 or -errno of the first failure. */
int maps_note_error(const struct maps_note *n);
void maps_note_free(struct maps_note *n);

#endif
