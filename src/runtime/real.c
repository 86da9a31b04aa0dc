/* SPDX-License-Identifier: Apache-2.0 */
/* The lookup of libc's own functions: see real.h. */
#include "runtime/real.h"

#include <dlfcn.h>

#include "runtime/sampler.h"

struct weft_real weft_real_table;

void weft_real_resolve(void)
{
#define WEFT_REAL_LOOKUP(name, type, parameters)                                                   \
	*(void **)(void *)&weft_real_table.name = dlsym(RTLD_NEXT, #name);
	WEFT_REAL(WEFT_REAL_LOOKUP)
#undef WEFT_REAL_LOOKUP
}

int weft_real_sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	return weft_real(sigaction)(signo, action, old);
}
