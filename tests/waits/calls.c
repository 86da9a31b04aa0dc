/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <signal.h>

int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	signal(SIGINT, SIG_DFL);
	calls_locks();
	calls_conditions();
	calls_io();
	calls_cancel();
	return fflush(stdout) ? 1 : 0;
}
