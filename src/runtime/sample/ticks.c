/* SPDX-License-Identifier: Apache-2.0 */
/* Installing and uninstalling the SIGPROF handler, and which signals are its own. */
#include "runtime/sample/sample.h"

int weft_sampler_is_installed(void)
{
	return weft_disposition_signal(WEFT_KEPT_PROF) != 0;
}

int weft_sampler_install(void)
{
	return weft_disposition_install(WEFT_KEPT_PROF, SIGPROF, weft_rt.on_tick);
}

void weft_sampler_uninstall(void)
{
	weft_disposition_uninstall(WEFT_KEPT_PROF, weft_sampler_is_ours);
}

/* Ours: from a timer, or queued by this very process, and with the session's cookie. */
int weft_sampler_is_ours(const siginfo_t *info)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

	if (info->si_code != SI_TIMER &&
	    !(info->si_code == SI_QUEUE && info->si_pid == weft_rt.pid))
		return 0;
	return weft_rt.cookie != 0 && WEFT_SIGVAL_COOKIE(value) == weft_rt.cookie;
}
