/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label-steps plain | labels | scopes STRIDE | writes STRIDE | jumps STRIDE | --caught [labels]
 *
 * What a thread shows outside while it writes labels and contexts, instruction by instruction. A
 * target makes each kind of update between two int3, with all formats on; this process
 * single-steps every instruction in between, and at each reads the target's memory as a profiler
 * does that knows nothing of weft: through custom_labels_current_set and otel_thread_ctx_v1; and
 * the v1 record in the slot, with the id of the coroutine beside it.
 *
 *   plain    the set is the one from before the update or the one from after it, whole, and
 *            never goes back; so is the OpenTelemetry record whenever it says that it is valid,
 *            and the v1 record when its checksum does; the coroutine is the one whose ids they are
 *   labels   the same without OpenTelemetry, which takes a shorter path
 *   scopes   the same, with a signal handler at each STRIDE-th instruction: enters a scope and
 *            leaves it
 *   writes   with one that sets ids of its own: they are there in the end, and span and root are
 *            never of two
 *   jumps    a handler leaves by longjmp at each STRIDE-th instruction: what is seen is whole,
 *            and the writes that follow are seen, too
 *
 * --caught turns the first way round, for a writer that is broken. x86-64.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_thread_context.h>
#include <weft/coro_carry.h>
#include <weft/labels.h>
#include <weft/publish.h>

#include "label_steps_ops.h"

#define VARIABLE "WEFT_LABEL_STEPS"
#define ROUNDS 2      /* each set is once the hidden one */
#define AFTERWARDS 15 /* instructions looked at behind a handler */
#define TOO_LATE 4    /* rounds (each set is hidden in every second) until it is sure */
#define STOPS_MAX 3000000

extern __thread struct weft_custom_labels_set *custom_labels_current_set;
extern __thread struct weft_otel_record *otel_thread_ctx_v1;

enum mode { MODE_PLAIN, MODE_LABELS, MODE_SCOPES, MODE_WRITES, MODE_JUMPS };

/* Where the target's two pointers are, and its slot. */
struct hello {
	uint64_t labels, otel, slot;
};

static void trap(void)
{
	__asm__ volatile("int3" ::: "memory");
}

static sigjmp_buf out;

static void on_scope(int signo)
{
	struct weft_context own = context_of(77, 88);
	struct weft_scope inner;

	(void)signo;
	weft_scope_enter(&inner, &own);
	weft_scope_leave(&inner);
}

static void on_write(int signo)
{
	(void)signo;
	weft_context_set(77, 88);
}

static void on_jump(int signo)
{
	(void)signo;
	siglongjmp(out, 1);
}

static int is_of_labels(enum op op)
{
	if (op >= THREADS_OWN)
		return op == CORO_LABEL || op == CORO_UPDATE;
	if (op >= ATTACH && op <= DETACH)
		return op == ATTACHED_LABEL;
	return op != IDS && op != SPAN_ALONE && op != TRACE && op != SCOPE_ENTER &&
	       op != SCOPE_LEAVE && op != BATCH && op != WRITE && op != CLEAR_CONTEXT;
}

/* What stands before @op: all that came before it in a round. */
static void lead_up_to(enum op op)
{
	CARRY->destroy(&other, 1);
	CARRY->destroy(&coro, 1);
	weft_context_detach(&other_attached);
	weft_context_detach(&attached);
	weft_labels_clear();
	weft_context_clear();
	for (unsigned int before = 0; before < op; before++) {
		arguments_of((enum op)before);
		take((enum op)before);
	}
	arguments_of(op);
}

static int is_in_coroutine(enum op op)
{
	return op == CORO_IDS || op == CORO_LABEL || op == CORO_UPDATE;
}

static int is_left_by_jumps(enum op op)
{
	return (op < SCOPE_ENTER || op > SCOPE_LEAVE) && (op < ATTACH || op > DETACH) &&
	       (op < THREADS_OWN || is_in_coroutine(op));
}

/*
 * Up to the int3 behind an update that nothing interrupted. A jump out of a scope's update
 * leaves the scope entered, as it would for any program: left out. So do a switch, and a prepared
 * context that is attached.
 */
static void jump_out_of(enum op op)
{
	volatile int jumped = 1;

	while (jumped) {
		jumped = 0;
		lead_up_to(op);
		if (sigsetjmp(out, 1)) {
			jumped = 1;
			trap();
		} else {
			trap();
			take(op);
			trap();
		}
		weft_context_set(41, 42);
		trap();
		weft_label_set("tenant", "after");
		trap();
	}
}

static void run_round(enum mode mode)
{
	for (unsigned int op = 0; op < OPS; op++) {
		arguments_of((enum op)op);
		trap();
		take((enum op)op);
		trap();
		if (mode == MODE_WRITES) /* back to what the table says */
			lead_up_to((enum op)(op + 1));
	}
}

static int be_target(const char *words)
{
	struct hello hello = {(uint64_t)(uintptr_t)&custom_labels_current_set,
			      (uint64_t)(uintptr_t)&otel_thread_ctx_v1,
			      (uint64_t)(uintptr_t)weft_thread_own_slot()};
	int end = -1, mode = 0;

	if (sscanf(words, "%d %d", &end, &mode) != 2 ||
	    weft_publish_select(mode == MODE_LABELS ? 3 : 7) != (mode == MODE_LABELS ? 3 : 7))
		return 3;
	signal(SIGUSR1, mode == MODE_JUMPS ? on_jump : mode == MODE_WRITES ? on_write : on_scope);
	lead_up_to(OPS); /* each key has its place in the key map by now */
	if (write(end, &hello, sizeof(hello)) != sizeof(hello))
		return 3;
	lead_up_to(0);
	trap();
	if (mode == MODE_JUMPS) {
		for (unsigned int op = 0; op < OPS; op++)
			if (is_left_by_jumps((enum op)op))
				jump_out_of((enum op)op);
		return 0;
	}
	for (int i = 0; i < ROUNDS || mode > MODE_LABELS; i++) /* until killed */
		run_round((enum mode)mode);
	return 0;
}

/* ---- reading as an outside reader does */

#define TEXT_BYTES 512

struct look {
	char ids[TEXT_BYTES], labels[TEXT_BYTES];
	uint8_t otel[WEFT_OTEL_RECORD_BYTES];
	int otel_is_valid;
	char v1[TEXT_BYTES]; /* its ids; if it is whole */
	int v1_is_whole;
	uint64_t coroutine;
};

static struct {
	pid_t pid;
	enum mode mode;
	struct hello hello;
	uint64_t stops, handlers, wrong;
	uint64_t place; /* at which instruction of an update a handler runs */
	int is_handled;
	int is_enough; /* once something is wrong */
	uint64_t wrong_of[OPS];
	unsigned int
		too_late[OPS]; /* rounds in which the update was done before its handler came */
} tracer;

static int read_target(uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

	return process_vm_readv(tracer.pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

static int append(char *text, const struct weft_custom_labels_string *s, char end)
{
	size_t at = strlen(text);

	if (s->bytes > 256 || at + s->bytes + 2 > TEXT_BYTES ||
	    read_target((uint64_t)(uintptr_t)s->buf, text + at, s->bytes))
		return -1;
	text[at + s->bytes] = end;
	text[at + s->bytes + 1] = '\0';
	return 0;
}

static int look_at_label(uint64_t address, struct look *out_look)
{
	struct weft_custom_labels_label l;
	char key[TEXT_BYTES] = "", *text;

	if (read_target(address, &l, sizeof(l)))
		return -1;
	if (!l.key.buf)
		return 0;
	if (append(key, &l.key, '='))
		return -1;
	text = strcmp(key, "span-id=") && strcmp(key, "root-span-id=") ? out_look->labels
								       : out_look->ids;
	strcat(text, key);
	return append(text, &l.value, ';');
}

static int look_at_set(struct look *l)
{
	struct weft_custom_labels_set set;
	uint64_t address;

	l->ids[0] = l->labels[0] = '\0';
	if (read_target(tracer.hello.labels, &address, 8))
		return -1;
	if (!address)
		return 0;
	if (read_target(address, &set, sizeof(set)) || set.count > 32)
		return -1;
	for (uint64_t i = 0; i < set.count; i++)
		if (look_at_label((uint64_t)(uintptr_t)set.storage + 32 * i, l))
			return -1;
	return 0;
}

static int look_at_otel(struct look *l)
{
	struct weft_otel_record *r = (struct weft_otel_record *)(void *)l->otel;
	uint64_t address;

	memset(l->otel, 0, sizeof(l->otel));
	l->otel_is_valid = tracer.mode == MODE_LABELS;
	if (l->otel_is_valid)
		return 0;
	if (read_target(tracer.hello.otel, &address, 8) || !address)
		return -1;
	if (read_target(address, l->otel, WEFT_OTEL_ATTRIBUTES_AT))
		return -1;
	l->otel_is_valid = r->valid == 1;
	if (!l->otel_is_valid)
		return 0;
	return r->attributes_bytes <= WEFT_OTEL_ATTRIBUTES_BYTES
		       ? read_target(address + WEFT_OTEL_ATTRIBUTES_AT, r->attributes,
				     r->attributes_bytes)
		       : -1;
}

/* As the founding document reads it: by the checksum alone. */
static int look_at_v1(struct look *l)
{
	struct weft_context_v1 v1;

	if (read_target(tracer.hello.slot, &v1, sizeof(v1)) ||
	    read_target(tracer.hello.slot + offsetof(struct weft_slot, events.coroutine),
			&l->coroutine, sizeof(l->coroutine)))
		return -1;
	l->v1[0] = '\0';
	l->v1_is_whole =
		!v1.checksum ? !(v1.span_id | v1.root_span_id)
			     : v1.checksum == weft_context_v1_checksum(v1.span_id, v1.root_span_id);
	if (v1.checksum && (v1.span_id | v1.root_span_id))
		snprintf(l->v1, sizeof(l->v1), "span-id=%lu;root-span-id=%lu;", v1.span_id,
			 v1.root_span_id);
	return 0;
}

static int look(struct look *l)
{
	return look_at_set(l) || look_at_otel(l) || look_at_v1(l) ? -1 : 0;
}

/* ---- stepping */

static int resume(enum __ptrace_request request, int signo)
{
	int status;

	if (ptrace(request, tracer.pid, NULL, (void *)(uintptr_t)signo) ||
	    waitpid(tracer.pid, &status, __WALL) != tracer.pid)
		return -1;
	return status;
}

static int is_stop_by(int status, int signo)
{
	return status >= 0 && WIFSTOPPED(status) && WSTOPSIG(status) == signo && status >> 16 == 0;
}

static int is_at_trap(void)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, tracer.pid, NULL, &info) && info.si_code == SI_KERNEL;
}

static int cont_to_trap(void)
{
	int status = resume(PTRACE_CONT, 0);

	return is_stop_by(status, SIGTRAP) && is_at_trap() ? 0 : -1;
}

static int send_signal(void)
{
	return kill(tracer.pid, SIGUSR1) || !is_stop_by(resume(PTRACE_CONT, 0), SIGUSR1) ? -1 : 0;
}

/* A handler at this very instruction, up to and out of its rt_sigreturn. */
static int run_handler(void)
{
	struct user_regs_struct at, now;

	ptrace(PTRACE_GETREGS, tracer.pid, NULL, &at);
	if (send_signal() || !is_stop_by(resume(PTRACE_SYSCALL, SIGUSR1), SIGTRAP | 0x80))
		return -1;
	ptrace(PTRACE_GETREGS, tracer.pid, NULL, &now);
	if (now.orig_rax != 15 /* rt_sigreturn */ ||
	    !is_stop_by(resume(PTRACE_SYSCALL, 0), SIGTRAP | 0x80))
		return -1;
	ptrace(PTRACE_GETREGS, tracer.pid, NULL, &now);
	tracer.handlers++;
	return now.rip == at.rip && now.rsp == at.rsp ? 0 : -1;
}

static void say_wrong(enum op op, const struct look *l, const char *what)
{
	if (tracer.wrong++ < 10)
		printf("# %s: %s: %s%s (v1: %s)\n", after[op].name, what, l->ids, l->labels, l->v1);
	tracer.wrong_of[op]++;
}

static const char *ids_before(enum op op)
{
	return op == 0 ? "" : after[op - 1].ids;
}

static const char *labels_before(enum op op)
{
	return op == 0 ? "" : after[op - 1].labels;
}

/* 0: before, 1: after, -1: neither. Updates that change one of both only are either. */
static int side_of(enum op op, const struct look *l, int phase)
{
	int old_labels = !strcmp(l->labels, labels_before(op));
	int new_labels = !strcmp(l->labels, after[op].labels);
	int old_ids = !strcmp(l->ids, ids_before(op)), new_ids = !strcmp(l->ids, after[op].ids);
	int handlers = tracer.mode > MODE_LABELS && !strcmp(l->ids, HANDLERS_IDS);

	if (phase == 0 && old_labels && (old_ids || handlers))
		return 0;
	if (new_labels && (new_ids || handlers))
		return 1;
	return -1;
}

/* Coroutines 1 and 2 have ids of their own; the first has none at first. */
static int is_of_its_coroutine(const struct look *l)
{
	return !l->coroutine || !strcmp(l->v1, after[CORO_OTHER].ids) == (l->coroutine == 2);
}

static void judge_v1(enum op op, const struct look *l, int *v1_phase)
{
	int is_new = !strcmp(l->v1, after[op].ids);

	if (!l->v1_is_whole)
		return;
	if (!is_new && (*v1_phase || strcmp(l->v1, ids_before(op))))
		say_wrong(op, l, "v1 is neither the old one nor the new one");
	if (is_new && strcmp(l->v1, ids_before(op)))
		*v1_phase = 1;
	if (!is_of_its_coroutine(l))
		say_wrong(op, l, "ids of another coroutine");
}

/* At each instruction of one update. */
static void judge(enum op op, const struct look *l, int *phase, uint8_t *valid_otel,
		  int *otel_changes)
{
	int side = side_of(op, l, *phase);

	if (side < 0)
		say_wrong(op, l, "a mix");
	else
		*phase = side;
	if (!l->otel_is_valid || tracer.mode > MODE_LABELS)
		return;
	if (memcmp(valid_otel, l->otel, WEFT_OTEL_RECORD_BYTES) && ++*otel_changes > 1)
		say_wrong(op, l, "a mixed OpenTelemetry record");
	memcpy(valid_otel, l->otel, WEFT_OTEL_RECORD_BYTES);
}

static int is_done(enum op op, const struct look *l)
{
	int has_own = tracer.mode == MODE_WRITES && tracer.is_handled && is_of_labels(op);

	return l->otel_is_valid && l->v1_is_whole && !strcmp(l->v1, l->ids) &&
	       !strcmp(l->labels, after[op].labels) &&
	       (tracer.mode == MODE_WRITES && !has_own
			? 1
			: !strcmp(l->ids, has_own ? HANDLERS_IDS : after[op].ids));
}

/* What there is to be seen before a handler runs is looked at without one. */
static int is_looked_at(uint64_t at)
{
	return tracer.mode <= MODE_LABELS || at + 1 >= tracer.place;
}

static void look_and_judge(enum op op, int *phase, int *v1_phase, uint8_t *valid_otel,
			   int *otel_changes)
{
	struct look l = {0};

	if (look(&l)) {
		say_wrong(op, &l, "unreadable");
		return;
	}
	judge(op, &l, phase, valid_otel, otel_changes);
	if (tracer.mode <= MODE_LABELS)
		judge_v1(op, &l, v1_phase);
}

/* From one int3 to the next. */
static int step_through(enum op op)
{
	struct look l = {0}, first;
	uint8_t valid_otel[WEFT_OTEL_RECORD_BYTES];
	int phase = 0, v1_phase = 0, otel_changes = 0, status;
	int has_handler = tracer.mode > MODE_LABELS && tracer.too_late[op] < TOO_LATE;
	uint64_t at = 0, end = tracer.mode > MODE_LABELS ? tracer.place + AFTERWARDS : UINT64_MAX;

	if (look(&first) || !first.otel_is_valid)
		return -1;
	memcpy(valid_otel, first.otel, sizeof(valid_otel));
	tracer.is_handled = 0;
	if (tracer.mode > MODE_LABELS && !has_handler)
		end = 0;
	do {
		if (has_handler && at == tracer.place && run_handler())
			return -1;
		tracer.is_handled |= has_handler && at == tracer.place;
		if (is_looked_at(at))
			look_and_judge(op, &phase, &v1_phase, valid_otel, &otel_changes);
		if (++tracer.stops > STOPS_MAX)
			return -1;
		status = resume(at++ < end ? PTRACE_SINGLESTEP : PTRACE_CONT, 0);
		if (!is_stop_by(status, SIGTRAP))
			return -1;
	} while (!is_at_trap());
	tracer.too_late[op] = tracer.is_handled ? 0 : tracer.too_late[op] + 1;
	if (look(&l) || !is_done(op, &l))
		say_wrong(op, &l, "not done in the end");
	return 0;
}

static int trace_round(void)
{
	for (unsigned int op = 0; op < OPS && !(tracer.is_enough && tracer.wrong); op++)
		if (cont_to_trap() || step_through((enum op)op)) {
			printf("# lost the target at: %s\n", after[op].name);
			return -1;
		}
	return 0;
}

static int trace_rounds(void)
{
	for (int i = 0; i < ROUNDS; i++)
		if (trace_round())
			return -1;
	return resume(PTRACE_CONT, 0);
}

/* A handler ever later in each update, until it comes too late in all of them. */
static int trace_handlers(uint64_t stride)
{
	uint64_t had;

	do {
		had = tracer.handlers;
		if (trace_round())
			return -1;
		tracer.place += stride;
	} while (tracer.handlers > had);
	kill(tracer.pid, SIGKILL);
	return waitpid(tracer.pid, NULL, __WALL) == tracer.pid ? 0 : -1;
}

/* @count instructions of the update, then out of it: 1; 0: it was done before. */
static int step_and_jump(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (!is_stop_by(resume(PTRACE_SINGLESTEP, 0), SIGTRAP))
			return -1;
		tracer.stops++;
		if (is_at_trap())
			return 0;
	}
	if (send_signal() || !is_stop_by(resume(PTRACE_CONT, SIGUSR1), SIGTRAP) || !is_at_trap())
		return -1;
	tracer.handlers++;
	return 1;
}

/* After the ids 41, 42: is it known which labels, and are both in agreement? */
static void judge_after_jump(enum op op)
{
	struct look l = {0};
	int phase = 0;

	if (look(&l) || side_of(op, &l, phase) < 0)
		say_wrong(op, &l, "a mix after a jump");
	if (cont_to_trap() || look(&l) || strcmp(l.ids, "span-id=41;root-span-id=42;") ||
	    (strcmp(l.labels, labels_before(op)) && strcmp(l.labels, after[op].labels)) ||
	    !l.otel_is_valid)
		say_wrong(op, &l, "ids after a jump are not seen");
	if (cont_to_trap() || look(&l) || strcmp(l.ids, "span-id=41;root-span-id=42;") ||
	    !strstr(l.labels, "tenant=after;") || !l.otel_is_valid)
		say_wrong(op, &l, "a label after a jump is not seen");
}

static int trace_jumps(uint64_t stride)
{
	for (unsigned int op = 0; op < OPS; op++) {
		int jumped = 1;

		if (!is_left_by_jumps((enum op)op))
			continue;
		for (uint64_t count = op % stride; jumped == 1; count += stride) {
			if (cont_to_trap())
				return -1;
			jumped = step_and_jump(count);
			if (jumped < 0) {
				printf("# lost the target at: %s\n", after[op].name);
				return -1;
			}
			judge_after_jump((enum op)op);
		}
	}
	return resume(PTRACE_CONT, 0);
}

static _Noreturn void become_target(char **argv, int end)
{
	char words[64];

	snprintf(words, sizeof(words), "%d %d", end, tracer.mode);
	setenv(VARIABLE, words, 1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* Stopped at its first int3, where it has said where its pointers are. */
static int start(char **argv)
{
	int ends[2], status;

	if (pipe(ends))
		return -1;
	tracer.pid = fork();
	if (tracer.pid == 0)
		become_target(argv, ends[1]);
	close(ends[1]);
	if (tracer.pid < 0 || waitpid(tracer.pid, &status, __WALL) != tracer.pid ||
	    !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_SETOPTIONS, tracer.pid, NULL,
	       (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	status = cont_to_trap();
	if (status || read(ends[0], &tracer.hello, sizeof(tracer.hello)) != sizeof(tracer.hello))
		status = -1;
	close(ends[0]);
	return status;
}

static int number_of_case;

static int check(int is_true, const char *mode, const char *text)
{
	printf("%sok %d - %s: %s\n", is_true ? "" : "not ", ++number_of_case, mode, text);
	return is_true;
}

static const char *const mode_names[] = {"plain", "labels", "scopes", "writes", "jumps"};

static int run(char **argv, enum mode mode, uint64_t stride)
{
	const char *name = mode_names[mode];
	int status, good;

	memset(&tracer, 0, sizeof(tracer));
	tracer.mode = mode;
	status = start(argv);
	if (!status)
		status = mode == MODE_JUMPS   ? trace_jumps(stride)
			 : mode > MODE_LABELS ? trace_handlers(stride)
					      : trace_rounds();
	printf("# %s: %lu instructions, %lu handlers, %lu wrong\n", name, tracer.stops,
	       tracer.handlers, tracer.wrong);
	good = check(status == 0, name, "the target was stepped through and ended well");
	good &= check(tracer.stops > 2000 && (mode <= MODE_LABELS || tracer.handlers > 50), name,
		      "there were instructions enough");
	return good & check(tracer.wrong == 0, name, "what is seen is whole at each of them");
}

/* A broken writer: found out by the plain way of looking. (Then the target ends with us.) */
static int is_caught(char **argv, enum mode mode)
{
	memset(&tracer, 0, sizeof(tracer));
	tracer.mode = mode;
	tracer.is_enough = 1;
	if (start(argv) == 0)
		for (int i = 0; i < ROUNDS && !tracer.wrong; i++)
			if (trace_round())
				break;
	printf("# %lu wrong of %lu\n", tracer.wrong, tracer.stops);
	return check(tracer.wrong > 0 && tracer.stops > 100, "broken", "found out");
}

int main(int argc, char **argv)
{
	const char *words = getenv(VARIABLE);
	uint64_t stride = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	int good = 0;

	if (words)
		return be_target(words);
	for (int mode = MODE_PLAIN; argc > 1 && mode <= MODE_JUMPS; mode++)
		if (!strcmp(argv[1], mode_names[mode]))
			good = run(argv, (enum mode)mode, stride);
	if (argc > 1 && !strcmp(argv[1], "--caught"))
		good = is_caught(argv, argc > 2 ? MODE_LABELS : MODE_PLAIN);
	printf("1..%d\n", number_of_case);
	return good ? 0 : 1;
}
