/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of interposed functions. WEFT_HOOKS=-signals,-threads,-exec,-modules switches groups off;
 * the bits that are on stand in the session's header.
 */

#include <stddef.h>
#include <string.h>

#include "runtime/core/runtime.h"

uint32_t weft_patch_groups;
uint32_t weft_hooks_on = WEFT_HOOK_THREADS | WEFT_HOOK_SIGNALS | WEFT_HOOK_EXEC | WEFT_HOOK_MODULES;

static const struct {
	const char *name;
	enum weft_hook hook;
} groups[] = {
	{"threads", WEFT_HOOK_THREADS},
	{"signals", WEFT_HOOK_SIGNALS},
	{"exec", WEFT_HOOK_EXEC},
	{"modules", WEFT_HOOK_MODULES},
};

static void switch_one(const char *word, size_t bytes)
{
	int off = bytes && word[0] == '-';

	word += off;
	bytes -= (size_t)off;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (strlen(groups[i].name) != bytes || memcmp(groups[i].name, word, bytes))
			continue;
		if (off)
			weft_hooks_on &= ~(uint32_t)groups[i].hook;
		else
			weft_hooks_on |= (uint32_t)groups[i].hook;
	}
}

void weft_hooks_parse(const char *setting)
{
	while (setting && *setting) {
		size_t bytes = strcspn(setting, ",");

		switch_one(setting, bytes);
		setting += bytes + (setting[bytes] == ',');
	}
}

void weft_hooks_publish(void)
{
	store_relaxed(&weft_rt.header->hooks, weft_hooks_on);
	store_relaxed(&weft_rt.header->hooks_patched, weft_patch_groups);
}
