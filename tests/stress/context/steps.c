/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context-steps [--caught]
 *
 * The handler's side of a context write, instruction by instruction. A target makes each kind
 * of update of numbers.h between two int3; this process traces it, single-steps every
 * instruction in between, and at each of them
 *
 *   - reads the slot as the handler does (weft_context_snapshot) and as another core does,
 *   - queues a SIGPROF with the session's cookie, lets libweft.so's own handler run there to
 *     its end, and takes the sample that it wrote.
 *
 * All three must say what was there before the update, what is there after it, or that it is
 * being written; once it is being written never again what was before, and once it is after
 * nothing else. Each way of looking must find the same.
 *
 * --caught turns it round, for a writer without its marks: exit 0 if every kind of update that
 * has any was found out. x86-64.
 */
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers.h"
#include "target_session.h"

#define VARIABLE "WEFT_STEPS_TARGET"
#define ROUNDS 3
#define STOPS_MAX 100000

/* ---- the target */

static void trap(void)
{
	__asm__ volatile("int3" ::: "memory");
}

static int be_target(const char *pipe_end)
{
	char begun;

	weft_context_clear(); /* has its slot now */
	if (read(atoi(pipe_end), &begun, 1) != 1)
		return 3;
	for (uint64_t base = ROUND; base <= ROUNDS * ROUND; base += ROUND) {
		struct weft_scope scope;

		for (unsigned int step = 0; step < STEPS; step++) {
			struct weft_context c = whole_context(base + step);
			uint32_t tag = tag_of(base + step, LAST_TAG);

			if (!is_taken(base, (enum step)step))
				continue;
			trap();
			take_step((enum step)step, &c, tag, &scope);
			trap();
		}
	}
	return 0;
}

/* ---- the tracer */

struct tracer {
	struct target_session session;
	struct weft_slot *slot;
	uint32_t slot_index;
	struct state sample; /* what the last injected handler wrote */
	uint64_t samples;
	uint64_t stops, before, busy, after, wrong, differing;
	uint64_t wrong_of[STEPS];
};

static struct tracer tracer;

static int resume_and_wait(enum __ptrace_request request, int signo)
{
	int status;

	if (ptrace(request, tracer.session.pid, NULL, (void *)(uintptr_t)signo) ||
	    waitpid(tracer.session.pid, &status, __WALL) != tracer.session.pid)
		return -1;
	return status;
}

static int is_stop_by(int status, int signo)
{
	return status >= 0 && WIFSTOPPED(status) && WSTOPSIG(status) == signo && status >> 16 == 0;
}

static struct user_regs_struct registers(void)
{
	struct user_regs_struct regs;
	struct iovec part = {&regs, sizeof(regs)};

	memset(&regs, 0, sizeof(regs));
	ptrace(PTRACE_GETREGSET, tracer.session.pid, (void *)(uintptr_t)NT_PRSTATUS, &part);
	return regs;
}

/* An int3, and no single step: they differ in the code alone. */
static int is_at_trap(void)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, tracer.session.pid, NULL, &info) &&
	       info.si_code == SI_KERNEL;
}

static int queue_signal(void)
{
	const struct weft_slot *slot = tracer.slot;
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGPROF;
	info.si_code = SI_QUEUE;
	info.si_pid = tracer.session.pid; /* as if from the process itself */
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)WEFT_SIGVAL(tracer.session.shared->cookie,
						      slot->thread.generation, tracer.slot_index);
	return (int)syscall(SYS_rt_tgsigqueueinfo, tracer.session.pid, slot->thread.tid, SIGPROF,
			    &info);
}

static void take_sample(void *arg, uint32_t slot, const struct weft_sample_record *r)
{
	(void)arg;
	(void)slot;
	tracer.sample.found = (enum weft_sample_context)r->context;
	memcpy(&tracer.sample.fields, &r->span_id, sizeof(tracer.sample.fields));
	tracer.samples++;
}

/* Up to and out of the handler's rt_sigreturn: back at the very same instruction. */
static int run_handler(void)
{
	struct user_regs_struct at = registers(), now;
	uint64_t had = tracer.samples;

	if (queue_signal() || !is_stop_by(resume_and_wait(PTRACE_SYSCALL, 0), SIGPROF))
		return -1;
	if (!is_stop_by(resume_and_wait(PTRACE_SYSCALL, SIGPROF), SIGTRAP | 0x80))
		return -1;
	for (int calls = 0; registers().orig_rax != SYS_rt_sigreturn; calls++)
		if (calls == 8 || !is_stop_by(resume_and_wait(PTRACE_SYSCALL, 0), SIGTRAP | 0x80))
			return -1;
	if (!is_stop_by(resume_and_wait(PTRACE_SYSCALL, 0), SIGTRAP | 0x80))
		return -1;
	now = registers();
	if (now.rip != at.rip || now.rsp != at.rsp ||
	    target_session_drain(&tracer.session, take_sample, NULL))
		return -1;
	return tracer.samples == had + 1 ? 0 : -1;
}

/* 0 before, 1 being written, 2 after, 3 wrong: a mix, a bad checksum, or going back. */
static int phase_of(const struct state *s, const struct state *before, const struct state *after)
{
	if (is_state(before, s->found, &s->fields))
		return 0;
	if (s->found == WEFT_CONTEXT_BUSY && is_zero(&s->fields))
		return 1;
	return is_state(after, s->found, &s->fields) ? 2 : 3;
}

/*
 * All three ways at this instruction. They agree, but for this: a plain write of the ids is
 * seen from outside as a checksum that is 0 beside ids, as by the handler.
 */
static int look(enum step step, const struct state *before, const struct state *after, int phase)
{
	struct state here, outside;
	int now;

	here.found = weft_context_snapshot(tracer.slot, &here.fields);
	outside.found = weft_context_snapshot_remote(tracer.slot, &outside.fields);
	if (run_handler())
		return -1;
	tracer.stops++;
	tracer.differing += !is_state(&here, tracer.sample.found, &tracer.sample.fields) ||
			    !is_state(&here, outside.found, &outside.fields);
	now = phase_of(&tracer.sample, before, after);
	tracer.before += now == 0;
	tracer.busy += now == 1;
	tracer.after += now == 2;
	if (now == 3 || now < phase) {
		tracer.wrong++;
		tracer.wrong_of[step]++;
		return phase;
	}
	return now;
}

static int cont_to_trap(void)
{
	int status = resume_and_wait(PTRACE_CONT, 0);

	return is_stop_by(status, SIGTRAP) && is_at_trap() ? 0 : -1;
}

/* From one int3 to the next. The last look must find the update done. */
static int step_through(enum step step, const struct state *before, const struct state *after)
{
	int phase = 0, status;

	do {
		phase = look(step, before, after, phase);
		if (phase < 0 || tracer.stops > STOPS_MAX)
			return -1;
		status = resume_and_wait(PTRACE_SINGLESTEP, 0);
		if (!is_stop_by(status, SIGTRAP))
			return -1;
	} while (!is_at_trap());
	return phase == 2 ? 0 : -1;
}

static int trace_all(void)
{
	struct state before = {.found = WEFT_CONTEXT_NONE};

	for (uint64_t base = ROUND; base <= ROUNDS * ROUND; base += ROUND)
		for (unsigned int step = 0; step < STEPS; step++) {
			struct state after = state_after(base, (enum step)step);

			if (!is_taken(base, (enum step)step))
				continue;
			if (cont_to_trap() || step_through((enum step)step, &before, &after)) {
				printf("# round %lu, %s: lost the target\n", base / ROUND,
				       step_names[step]);
				return -1;
			}
			before = after;
		}
	return resume_and_wait(PTRACE_CONT, 0);
}

static int find_slot(void)
{
	for (uint32_t i = 0; i < TARGET_SLOTS; i++) {
		tracer.slot = target_session_slot(&tracer.session, i);
		tracer.slot_index = i;
		if (target_session_is_live(&tracer.session, i) &&
		    tracer.slot->thread.tid == tracer.session.pid)
			return 0;
	}
	return -1;
}

/* Stopped, wherever it is. */
static int seize(void)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tracer.session.pid, NULL,
		   (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) ||
	    ptrace(PTRACE_INTERRUPT, tracer.session.pid, NULL, NULL) ||
	    waitpid(tracer.session.pid, &status, __WALL) != tracer.session.pid)
		return -1;
	return WIFSTOPPED(status) ? 0 : -1;
}

/* The exit status of the target, or -1. */
static int trace(char **argv)
{
	char end[16];
	int pipe_ends[2], failed = pipe(pipe_ends);

	snprintf(end, sizeof(end), "%d", pipe_ends[0]);
	failed = failed || target_session_start(&tracer.session, argv, VARIABLE, end);
	while (!failed && find_slot()) /* its constructor is about to claim it */
		usleep(1000);
	failed = failed || seize() || write(pipe_ends[1], "", 1) != 1;
	return failed ? -1 : trace_all();
}

static int number_of_case;

static int check(int is_true, const char *text)
{
	printf("%sok %d - %s\n", is_true ? "" : "not ", ++number_of_case, text);
	return is_true;
}

/* The marks of these are in the lines that the broken copies lack; a tag has and needs none. */
static int all_are_caught(void)
{
	int all = 1;

	for (unsigned int step = 0; step < STEPS; step++)
		if (step != STEP_TAG)
			all &= check(tracer.wrong_of[step] > 0, step_names[step]);
	return all;
}

int main(int argc, char **argv)
{
	const char *pipe_end = getenv(VARIABLE);
	int status, failed, good;

	if (pipe_end)
		return be_target(pipe_end);
	failed = target_session_open(&tracer.session);
	status = failed ? -1 : trace(argv);
	good = check(status == 0, "the target was stepped through and ended well");
	printf("# %lu instructions: %lu before, %lu being written, %lu after, %lu wrong\n",
	       tracer.stops, tracer.before, tracer.busy, tracer.after, tracer.wrong);
	for (unsigned int step = 0; step < STEPS; step++)
		if (tracer.wrong_of[step])
			printf("#   %s: %lu wrong\n", step_names[step], tracer.wrong_of[step]);
	good &= check(tracer.samples == tracer.stops && tracer.stops > 500,
		      "the handler ran at each instruction");
	if (argc > 1 && !strcmp(argv[1], "--caught")) {
		good &= all_are_caught();
	} else {
		good &= check(tracer.busy > 100 && tracer.before && tracer.after,
			      "it met writes before, in the middle and after");
		good &= check(tracer.wrong == 0, "every sample is of before, of after, or busy");
		good &= check(tracer.differing == 0,
			      "reading the slot, from outside too, says the same");
	}
	printf("1..%d\n", number_of_case);
	target_session_close(&tracer.session);
	return good ? 0 : 1;
}
