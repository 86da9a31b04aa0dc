/* SPDX-License-Identifier: Apache-2.0 */
/* Running and timing whole programs: see harness.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

bool bench_have(const char *program)
{
	char *list = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = list;
	bool found = false;

	for (char *dir; rest && !found && (dir = strsep(&rest, ":"));) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, program);
		found = !access(path, X_OK);
	}
	free(list);
	return found;
}

static _Noreturn void become(const char *const *argv, const char *setting, int output)
{
	int nowhere = open("/dev/null", O_RDWR);

	dup2(nowhere, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	if (setting) {
		char *copy = strdup(setting);

		for (char *one; copy && (one = strsep(&copy, "\n"));)
			putenv(one);
	}
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

/* Reads to the end, keeps what fits. */
static void collect_output(int fd, char *out, size_t room)
{
	char more[4096];
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, more, sizeof(more))) > 0 || (got < 0 && errno == EINTR)) {
		size_t take = got > 0 ? (size_t)got : 0;

		if (take > room - 1 - used)
			take = room - 1 - used;
		memcpy(out + used, more, take);
		used += take;
	}
	out[used] = '\0';
}

static double ns_of(struct timeval t)
{
	return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

int bench_spawn(const char *const *argv, const char *setting, struct bench_run *out)
{
	struct rusage used;
	uint64_t start;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	start = bench_now_ns();
	pid = fork();
	if (pid == 0)
		become(argv, setting, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	collect_output(ends[0], out->output, sizeof(out->output));
	close(ends[0]);
	while (wait4(pid, &out->status, 0, &used) < 0)
		if (errno != EINTR)
			return -errno;
	out->wall_ns = (double)(bench_now_ns() - start);
	out->cpu_ns = ns_of(used.ru_utime) + ns_of(used.ru_stime);
	return 0;
}
