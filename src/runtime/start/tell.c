/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one line that the runtime ever writes to a program's stderr: why WEFT_RECORD was not obeyed.
 * (The collector, src/cli/cmd_collect.c, may write others there: a reason of its own, and warnings
 * of WEFT_SETTINGS.) It must cost the program nothing: no wait for a reader (poll), no end by a
 * signal where there is none, no stop as a background process of a terminal, and no command to that
 * terminal. What cannot be written is left out. WEFT_QUIET, set to anything but nothing, leaves out
 * the line.
 *
 * Runs in the constructor, and in the child that was to become the collector.
 */
#include "runtime/start/start.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/core/sys.h"

static int can_be_written(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	struct timespec none = {0};

	return sys_call5(SYS_ppoll, &p, 1, &none, NULL, sizeof(uint64_t)) == 1 &&
	       p.revents == POLLOUT;
}

/* A signal that the write itself has raised is taken back; one that was pending stays so. */
static void tell_put(const char *line, size_t bytes)
{
	uint64_t raised = SYS_SIGNAL_BIT(SIGPIPE) | SYS_SIGNAL_BIT(SIGXFSZ), pending = 0;
	uint64_t before = sys_signals_block(raised | SYS_SIGNAL_BIT(SIGTTOU));
	struct timespec none = {0};

	sys_call2(SYS_rt_sigpending, &pending, sizeof(pending));
	raised &= ~pending;
	if (sys_call3(SYS_write, STDERR_FILENO, line, bytes) < 0 && raised)
		sys_call4(SYS_rt_sigtimedwait, &raised, NULL, &none, sizeof(raised));
	sys_signals_restore(before);
}

void weft_tell(const char *what, int error)
{
	const char *quiet = secure_getenv("WEFT_QUIET");
	char line[512];
	int bytes;

	if ((quiet && *quiet) || !can_be_written(STDERR_FILENO))
		return;
	bytes = snprintf(
		line, sizeof(line),
		"weft: WEFT_RECORD: nothing is recorded: %.300s: %s (weft doctor tries it; "
		"WEFT_QUIET=1 leaves out this line)\n",
		what, strerror(-error));
	if (bytes < 0 || (size_t)bytes >= sizeof(line))
		return;
	for (int i = 0; i < bytes - 1; i++)
		if ((unsigned char)line[i] < ' ' || (unsigned char)line[i] > '~')
			line[i] = '?';
	tell_put(line, (size_t)bytes);
}
