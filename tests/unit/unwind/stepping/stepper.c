/* SPDX-License-Identifier: Apache-2.0 */
/* See stepper.h. */
#include "stepper.h"

#include "../stopped.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS_MAX 64
#define MAPPINGS_MAX 512
#define STACK_BYTES (256u << 10)
#define CODES (1u << 18)
#define MAPS_BYTES (256u << 10)
#define TRACE_OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)

/* In the kernel's frame: a handler may change where it returns to. */
#define UCONTEXT_RIP offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP])

enum code { UNKNOWN, OTHER, CALL, RETURN, POP, SYSTEM_CALL };

struct entry {
	uint64_t slot; /* where the return address lies */
	uint64_t pc;
	uint64_t interrupted_sp; /* of an entry that a signal made */
};

struct thread {
	pid_t tid;
	int is_new, signal;
	uint64_t pc, sp;
	unsigned long long number; /* of the system call about to be made */
	enum code code;
	struct entry stack[STEPPER_DEPTH];
	size_t depth;
	struct entry popped; /* a return address that was popped into a register */
};

struct mapping {
	uint64_t start, end;
};

struct known_code {
	uint64_t pc;
	enum code code;
};

struct stepper {
	pid_t pid;
	int status, ended;
	struct thread *threads[THREADS_MAX];
	struct mapping mapping[MAPPINGS_MAX];
	size_t mapping_count;
	char maps[MAPS_BYTES];
	unsigned int maps_number;
	struct known_code *codes;
	uint8_t *stack[2];
};

size_t stepper_read(struct stepper *s, uint64_t address, void *out, size_t bytes)
{
	struct iovec local = {out, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	ssize_t got = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static void read_maps(struct stepper *s)
{
	char path[64];
	size_t used = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (got = read(fd, s->maps + used, sizeof(s->maps) - 1 - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	s->maps[used] = '\0';
	s->mapping_count = 0;
	for (char *line = s->maps; line && *line && s->mapping_count < MAPPINGS_MAX;) {
		struct mapping *m = &s->mapping[s->mapping_count];

		s->mapping_count += sscanf(line, "%" SCNx64 "-%" SCNx64, &m->start, &m->end) == 2;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	s->maps_number++;
	memset(s->codes, 0, CODES * sizeof(*s->codes));
}

/* End of the mapping with @address; of the next one above, for stacks grow. */
static uint64_t mapping_end(const struct stepper *s, uint64_t address)
{
	for (size_t i = 0; i < s->mapping_count; i++)
		if (s->mapping[i].end > address)
			return s->mapping[i].end;
	return address;
}

static int is_prefix(uint8_t byte)
{
	return (byte & 0xf0) == 0x40 ||
	       memchr("\x66\xf2\xf3\x2e\x3e\x26\x36\x64\x65\x67", byte, 10);
}

static enum code decode(const uint8_t *at, size_t bytes)
{
	size_t i = 0;

	while (i + 2 < bytes && is_prefix(at[i]))
		i++;
	if (i + 2 > bytes)
		return OTHER;
	if (at[i] == 0xe8 || (at[i] == 0xff && (at[i + 1] >> 3 & 7) == 2))
		return CALL;
	if (at[i] == 0xc3 || at[i] == 0xc2)
		return RETURN;
	if ((at[i] & 0xf8) == 0x58)
		return POP;
	return at[i] == 0x0f && at[i + 1] == 0x05 ? SYSTEM_CALL : OTHER;
}

static enum code code_at(struct stepper *s, uint64_t pc)
{
	struct known_code *known =
		&s->codes[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 46 & (CODES - 1)];
	uint8_t bytes[16];

	if (known->pc != pc || known->code == UNKNOWN) {
		known->pc = pc;
		known->code = decode(bytes, stepper_read(s, pc, bytes, sizeof(bytes)));
	}
	return known->code;
}

static struct thread *find_thread(struct stepper *s, pid_t tid)
{
	struct thread **free_one = NULL;

	for (size_t i = 0; i < THREADS_MAX; i++) {
		if (s->threads[i] && s->threads[i]->tid == tid)
			return s->threads[i];
		if (!s->threads[i] && !free_one)
			free_one = &s->threads[i];
	}
	if (!free_one)
		abort();
	*free_one = calloc(1, sizeof(**free_one));
	(*free_one)->tid = tid;
	(*free_one)->is_new = 1;
	return *free_one;
}

static void forget_thread(struct stepper *s, pid_t tid)
{
	for (size_t i = 0; i < THREADS_MAX; i++)
		if (s->threads[i] && s->threads[i]->tid == tid) {
			free(s->threads[i]);
			s->threads[i] = NULL;
		}
}

static void push(struct thread *t, uint64_t slot, uint64_t pc, uint64_t interrupted_sp)
{
	if (t->depth == STEPPER_DEPTH)
		abort();
	t->stack[t->depth++] = (struct entry){slot, pc, interrupted_sp};
}

static int is_handler_entry(const struct thread *t, const struct user_regs_struct *u)
{
	return t->signal && u->rdi == (unsigned)t->signal && u->rdx == u->rsp + 8;
}

static uint64_t word_at(struct stepper *s, uint64_t address)
{
	uint64_t word = 0;

	stepper_read(s, address, &word, sizeof(word));
	return word;
}

/* What the instruction at t->pc has done to the stack. */
static void follow(struct stepper *s, struct thread *t, const struct user_regs_struct *u)
{
	uint64_t called_from;

	if (is_handler_entry(t, u)) {
		push(t, u->rsp + 8, t->pc, t->sp);
		push(t, u->rsp, word_at(s, u->rsp), 0);
		return;
	}
	while (t->depth && t->stack[t->depth - 1].slot < u->rsp) {
		t->depth--;
		if (t->code == POP && t->stack[t->depth].slot == t->sp) {
			t->popped = t->stack[t->depth];
			t->popped.pc = word_at(s, t->sp);
		}
	}
	if (t->popped.slot && (t->code == CALL || t->code == RETURN || u->rip == t->popped.pc ||
			       u->rsp <= t->popped.slot)) {
		if (t->code == OTHER && u->rsp == t->popped.slot &&
		    word_at(s, u->rsp) == t->popped.pc)
			t->stack[t->depth++] = t->popped;
		t->popped.slot = 0;
	}
	if (t->code != CALL || u->rsp != t->sp - 8)
		return;
	called_from = word_at(s, u->rsp);
	if (called_from > t->pc && called_from <= t->pc + 15)
		push(t, u->rsp, called_from, 0);
}

static int changes_mappings(unsigned long long number)
{
	return (number >= 9 && number <= 12) || number == 25 || number == 59;
}

static void copy_stack(struct stepper *s, struct unwind_memory *m, uint8_t *room, uint64_t sp)
{
	uint64_t bytes = mapping_end(s, sp) - (sp - UNWIND_RED_ZONE);

	m->bytes = room;
	m->address = sp - UNWIND_RED_ZONE;
	m->size = stepper_read(s, m->address, room, bytes < STACK_BYTES ? bytes : STACK_BYTES);
	m->next = NULL;
}

/* From the interrupted SP on where that is on another stack. */
static void copy_stacks(struct stepper *s, struct thread *t, struct stepper_stop *stop)
{
	struct unwind_memory *m = stop->memory;
	uint64_t end;

	copy_stack(s, &m[0], s->stack[0], t->sp);
	end = m[0].address + m[0].size;
	for (size_t i = t->depth; i-- > 0;) {
		uint64_t sp = t->stack[i].interrupted_sp;

		stop->places |= sp ? STEPPER_HANDLER : 0;
		if (sp && (sp < t->sp || sp >= end)) {
			copy_stack(s, &m[1], s->stack[1], sp);
			m[0].next = &m[1];
			stop->places |= STEPPER_ALTERNATE;
			return;
		}
	}
}

static void take_truth(struct stepper *s, struct thread *t, struct stepper_stop *stop)
{
	size_t n = 0;

	stop->truth[n++] = t->pc;
	if (t->popped.slot)
		stop->truth[n++] = t->popped.pc;
	else if (t->code == RETURN && (t->depth == 0 || t->stack[t->depth - 1].slot != t->sp))
		stop->truth[n++] = word_at(s, t->sp);
	for (size_t i = t->depth; i-- > 0 && n < STEPPER_DEPTH; n++) {
		const struct entry *e = &t->stack[i];

		if (e->interrupted_sp)
			stop->truth[n] = word_at(s, e->slot + UCONTEXT_RIP);
		else /* exceptions write where they go on over the innermost one */
			stop->truth[n] = n == 1 ? word_at(s, e->slot) : e->pc;
	}
	stop->truth_count = n;
}

static void describe(struct stepper *s, struct thread *t, struct stepper_stop *stop,
		     const struct user_regs_struct *u)
{
	enum code before = t->code;

	follow(s, t, u);
	t->signal = 0;
	if (before == SYSTEM_CALL && changes_mappings(t->number))
		read_maps(s);
	t->pc = u->rip;
	t->sp = u->rsp;
	t->number = u->rax;
	t->code = code_at(s, t->pc);
	stop->tid = t->tid;
	stop->is_main = t->tid == s->pid;
	stop->u = *u;
	stop->places =
		(before == CALL ? STEPPER_FIRST : 0u) | (t->code == RETURN ? STEPPER_RETURN : 0u);
	stop->maps_number = s->maps_number;
	stopped_registers(&stop->regs, u);
	take_truth(s, t, stop);
	copy_stacks(s, t, stop);
}

static int step(struct thread *t, int signal)
{
	return ptrace(PTRACE_SINGLESTEP, t->tid, NULL, (void *)(intptr_t)signal) == 0 ? 0 : -errno;
}

/* A stop that is no step: 1, and the thread goes on. */
static int is_other_stop(struct thread *t, int status)
{
	int signal = WSTOPSIG(status);

	if (status >> 16) { /* an event */
		step(t, 0);
		return 1;
	}
	if (signal == SIGTRAP)
		return 0;
	if (t->is_new && signal == SIGSTOP) /* what a new thread begins with */
		signal = 0;
	t->signal = signal;
	step(t, signal);
	return 1;
}

int stepper_next(struct stepper *s, struct stepper_stop *stop)
{
	struct user_regs_struct u;
	struct thread *t;
	int status;

	if (stop->tid) {
		pid_t last = stop->tid;

		stop->tid = 0;
		step(find_thread(s, last), 0);
	}
	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0)
			return 0;
		if (!WIFSTOPPED(status)) {
			forget_thread(s, tid);
			if (tid != s->pid)
				continue;
			s->status = status;
			s->ended = 1;
			return 0;
		}
		t = find_thread(s, tid);
		if (is_other_stop(t, status))
			continue;
		if (ptrace(PTRACE_GETREGS, tid, NULL, &u) != 0)
			continue;
		t->is_new = 0;
		describe(s, t, stop, &u);
		return 1;
	}
}

static void run_child(char **argv)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	personality(ADDR_NO_RANDOMIZE);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(126);
	execve(argv[0], argv, (char *[]){(char *)"LC_ALL=C", NULL});
	_exit(127);
}

/* The switch between two processes is cheapest on one core. */
static void stay_on_this_core(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	if (cpu >= 0) {
		CPU_SET((size_t)cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
}

static uint64_t entry_point(struct stepper *s)
{
	Elf64_auxv_t aux;
	char path[64];
	uint64_t entry = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, &aux, sizeof(aux)) == sizeof(aux))
		if (aux.a_type == AT_ENTRY)
			entry = aux.a_un.a_val;
	if (fd >= 0)
		close(fd);
	return entry;
}

static int run_to(struct stepper *s, uint64_t address)
{
	struct user_regs_struct u;
	long word = ptrace(PTRACE_PEEKTEXT, s->pid, (void *)(uintptr_t)address, NULL);
	int status;

	ptrace(PTRACE_POKETEXT, s->pid, (void *)(uintptr_t)address,
	       (void *)((word & ~0xffl) | 0xcc));
	ptrace(PTRACE_CONT, s->pid, NULL, NULL);
	if (waitpid(s->pid, &status, __WALL) != s->pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, s->pid, NULL, &u) != 0 || u.rip != address + 1)
		return -1;
	ptrace(PTRACE_POKETEXT, s->pid, (void *)(uintptr_t)address, (void *)word);
	u.rip = address;
	return (int)ptrace(PTRACE_SETREGS, s->pid, NULL, &u);
}

static int start(struct stepper *s, char **argv, int at_entry)
{
	int status;

	stay_on_this_core();
	s->pid = fork();
	if (s->pid == 0)
		run_child(argv);
	if (s->pid < 0 || waitpid(s->pid, &status, __WALL) != s->pid || !WIFSTOPPED(status))
		return -1;
	if (ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)TRACE_OPTIONS) != 0)
		return -1;
	if (at_entry && run_to(s, entry_point(s)) != 0)
		return -1;
	return 0;
}

struct stepper *stepper_start(char **argv, int at_entry)
{
	struct stepper *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->codes = calloc(CODES, sizeof(*s->codes));
	s->stack[0] = malloc(STACK_BYTES);
	s->stack[1] = malloc(STACK_BYTES);
	if (start(s, argv, at_entry) != 0) {
		int err = errno;

		stepper_free(s);
		errno = err;
		return NULL;
	}
	read_maps(s);
	step(find_thread(s, s->pid), 0);
	s->threads[0]->is_new = 0;
	return s;
}

int stepper_status(const struct stepper *s)
{
	return s->status;
}

const char *stepper_maps(struct stepper *s)
{
	return s->maps;
}

pid_t stepper_pid(const struct stepper *s)
{
	return s->pid;
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "";
	char *after;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t got = read(fd, text, sizeof(text) - 1);

		text[got > 0 ? got : 0] = '\0';
		close(fd);
	}
	after = strrchr(text, ')');
	return after && after[1] ? after[2] : '?';
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int stepper_lend(struct stepper *s, struct stepper_stop *stop)
{
	stop->tid = 0;
	if (ptrace(PTRACE_DETACH, s->pid, NULL, (void *)SIGSTOP) != 0)
		return -1;
	for (int i = 0; i < 5000; i++) {
		if (state_of(s->pid) == 'T')
			return 0;
		sleep_ms(1);
	}
	return -1;
}

int stepper_take_back(struct stepper *s)
{
	struct thread *t = find_thread(s, s->pid);
	struct user_regs_struct u;
	int status;

	if (ptrace(PTRACE_SEIZE, s->pid, NULL, (void *)TRACE_OPTIONS) != 0 ||
	    waitpid(s->pid, &status, __WALL) != s->pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, s->pid, NULL, &u) != 0 || u.rip != t->pc || u.rsp != t->sp)
		return -1;
	kill(s->pid, SIGCONT);
	return step(t, 0);
}

void stepper_free(struct stepper *s)
{
	if (s->pid > 0 && !s->ended) {
		kill(s->pid, SIGKILL);
		while (waitpid(-1, NULL, __WALL) > 0)
			;
	}
	for (size_t i = 0; i < THREADS_MAX; i++)
		free(s->threads[i]);
	free(s->codes);
	free(s->stack[0]);
	free(s->stack[1]);
	free(s);
}
