/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts itself at random and keeps, each time, registers, stack, and what backtrace()
 * finds there: see capture.h. Usage: test_capture COUNT thread|main | test_capture spin
 */
#include "capture.h"
#include "workload.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define ARENA_BYTES (UINT64_C(1) << 29)
#define RED_ZONE 128
#define PERIOD_NS 150000
#define ABOVE_OUTER 4096 /* how far below the frame that raised the signal SP may be */

static struct capture *captures;
static uint8_t **stretches; /* where the bytes of capture i begin */
static unsigned int wanted;
static volatile unsigned int count;
static uint8_t *arena;
static uint64_t arena_used;
static uint64_t stack_top, other_start, other_end;
static sigjmp_buf backtrace_failed;
static volatile sig_atomic_t is_in_backtrace;
static volatile unsigned int crashes;
static void *trampoline; /* to which handlers return */
static timer_t timer;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

#if defined(__x86_64__)
enum { MACHINE = 62, SP = 7 };
static void keep_registers(struct capture *c, const ucontext_t *uc)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};

	for (unsigned int i = 0; i < 16; i++)
		c->r[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	c->pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}
#else
enum { MACHINE = 183, SP = 31 };
static void keep_registers(struct capture *c, const ucontext_t *uc)
{
	for (unsigned int i = 0; i < 31; i++)
		c->r[i] = uc->uc_mcontext.regs[i];
	c->r[31] = uc->uc_mcontext.sp;
	c->pc = uc->uc_mcontext.pc;
}
#endif

/* Not memcpy: the sanitizers forbid it to look at other functions' frames. */
__attribute__((no_sanitize("address"))) static void copy_words(uint8_t *to, uint64_t from,
							       uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += 8)
		*(volatile uint64_t *)(void *)(to + i) =
			*(volatile uint64_t *)(uintptr_t)(from + i);
}

static int copy_stretch(struct capture *c, unsigned int which, uint64_t from, uint64_t to)
{
	from &= ~UINT64_C(7);
	to &= ~UINT64_C(7);
	c->address[which] = from;
	c->bytes[which] = to - from;
	if (to <= from || to - from > ARENA_BYTES - arena_used)
		return 0;
	copy_words(arena + arena_used, from, to - from);
	arena_used += to - from;
	return 1;
}

static int copy_stacks(struct capture *c)
{
	uint64_t sp = c->r[SP];

	c->bytes[1] = 0;
	if (sp < other_start || sp >= other_end)
		return copy_stretch(c, 0, sp - RED_ZONE, stack_top);
	return copy_stretch(c, 0, sp - RED_ZONE, other_end) &&
	       copy_stretch(c, 1, workload_left_at - ABOVE_OUTER, stack_top);
}

/* libgcc for aarch64 can follow what it finds into nowhere: there is no expectation then. */
static void on_crash(int number)
{
	(void)number;
	if (!is_in_backtrace)
		abort();
	siglongjmp(backtrace_failed, 1);
}

/* backtrace() begins in the handler: from the interrupted pc on is what we want. */
static int keep_backtrace(struct capture *c)
{
	static void *frames[CAPTURE_DEPTH];
	int got, first = 0;

	if (sigsetjmp(backtrace_failed, 1) != 0) {
		is_in_backtrace = 0;
		return 0;
	}
	is_in_backtrace = 1;
	got = backtrace(frames, CAPTURE_DEPTH);
	is_in_backtrace = 0;
	while (first < got && (uint64_t)(uintptr_t)frames[first] != c->pc)
		first++;
	/* Interrupted where another handler's return had just begun: our own goes there, too. */
	if (first + 1 < got && frames[first] == trampoline && frames[first + 1] == trampoline)
		first++;
	c->expected_count = (uint64_t)(got - first);
	for (int i = first; i < got; i++)
		c->expected[i - first] = (uint64_t)(uintptr_t)frames[i];
	return 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * One shot at a time, later than what the last one took: on an emulator, on a busy machine, a
 * timer that goes on by itself would interrupt the same instruction for ever.
 */
static void arm(uint64_t taken_ns)
{
	uint64_t delay_ns = PERIOD_NS + 2 * taken_ns + count * 7919 % PERIOD_NS;
	struct itimerspec once = {.it_value = {.tv_sec = (time_t)(delay_ns / 1000000000),
					       .tv_nsec = (long)(delay_ns % 1000000000)}};

	timer_settime(timer, 0, &once, NULL);
}

static void capture_at(const ucontext_t *uc)
{
	struct capture *c = &captures[count];

	stretches[count] = arena + arena_used;
	keep_registers(c, uc);
	if (!copy_stacks(c))
		return;
	if (keep_backtrace(c))
		count = count + 1;
	else
		crashes = crashes + 1;
}

static void on_timer(int number, siginfo_t *info, void *context)
{
	uint64_t began_ns = now_ns();

	(void)number;
	(void)info;
	trampoline = __builtin_return_address(0);
	if (count == wanted)
		return;
	capture_at(context);
	arm(now_ns() - began_ns);
}

static void start_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct sigaction act = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigaction(SIGPROF, &act, NULL);
	signal(SIGSEGV, on_crash);
	signal(SIGBUS, on_crash);
	signal(SIGILL, on_crash);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		die("timer");
	arm(0);
}

static void find_stack(void)
{
	pthread_attr_t attr;
	void *start = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attr) != 0 ||
	    pthread_attr_getstack(&attr, &start, &bytes) != 0)
		die("stack");
	stack_top = (uint64_t)(uintptr_t)start + bytes;
	pthread_attr_destroy(&attr);
}

static void *collect(void *arg)
{
	void *first[4];

	backtrace(first, 4); /* loads libgcc_s now, not in the handler */
	workload_start();
	workload_other_stack(&other_start, &other_end);
	find_stack();
	start_timer();
	for (unsigned int i = 0; count < wanted; i++)
		workload_round(i);
	timer_delete(timer);
	signal(SIGPROF, SIG_IGN);
	return arg;
}

static void put(const void *data, size_t bytes)
{
	if (bytes && fwrite(data, bytes, 1, stdout) != 1)
		die("write");
}

static size_t vdso_bytes(const char *maps)
{
	const char *line = strstr(maps, "[vdso]");
	unsigned long start, end;

	if (!line)
		return 0;
	while (line > maps && line[-1] != '\n')
		line--;
	return sscanf(line, "%lx-%lx", &start, &end) == 2 ? end - start : 0;
}

static void write_all(void)
{
	static char maps[1 << 16];
	struct capture_header h = {.machine = MACHINE, .count = count, .crashes = crashes};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	while (fd >= 0 &&
	       (got = read(fd, maps + h.maps_bytes, sizeof(maps) - 1 - h.maps_bytes)) > 0)
		h.maps_bytes += (uint32_t)got;
	close(fd);
	h.vdso_bytes = getauxval(AT_SYSINFO_EHDR) ? (uint32_t)vdso_bytes(maps) : 0;
	put(&h, sizeof(h));
	put(maps, h.maps_bytes);
	put((const void *)getauxval(AT_SYSINFO_EHDR), h.vdso_bytes);
	for (unsigned int i = 0; i < count; i++) {
		put(&captures[i], sizeof(captures[i]));
		put(stretches[i], captures[i].bytes[0] + captures[i].bytes[1]);
	}
	if (fflush(stdout) != 0)
		die("write");
}

static void spin(void)
{
	workload_start();
	for (unsigned int i = 0;; i++)
		workload_round(i);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 2 && strcmp(argv[1], "spin") == 0)
		spin();
	if (argc != 3)
		return 2;
	wanted = (unsigned int)atoi(argv[1]);
	captures = calloc(wanted, sizeof(*captures));
	stretches = calloc(wanted, sizeof(*stretches));
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!captures || !stretches || arena == MAP_FAILED)
		die("memory");
	if (strcmp(argv[2], "main") == 0)
		collect(NULL);
	else if (pthread_create(&thread, NULL, collect, NULL) != 0 ||
		 pthread_join(thread, NULL) != 0)
		die("thread");
	write_all();
	return 0;
}
