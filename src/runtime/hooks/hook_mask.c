/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that change a thread's signal mask; mask.c decides about SIGPROF in it. */
#include "runtime/hooks/hooks.h"

#include "runtime/core/real.h"
#include "runtime/sample/mask.h"

WEFT_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return weft_mask_change(weft_real(pthread_sigmask), how, set, old);
}

WEFT_API int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return weft_mask_change(weft_real(sigprocmask), how, set, old);
}

int weft_mask_change_one(int how, int signo)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, signo) ? -1 : sigprocmask(how, &set, NULL);
}

WEFT_API int sighold(int signo)
{
	return weft_mask_change_one(SIG_BLOCK, signo);
}

WEFT_API int sigrelse(int signo)
{
	return weft_mask_change_one(SIG_UNBLOCK, signo);
}
