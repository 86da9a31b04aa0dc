/* SPDX-License-Identifier: Apache-2.0 */
/* What the interposed functions share. Groups of them can be switched off: core/hook_groups.h. */
#ifndef WEFT_RUNTIME_HOOKS_H
#define WEFT_RUNTIME_HOOKS_H

#include "runtime/core/hook_groups.h"
#include "runtime/core/own.h"

/* hook_name.c: the calling thread was given this name. */
void weft_name_own(const char *name);

#endif
