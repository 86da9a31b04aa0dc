/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc's own profiler (gprof: cc -pg, profil). It installs its SIGPROF action by a call inside
 * libc, which our hooks do not see: after it has begun, that action becomes the program's, which
 * gets its own ITIMER_PROF's signals, and ours is installed again. When it ends, libc restores the
 * action that it found: that must be ours, or our next tick would kill. The start code of a -pg
 * program may run before our constructor; then our action is installed first.
 */
#include <stdlib.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/sample/sample.h"

static void be_found(void)
{
	if (!weft_hook_is_on(WEFT_HOOK_SIGNALS) ||
	    !(secure_getenv("WEFT_SOCKET") || secure_getenv("WEFT_RECORD")))
		return;
	weft_sampler_begin();
	weft_sampler_install();
}

static void hook_profil_keep(void)
{
	if (weft_hook_is_on(WEFT_HOOK_SIGNALS))
		weft_disposition_keep(WEFT_KEPT_PROF);
}

void __monstartup(unsigned long low, unsigned long high);
void monstartup(unsigned long low, unsigned long high);
void moncontrol(int mode);
int profil(unsigned short *buffer, size_t bytes, size_t offset, unsigned int scale);
int sprofil(void *regions, int count, void *every, unsigned int flags);

/* Called by the start code of a program built with -pg, before or after our constructor. */
WEFT_API void __monstartup(unsigned long low, unsigned long high)
{
	if (!weft_real(__monstartup))
		return;
	be_found();
	weft_real(__monstartup)(low, high);
	hook_profil_keep();
}

WEFT_API void monstartup(unsigned long low, unsigned long high)
{
	__monstartup(low, high);
}

WEFT_API void moncontrol(int mode)
{
	if (!weft_real(moncontrol))
		return;
	be_found();
	weft_real(moncontrol)(mode);
	hook_profil_keep();
}

WEFT_API int profil(unsigned short *buffer, size_t bytes, size_t offset, unsigned int scale)
{
	int result = -1;

	be_found();
	if (weft_real(profil))
		result = weft_real(profil)(buffer, bytes, offset, scale);
	hook_profil_keep();
	return result;
}

WEFT_API int sprofil(void *regions, int count, void *every, unsigned int flags)
{
	int result = -1;

	be_found();
	if (weft_real(sprofil))
		result = weft_real(sprofil)(regions, count, every, flags);
	hook_profil_keep();
	return result;
}
