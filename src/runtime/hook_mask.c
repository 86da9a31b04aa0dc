/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal masks: a thread that blocks all signals would give no samples, so SIGPROF stays
 * open in the kernel's mask unless the program has a handler for it, and one word per
 * thread remembers that the program believes it blocked. What the program sees of its mask
 * is what it set. A foreign SIGPROF that comes to a thread which believes it blocked is kept
 * pending here, and delivered when some thread opens it or waits for it.
 */
#include "runtime/hooks.h"

#include <string.h>

#include "runtime/real.h"
#include "runtime/sampler.h"
#include "runtime/sys.h"

static __thread uint32_t believes_blocked __attribute__((tls_model("initial-exec")));

int weft_mask_is_blocked(void)
{
	return believes_blocked != 0;
}

void weft_mask_inherit(int is_blocked)
{
	believes_blocked = is_blocked != 0;
}

static uint64_t sigprof_bit(void)
{
	return UINT64_C(1) << (SIGPROF - 1);
}

/* The program's exec may have handed a blocked SIGPROF down: remember, and open it. */
void weft_mask_open(void)
{
	uint64_t bit = sigprof_bit(), old = 0;

	sys_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &old, sizeof(bit));
	believes_blocked = (old & bit) != 0;
}
