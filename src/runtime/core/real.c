/* SPDX-License-Identifier: Apache-2.0 */
/* The lookup of libc's own functions: see real.h. */
#include "runtime/core/real.h"

#include <dlfcn.h>

struct weft_real weft_real_table;

static int real_is_ours(const void *function)
{
	Dl_info ours, theirs;

	return dladdr(&weft_real_table, &ours) && dladdr(function, &theirs) &&
	       ours.dli_fbase == theirs.dli_fbase;
}

/* In a libweft loaded by dlopen RTLD_NEXT may find nothing; then the default lookup. */
static void *real_look_up(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		return found;
	found = dlsym(RTLD_DEFAULT, name);
	return found && real_is_ours(found) ? NULL : found;
}

void weft_real_resolve(void)
{
#define WEFT_REAL_LOOKUP(name, type, parameters)                                                   \
	*(void **)(void *)&weft_real_table.name = real_look_up(#name);
	WEFT_REAL(WEFT_REAL_LOOKUP)
#undef WEFT_REAL_LOOKUP
}

int weft_real_sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): every libc has it */
	return weft_real(sigaction)(signo, action, old);
}
