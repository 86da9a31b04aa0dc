/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the session of a running process: see attach.h. */
#include "collector/session/attach.h"

#include "base/session_layout.h"
#include "collector/process/carrier.h"
#include "collector/process/filters.h"
#include "collector/process/order.h"
#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SEALS_NEEDED (F_SEAL_GROW | F_SEAL_SHRINK)

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

/* Not of huge pages: where none is left, touching the memory is a SIGBUS. */
static int is_plain_memfd(int fd, struct stat *st)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	return seals >= 0 && (seals & SEALS_NEEDED) == SEALS_NEEDED && fstat(fd, st) == 0 &&
	       S_ISREG(st->st_mode) && fstatfs(fd, &fs) == 0 &&
	       (uint64_t)fs.f_type != HUGETLBFS_MAGIC;
}

int attach_check(int memfd, pid_t pid, uint64_t start, struct weft_session_header *layout)
{
	struct stat st;

	if (!is_plain_memfd(memfd, &st) ||
	    pread(memfd, layout, sizeof(*layout), 0) != (ssize_t)sizeof(*layout))
		return -EPROTO;
	if (weft_session_validate(layout, (uint64_t)st.st_size))
		return -EPROTO;
	if (layout->pid != (int32_t)pid)
		return -EXDEV;
	if (layout->pid_start && layout->pid_start != start)
		return -EPROTO;
	return layout->features & WEFT_FEATURE_RUNTIME_MADE ? 0 : -EPROTO;
}

/* Through the process's descriptor; where that is closed, through its mapping, which only the
 * privileged may open. */
static int open_session(const struct carrier *c)
{
	char path[80];

	if (c->fd >= 0)
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)c->pid, c->fd);
	else
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)c->pid,
			 c->address, c->end);
	return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* A session that is mapped, and of which the process keeps no descriptor. */
static enum attach_verdict judge_mapped(struct attach_target *t, const struct carrier *c)
{
	t->other = c->header.collector_pid;
	if (!c->has_header || c->header.features & WEFT_FEATURE_RUNTIME_MADE)
		return ATTACH_NO_FD;
	return carrier_state(c) == CARRIER_RECORDED ? ATTACH_RECORDED : ATTACH_OVER;
}

/* Checks a descriptor of our own, so that the very file that was checked is mapped later. */
static enum attach_verdict take_session(struct attach_target *t, const struct carrier *c)
{
	int rc;

	if (c->fd < 0 && c->has_header && !(c->header.features & WEFT_FEATURE_RUNTIME_MADE))
		return judge_mapped(t, c);
	t->fd = open_session(c);
	if (t->fd < 0)
		return judge_mapped(t, c);
	rc = attach_check(t->fd, t->pid, process_stat_number_of(t->pid, STAT_START_TIME),
			  &t->layout);
	t->other = rc == -EXDEV ? t->layout.pid : t->layout.collector_pid;
	if (rc == -EXDEV)
		return ATTACH_FORKED;
	if (rc)
		return ATTACH_MALFORMED;
	if (flock(t->fd, LOCK_EX | LOCK_NB) == 0)
		return ATTACH_FINE;
	t->error = -errno;
	/* Who has locked the session may not have stored its pid there yet. */
	if (t->other <= 0 || (kill(t->other, 0) && errno == ESRCH))
		t->other = 0;
	return t->error == -EWOULDBLOCK ? ATTACH_RECORDED : ATTACH_FAILED;
}

/* Its runtime says so, or it has filters that it had not when it began. */
static int is_filtered(const struct attach_target *t)
{
	return (t->layout.features & WEFT_FEATURE_CAREFUL) ||
	       t->layout.counters[WEFT_COUNTER_CAREFUL] || filters_are_strange(t->pid);
}

/* Memory of its own, which a kernel thread and who has ended do not have, and ours to look at. */
static int stranger_has_memory(pid_t pid)
{
	return process_stat_number_of(pid, STAT_STACK_START) != 0;
}

/* In another namespace filters count against another first process. */
static enum attach_verdict judge_empty(struct attach_target *t, const struct carrier *c,
				       int needs_orders)
{
	if (c->has_library && carrier_is_near(t->pid) != 0 && filters_are_strange(t->pid))
		return ATTACH_UNBEGUN;
	if (process_is_32_bit(t->pid))
		return ATTACH_32_BIT;
	t->is_stranger = !needs_orders && stranger_has_memory(t->pid);
	return t->is_stranger ? ATTACH_FINE : ATTACH_NO_WEFT;
}

static enum attach_verdict session_attach_find(struct attach_target *t, int needs_orders)
{
	enum attach_verdict verdict;
	struct carrier c;
	int rc = carrier_look(&c, t->pid);
	long group;

	if (rc == -ESRCH)
		return ATTACH_GONE;
	if (rc == -EACCES)
		return ATTACH_DENIED;
	group = carrier_status_number(t->pid, "Tgid");
	if (group > 0 && group != t->pid) {
		t->other = (pid_t)group;
		return ATTACH_THREAD;
	}
	if (rc && rc != -ENOENT) {
		t->error = rc;
		return ATTACH_FAILED;
	}
	if (rc)
		return judge_empty(t, &c, needs_orders);
	if (carrier_is_near(t->pid) == 0)
		return ATTACH_NAMESPACE;
	if (carrier_state(&c) == CARRIER_FORKED) {
		t->other = c.header.pid;
		return ATTACH_FORKED;
	}
	verdict = take_session(t, &c);
	if (verdict == ATTACH_FINE && needs_orders &&
	    !order_signal_is_allowed(t->layout.prime_signal_used))
		return ATTACH_CONTEXT_ONLY;
	if (verdict == ATTACH_FINE && needs_orders && is_filtered(t))
		return ATTACH_FILTERED;
	return verdict;
}

enum attach_verdict attach_find(struct attach_target *out, pid_t pid, int needs_orders)
{
	enum attach_verdict verdict;

	*out = (struct attach_target){.pid = pid, .fd = -1};
	verdict = pid > 0 ? session_attach_find(out, needs_orders) : ATTACH_GONE;
	if (verdict != ATTACH_FINE)
		attach_target_close(out);
	return verdict;
}

void attach_target_close(struct attach_target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* Its number in its own PID namespace. */
static int32_t pid_inside(pid_t pid)
{
	size_t bytes = 0;
	char *status = proc_read_all_of(pid, "status", &bytes);
	int32_t inside = pid_innermost(status, (int32_t)pid, NULL);

	free(status);
	return inside;
}

void attach_explain(const struct attach_target *t, enum attach_verdict verdict, char *out,
		    size_t room)
{
	static const char *const text[] = {
		[ATTACH_FINE] = "can be recorded",
		[ATTACH_GONE] = "no such process",
		[ATTACH_THREAD] = "is a thread; name its process: ",
		[ATTACH_DENIED] = "it may not be looked at: it is another user's, has more rights, "
				  "or has set itself not dumpable; root with CAP_SYS_PTRACE can "
				  "record it",
		[ATTACH_NO_WEFT] = "carries no weft: start it by `weft record -- CMD`, or with "
				   "LD_PRELOAD=.../libweft.so and attach later; -e wall alone "
				   "needs nothing of it",
		[ATTACH_32_BIT] = "is a 32-bit program: weft cannot be loaded there",
		[ATTACH_FORKED] = "was forked, and has begun no session of its own; attach to its "
				  "parent, whose children join from then on: ",
		[ATTACH_RECORDED] = "is recorded already, by weft with pid ",
		[ATTACH_OVER] = "was recorded from its start, and that recording is over: it keeps "
				"nothing open that one could attach to; start it with "
				"LD_PRELOAD=.../libweft.so for that",
		[ATTACH_NO_FD] = "has closed all its descriptors, its session's with them: only "
				 "root can attach to it",
		[ATTACH_NAMESPACE] =
			"lives in another PID namespace (a container): run weft there: ",
		[ATTACH_MALFORMED] = "its session is not one that this weft understands: another "
				     "version?",
		[ATTACH_CONTEXT_ONLY] = "has the context part of weft alone (libweft.a), or no "
					"signal to take orders by: no CPU samples can be taken "
					"there; link libweft.so, or preload it",
		[ATTACH_FILTERED] =
			"filters its system calls (seccomp, no_new_privs), and a filter "
			"may kill for what weft would ask of the kernel there; "
			"-e wall alone needs nothing of it",
		[ATTACH_UNBEGUN] =
			"filters its system calls (seccomp), and was begun so: weft "
			"began nothing there, for a filter may kill for what it would "
			"ask of the kernel; where its filters only refuse, start it with "
			"their number in WEFT_FILTERS",
	};

	if (verdict == ATTACH_FAILED)
		snprintf(out, room, "%s", strerror(-t->error));
	else if (verdict == ATTACH_RECORDED && !t->other)
		snprintf(out, room, "is recorded already, by a weft that has just begun");
	else if (verdict == ATTACH_NAMESPACE)
		snprintf(out, room, "%snsenter -t %d -p unshare --mount-proc weft record -p %d",
			 text[verdict], (int)t->pid, (int)pid_inside(t->pid));
	else if (verdict == ATTACH_THREAD || verdict == ATTACH_FORKED || verdict == ATTACH_RECORDED)
		snprintf(out, room, "%s%d", text[verdict], (int)t->other);
	else
		snprintf(out, room, "%s", text[verdict]);
}
