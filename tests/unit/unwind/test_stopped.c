/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the stack of a process stopped from outside, walked over a copy of its
 * memory, reaches the outermost frame, and equals gdb's, frame by frame.
 *
 * Arguments: number of stops, of how many of these gdb is asked too, then the program. The
 * first argument may be preceded by --percent N: how many stops must reach the outermost
 * frame (100 by default). Exits 77 (skipped) where ptrace or gdb cannot be used.
 */
#include "modules.h"
#include "stopped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

#define DEPTH 512
#define STACK_BYTES (1u << 20)
#define SKIPPED 77

struct stop {
	struct unwind_registers regs;
	uint8_t *stack[2];
	struct unwind_memory memory[2];
	struct modules *modules;
};

static int percent = 100, stops, stops_with_gdb;
static char **program;

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(program[0], program);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void *read_all(const char *path)
{
	size_t room = 1 << 20, used = 0;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	assert_non_null(text);
	while (fd >= 0 && (got = read(fd, text + used, room - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	close(fd);
	return text;
}

/*
 * Stops it, traced only as long as needed: a tracee would stop at each of its own signals.
 * *signal is what to deliver at the end: it may have stopped at a signal before us.
 */
static int seize(pid_t pid, int *signal)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status))
		return -ESRCH;
	*signal = status >> 16 ? 0 : WSTOPSIG(status);
	return 0;
}

static int is_stopped(pid_t pid)
{
	char path[64], *text, state = '?';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = read_all(path);
	sscanf(strrchr(text, ')') ? strrchr(text, ')') : "", ") %c", &state);
	free(text);
	return state == 'T';
}

/* As much as there is from @address on: the stack's mapping ends somewhere. */
static uint64_t read_memory(pid_t pid, uint64_t address, void *out, size_t bytes)
{
	struct iovec local = {out, bytes}, pages[STACK_BYTES / 4096 + 1];
	uint64_t at = address, end = address + bytes;
	unsigned int count = 0;
	ssize_t got;

	while (at < end && count < sizeof(pages) / sizeof(pages[0])) {
		uint64_t next = (at | 4095) + 1 < end ? (at | 4095) + 1 : end;

		pages[count++] = (struct iovec){(void *)(uintptr_t)at, next - at};
		at = next;
	}
	got = process_vm_readv(pid, &local, 1, pages, count, 0);
	return got > 0 ? (uint64_t)got : 0;
}

static int find_mapping(const char *maps, const char *name, uint64_t *start, uint64_t *end)
{
	const char *line = strstr(maps, name);

	while (line && line > maps && line[-1] != '\n')
		line--;
	return line && sscanf(line, "%" SCNx64 "-%" SCNx64, start, end) == 2;
}

static void take_modules(struct stop *s, pid_t pid, const char *maps)
{
	uint64_t start, end, bytes = 0;
	uint8_t vdso[16384];

	if (find_mapping(maps, "[vdso]", &start, &end) && end - start <= sizeof(vdso))
		bytes = read_memory(pid, start, vdso, end - start);
	s->modules = modules_new(maps, bytes ? vdso : NULL, bytes);
}

/* The stack that SP is on, and the main one where that is another. */
static void take_stacks(struct stop *s, pid_t pid, uint64_t sp, const char *maps)
{
	struct unwind_memory *m = s->memory;
	uint64_t start, end;

	m[0] = (struct unwind_memory){.bytes = s->stack[0], .address = sp - UNWIND_RED_ZONE};
	m[0].size = read_memory(pid, m[0].address, s->stack[0], STACK_BYTES);
	if (!find_mapping(maps, "[stack]", &start, &end) || (sp >= start && sp < end))
		return;
	if (end - start > STACK_BYTES)
		start = end - STACK_BYTES;
	m[1] = (struct unwind_memory){.bytes = s->stack[1], .address = start};
	m[1].size = read_memory(pid, start, s->stack[1], end - start);
	m[0].next = &m[1];
}

static void take(struct stop *s, pid_t pid)
{
	struct user_regs_struct u;
	char path[64], *maps;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &u), 0);
	stopped_registers(&s->regs, &u);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = read_all(path);
	take_modules(s, pid, maps);
	take_stacks(s, pid, u.rsp, maps);
	free(maps);
}

static void show(struct stop *s, const char *who, const uint64_t *frames, size_t count)
{
	char name[256];

	for (size_t i = 0; i < count && i < 24; i++)
		print_message("  %s %#" PRIx64 " %s %s\n", who, frames[i],
			      modules_file(s->modules, frames[i]),
			      modules_name(s->modules, frames[i], name, sizeof(name)));
}

enum { DIFFERENT, EQUAL, MOVED_ON };

/* A signal that was pending may have been delivered in between: then the pc is another. */
static int compare_with_gdb(struct stop *s, pid_t pid, const uint64_t *frames, size_t count)
{
	uint64_t expected[DEPTH];
	size_t expected_count = gdb_frames(pid, expected, DEPTH);

	if (expected_count == 0) {
		print_message("gdb cannot be used here\n");
		exit(SKIPPED);
	}
	if (count == expected_count && memcmp(frames, expected, count * sizeof(*frames)) == 0)
		return EQUAL;
	if (expected[0] != frames[0])
		return MOVED_ON;
	show(s, "ours", frames, count);
	show(s, "gdb", expected, expected_count);
	return DIFFERENT;
}

/* gdb must be the only tracer: the process is handed over stopped. */
static int hand_to_gdb(struct stop *s, pid_t pid, const uint64_t *frames, size_t count)
{
	int result;

	kill(pid, SIGSTOP);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	for (int i = 0; i < 1000 && !is_stopped(pid); i++)
		sleep_ms(2);
	result = compare_with_gdb(s, pid, frames, count);
	kill(pid, SIGCONT);
	return result;
}

struct tally {
	unsigned int ends[UNWIND_END_COUNT];
	int taken, compared, equal;
};

static void one_stop(struct stop *s, struct tally *t, pid_t pid, int signal)
{
	uint64_t frames[DEPTH];
	enum unwind_end end;
	size_t count;

	take(s, pid);
	count = unwind_walk(&s->regs, s->memory, modules_find, s->modules, UNWIND_X86_64, frames,
			    DEPTH, &end);
	t->ends[end]++;
	if (end != UNWIND_END_OUTERMOST && t->taken - (int)t->ends[0] < 3) {
		print_message("end %d:\n", (int)end);
		show(s, "ours", frames, count);
	}
	t->taken++;
	if (signal == 0 && t->compared < stops_with_gdb) {
		int result = hand_to_gdb(s, pid, frames, count);

		t->compared += result != MOVED_ON;
		t->equal += result == EQUAL;
	} else {
		ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)signal);
	}
	modules_free(s->modules);
}

static void stop_and_compare(void **state)
{
	struct stop s = {.stack = {malloc(STACK_BYTES), malloc(STACK_BYTES)}};
	struct tally t = {.taken = 0};
	pid_t pid = start();
	int signal = 0, err = 0;

	(void)state;
	sleep_ms(200);
	while (t.taken < stops && !err) {
		sleep_ms(7 + t.taken % 5);
		err = seize(pid, &signal);
		if (!err)
			one_stop(&s, &t, pid, signal);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(s.stack[0]);
	free(s.stack[1]);
	if (err == -EPERM) {
		print_message("ptrace cannot be used here\n");
		exit(SKIPPED);
	}
	print_message(
		"%s: %d stops, outermost %u, max %u, no module %u, no rule %u, copy limit %u, "
		"bad read %u; %d of %d equal to gdb's\n",
		program[0], t.taken, t.ends[0], t.ends[1], t.ends[2], t.ends[3], t.ends[4],
		t.ends[5], t.equal, t.compared);
	assert_true(t.taken > 0);
	assert_int_equal(t.equal, t.compared);
	assert_true((int)t.ends[0] * 100 >= percent * t.taken);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stop_and_compare),
	};
	char **next = argv + 1;

	if (argc > 2 && strcmp(*next, "--percent") == 0) {
		percent = atoi(next[1]);
		next += 2;
		argc -= 2;
	}
	if (argc < 4)
		return 2;
	stops = atoi(next[0]);
	stops_with_gdb = atoi(next[1]);
	program = next + 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
