/* SPDX-License-Identifier: Apache-2.0 */
/* The platform interface on Linux: /proc/PID/task and rt_tgsigqueueinfo, by raw system calls. */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sys_call.h"
#include "base/text/digits.h"

/* 32 and 33 are used by glibc, 34 also by musl. */
#define REALTIME_FIRST 35
#define REALTIME_LAST 64

#define PATH_ROOM 32
#define ROOM_LEAST 1024

static char *platform_linux_put_number(char *at, uint32_t number)
{
	char digits[DIGITS_BYTES], *end = digits + sizeof(digits);

	for (const char *digit = digits_put_before(end, number); digit < end; digit++)
		*at++ = *digit;
	return at;
}

static char *platform_linux_put_word(char *at, const char *word)
{
	while (*word)
		*at++ = *word++;
	return at;
}

static void task_path(char path[PATH_ROOM], int32_t pid)
{
	char *at = platform_linux_put_word(path, "/proc/");

	at = pid > 0 ? platform_linux_put_number(at, (uint32_t)pid)
		     : platform_linux_put_word(at, "self");
	*platform_linux_put_word(at, "/task") = '\0';
}

int platform_priming_is_available(void)
{
	return 1;
}

/* (the links include "." and "..") */
int platform_threads_count(int32_t pid)
{
	char path[PATH_ROOM];
	struct stat st = {0};
	long failed;

	task_path(path, pid);
	failed = sys_call4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
	if (failed)
		return (int)failed;
	return st.st_nlink > 2 ? (int)st.st_nlink - 2 : -ESRCH;
}

static int32_t platform_linux_parse_tid(const char *name)
{
	int32_t tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (*name - '0');
	return *name ? 0 : tid;
}

static int call_for_each(const char *list, long bytes, int (*each)(void *arg, int32_t tid),
			 void *arg)
{
	for (long at = 0; at < bytes;) {
		const struct kernel_dirent *entry = (const void *)(list + at);
		int32_t tid = platform_linux_parse_tid(entry->name);
		int answer = tid > 0 ? each(arg, tid) : 0;

		if (answer)
			return answer;
		at += entry->bytes;
	}
	return 0;
}

int platform_threads_enumerate(int32_t pid, void *room, uint32_t room_bytes,
			       int (*each)(void *arg, int32_t tid), void *arg)
{
	char path[PATH_ROOM];
	long fd, bytes, answer = 0;

	if (room_bytes < ROOM_LEAST)
		return -EINVAL;
	task_path(path, pid);
	fd = sys_call4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	while (!answer && (bytes = sys_call3(SYS_getdents64, fd, room, room_bytes)) != 0)
		answer = bytes < 0 ? bytes : call_for_each(room, bytes, each, arg);
	sys_call1(SYS_close, fd);
	return (int)answer;
}

int platform_thread_signal(int32_t pid, int32_t tid, int signo, uint64_t value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = signo;
	info.si_code = SI_QUEUE;
	info.si_pid = (pid_t)sys_call0(SYS_getpid);
	info.si_uid = (uid_t)sys_call0(SYS_getuid);
	info.si_value.sival_ptr = (void *)(uintptr_t)value;
	return (int)sys_call4(SYS_rt_tgsigqueueinfo, pid > 0 ? pid : info.si_pid, tid, signo,
			      &info);
}

int platform_realtime_signals(int *first, int *last)
{
	*first = REALTIME_FIRST;
	*last = REALTIME_LAST;
	return 0;
}
