/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _exit of a process that is PID 1 of its namespace and has started the recording: when it ends,
 * the kernel kills all others there, the collector too. So it waits for the file, as the destructor
 * does, which _exit does not run. No other process waits here; all leave the CPU time that they
 * used.
 */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"

WEFT_API void _exit(int status)
{
	weft_account_process();
	if (weft_rt.last_words)
		weft_rt.last_words();
	for (;;)
		sys_call_anyway(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

WEFT_API void _Exit(int status)
{
	_exit(status);
}
