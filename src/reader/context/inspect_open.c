/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process can be looked at, and if not, why: see inspect.h. */
#include "reader/context/inspect.h"

#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PF_KTHREAD 0x00200000

static int32_t status_number(const char *text, const char *word)
{
	const char *at = proc_line(text, word);

	return at ? (int32_t)strtol(at, NULL, 10) : 0;
}

/* With hidepid the directory of another user's process is not there at all. */
static enum inspect_verdict judge_absent(int32_t pid)
{
	return kill(pid, 0) && errno == EPERM ? INSPECT_DENIED : INSPECT_GONE;
}

static enum inspect_verdict judge_stat(int32_t pid)
{
	char text[1024];
	ssize_t rc = proc_read_of(pid, "stat", text, sizeof(text));
	const char *state = proc_stat_field(text, STAT_STATE);

	if (rc < 0)
		return rc == -ENOENT || rc == -ESRCH ? judge_absent(pid) : INSPECT_DENIED;
	if (!state || strchr("ZXx", *state))
		return INSPECT_ZOMBIE;
	if (stat_number(text, STAT_FLAGS) & PF_KTHREAD)
		return INSPECT_KERNEL_THREAD;
	return INSPECT_FINE;
}

static enum inspect_verdict inspect_open_judge(int32_t pid, int32_t *other, int32_t *inside_pid)
{
	enum inspect_verdict verdict;
	char text[4096] = "";

	if (pid <= 0)
		return INSPECT_GONE;
	verdict = judge_stat(pid);
	if (verdict != INSPECT_FINE && verdict != INSPECT_ZOMBIE)
		return verdict;
	if (proc_read_of(pid, "status", text, sizeof(text)) >= 0) {
		*other = status_number(text, "Tgid");
		*inside_pid = pid_innermost(text, pid, NULL);
		if (*other && *other != pid)
			return INSPECT_THREAD;
		/* Its main thread may have ended while others run on: that is no zombie. */
		if (verdict == INSPECT_ZOMBIE && status_number(text, "Threads") > 1)
			verdict = INSPECT_FINE;
	}
	return verdict;
}

static int yama_forbids(void)
{
	char text[16];

	proc_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	return atoi(text) > 0;
}

/* The files of an own process can be seen while its memory may not be: Yama forbids that. */
static enum inspect_verdict judge_denied(int32_t pid)
{
	char text[64];

	return yama_forbids() && proc_read_of(pid, "maps", text, sizeof(text)) >= 0
		       ? INSPECT_YAMA
		       : INSPECT_DENIED;
}

static enum inspect_verdict judge_error(int32_t pid, int rc, int *error)
{
	*error = rc;
	if (rc == -ESRCH)
		return judge_stat(pid) == INSPECT_ZOMBIE ? INSPECT_ZOMBIE : INSPECT_GONE;
	if (rc == -EACCES || rc == -EPERM)
		return judge_denied(pid);
	return INSPECT_FAILED;
}

enum inspect_verdict inspect_open(struct inspect **out, int32_t pid, unsigned int flags,
				  const char *root_key, int32_t *other, int *error)
{
	int32_t inside_pid = pid;
	enum inspect_verdict verdict = inspect_open_judge(pid, other, &inside_pid);
	struct inspect *i;
	int rc;

	if (verdict != INSPECT_FINE)
		return verdict;
	i = calloc(1, sizeof(*i));
	*error = -ENOMEM;
	if (!i)
		return INSPECT_FAILED;
	i->pid = pid;
	i->inside_pid = inside_pid;
	i->flags = flags;
	i->root_key = root_key;
	i->labels_room = malloc(sizeof(*i->labels_room));
	i->otel_room = malloc(sizeof(*i->otel_room));
	rc = i->labels_room && i->otel_room ? target_open(&i->target, pid) : -ENOMEM;
	if (rc == 0 && process_is_32_bit(pid))
		verdict = INSPECT_32_BIT;
	else if (rc)
		verdict = judge_error(pid, rc, error);
	if (verdict != INSPECT_FINE) {
		inspect_close(i);
		return verdict;
	}
	i->settle.target = i->target;
	*out = i;
	return INSPECT_FINE;
}

void inspect_explain(enum inspect_verdict verdict, int32_t other, int error, char *out, size_t room)
{
	static const char *const text[] = {
		[INSPECT_FINE] = "can be looked at",
		[INSPECT_GONE] = "no such process",
		[INSPECT_THREAD] = "is a thread; name its process: ",
		[INSPECT_ZOMBIE] = "has ended, and waits for its parent to take note (a zombie)",
		[INSPECT_KERNEL_THREAD] = "is a thread of the kernel: it has no contexts",
		[INSPECT_DENIED] = "its memory may not be read: it is another user's, has more "
				   "rights, or has set itself not dumpable; root with "
				   "CAP_SYS_PTRACE can look at it",
		[INSPECT_YAMA] = "its memory may not be read: kernel.yama.ptrace_scope allows that "
				 "for children alone; root with CAP_SYS_PTRACE can look at it, or "
				 "set it to 0",
		[INSPECT_32_BIT] = "is a 32-bit program: none of the formats is for those",
	};

	if (verdict == INSPECT_FAILED)
		snprintf(out, room, "%s", strerror(-error));
	else if (verdict == INSPECT_THREAD)
		snprintf(out, room, "%s%d", text[verdict], (int)other);
	else
		snprintf(out, room, "%s", text[verdict]);
}
