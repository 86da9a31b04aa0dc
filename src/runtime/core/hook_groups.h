/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of interposed functions. WEFT_HOOKS=-signals,-threads,-exec,-modules switches groups off;
 * the bits that are on stand in the session's header.
 */
#ifndef WEFT_RUNTIME_HOOK_GROUPS_H
#define WEFT_RUNTIME_HOOK_GROUPS_H

#include <stdint.h>

#include <weft/abi/session.h>

#include "runtime/core/own.h"

extern uint32_t weft_hooks_on;
extern uint32_t
	weft_patch_groups; /* those whose functions were patched into the program's objects */

static inline int weft_hook_is_on(enum weft_hook hook)
{
	return (weft_hooks_on & (uint32_t)hook) != 0;
}

void weft_hooks_parse(const char *setting); /* NULL: all on */
void weft_hooks_publish(void);              /* both, into the session's header */

#endif
