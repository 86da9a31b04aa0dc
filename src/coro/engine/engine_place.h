/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an engine's files lie: where it was told, else in a directory of its own, 0700, under
 * $XDG_RUNTIME_DIR or /tmp.
 */
#ifndef WEFT_CORO_ENGINE_PLACE_H
#define WEFT_CORO_ENGINE_PLACE_H

#include "coro/engine/engine.h"

#include <limits.h>

struct engine_place {
	char directory[PATH_MAX]; /* "" = none was made */
	char shm[PATH_MAX], sock[PATH_MAX];
	int owns_shm; /* it is ours to take away */
};

int place_open(struct engine_place *p, const struct coro_engine_options *o, const char **what);
void place_close(struct engine_place *p, int keep);
/* Removes the private directory that @path lies in, if it is one and empty: an engine that was
 * killed left it. */
void place_remove_private(const char *path);

#endif
