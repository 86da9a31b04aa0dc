/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that filters its system calls from now on (seccomp, before which nearly all set
 * no_new_privs) may be killed for a call that its filter does not know. So weft makes no call any
 * more but those of the program's own code and the return from a signal: armed timers tick on;
 * threads started later have no timer (threads_no_timer), samples of stacks with unknown bounds
 * have only their pc, children without exec have no session. All present tables are opened before.
 *
 * A filter set by a raw system call without no_new_privs is not seen; one handed down by exec
 * refuses from the start, and what it refuses is left out.
 */
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "runtime/core/real.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"
#include "runtime/stack/tables.h"

static void be_careful(void)
{
	/* Not in a vfork child, whose filter is its own. */
	if (weft_rt_has_session() && sys_getpid() != weft_rt.pid)
		return;
	if (weft_rt_is_careful())
		return;
	if (weft_rt_has_session()) {
		weft_tables_open_all();
		weft_rt_count(WEFT_COUNTER_CAREFUL, 1);
	}
	store_release(&weft_rt.careful, 1);
}

WEFT_API int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	int result;
	va_list list;

	va_start(list, option);
	a = va_arg(list, unsigned long);
	b = va_arg(list, unsigned long);
	c = va_arg(list, unsigned long);
	d = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP || (option == PR_SET_NO_NEW_PRIVS && a == 1))
		be_careful();
	result = weft_real(prctl)(option, a, b, c, d);
	if (option == PR_SET_NAME && !result)
		weft_name_own((const char *)(uintptr_t)a);
	return result;
}
