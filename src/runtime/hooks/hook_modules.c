/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlclose: whose code was at an address, and until when. The loaded modules are listed before and
 * after it; dlopen needs no hook for that (and must have none: libc checks its caller).
 *
 * While a call is in progress, and after it has unloaded something until the collector has read the
 * modules again, the module map is stale by header.modules_epoch (abi/module_map.h).
 */
#include <dlfcn.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/hooks/patch.h"

#define IN_PROGRESS UINT64_C(1)
#define CHANGED (UINT64_C(1) << 32)

static int is_watched(void)
{
	return weft_hook_is_on(WEFT_HOOK_MODULES) && weft_rt_is_ready() && weft_rt.has_collector;
}

WEFT_API int dlclose(void *handle)
{
	int result;

	weft_patch_catch_up();
	if (is_watched()) {
		weft_modules_update();
		weft_modules_epoch_add(IN_PROGRESS);
		result = weft_real(dlclose)(handle);
		weft_modules_epoch_add(weft_modules_update() ? CHANGED - IN_PROGRESS
							     : -IN_PROGRESS);
	} else {
		result = weft_real(dlclose)(handle);
	}
	weft_patch_old_forget();
	return result;
}
