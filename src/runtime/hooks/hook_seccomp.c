/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that filters its system calls from now on (seccomp, before which nearly all set
 * no_new_privs) may be killed for a call that its filter does not know. So weft makes no call any
 * more but those that are the program's own and the return from a signal (runtime/core/sys.h holds
 * all others back): armed timers tick on; threads started later have a slot and no timer
 * (threads_no_timer), samples of stacks with unknown bounds have only their pc, children without
 * exec have no session. All present tables are opened before.
 *
 * A filter that lets no handler return (rt_sigreturn), or not read the clock where that is a system
 * call, would kill at the next tick: the engine is stopped before it is set. In strict mode the
 * processor refuses to read its time stamp counter, too. Only the first filter is looked at: the
 * timers could not be deleted under it before a second.
 *
 * Seen are filters set by libc's prctl and syscall, which libseccomp calls. One set by a system
 * call in the program's own code is seen by the collector, from outside, a moment later, and before
 * it sends any signal (WEFT_FEATURE_CAREFUL). Filters handed down by exec: core/filters.c.
 */
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/sample.h"
#include "runtime/stack/module_map.h"

/* Not every libc comes with the kernel's headers. */
struct filter_step {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t k;
};
struct filter_program {
	uint16_t count;
	const struct filter_step *step;
};
struct filter_data {
	int32_t number;
	uint32_t arch;
	uint64_t ip, argument[6];
};
#define DATA_WORDS (sizeof(struct filter_data) / 4)
#define STEPS_MAX 4096
#define CELLS 16
#define STEPS_AT_ONCE 32

#if defined(__x86_64__)
#define OWN_ARCH 0xC000003Eu /* AUDIT_ARCH_X86_64 */
#else
#define OWN_ARCH 0xC00000B7u /* AUDIT_ARCH_AARCH64 */
#endif
#define DIVIDE_BY_X 0x3C
#define MODE_STRICT 1 /* of prctl; one less of seccomp */
#define MODE_FILTER 2
#define ACTION(result) ((result)&0xFFFF0000u)
#define ACTION_ALLOW 0x7FFF0000u
#define ACTION_LOG 0x7FFC0000u

static uint32_t filter_is_set; /* one was seen before: nothing can be asked any more */

/* ---- what the kernel will do with the filter */

struct machine {
	const struct filter_program *program;
	uint32_t words[DATA_WORDS];
	uint32_t a, x, cell[CELLS];
	struct filter_step near[STEPS_AT_ONCE]; /* the program's own may not be readable */
	uint32_t near_from, near_count;
};

/* A bad address is the program's error, which the kernel will tell it of. */
static int seccomp_fetch(void *to, const void *from, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
	long self = sys_call_anyway(SYS_getpid, 0, 0, 0, 0, 0, 0);
	long got = sys_call_anyway(SYS_process_vm_readv, self, SYS_ARG(&local), 1, SYS_ARG(&remote),
				   1, 0);

	if (got == -EPERM || got == -ENOSYS) {
		memcpy(to, from, bytes);
		return 1;
	}
	return got == (long)bytes;
}

static const struct filter_step *step_at(struct machine *m, uint32_t at)
{
	uint32_t left;

	if (at >= m->program->count)
		return NULL;
	if (at < m->near_from || at - m->near_from >= m->near_count) {
		left = m->program->count - at;
		m->near_from = at;
		m->near_count = left < STEPS_AT_ONCE ? left : STEPS_AT_ONCE;
		if (!seccomp_fetch(m->near, m->program->step + at,
				   m->near_count * sizeof(*m->near)))
			return NULL;
	}
	return &m->near[at - m->near_from];
}

static void compute(struct machine *m, uint32_t operation, uint32_t by)
{
	switch (operation) {
	case 0x00:
		m->a += by;
		break;
	case 0x10:
		m->a -= by;
		break;
	case 0x20:
		m->a *= by;
		break;
	case 0x30:
		m->a = by ? m->a / by : 0;
		break;
	case 0x40:
		m->a |= by;
		break;
	case 0x50:
		m->a &= by;
		break;
	case 0x60:
		m->a = by < 32 ? m->a << by : 0;
		break;
	case 0x70:
		m->a = by < 32 ? m->a >> by : 0;
		break;
	case 0x80:
		m->a = -m->a;
		break;
	default: /* 0xa0 */
		m->a ^= by;
		break;
	}
}

static int jumps(const struct machine *m, uint32_t comparison, uint32_t with)
{
	switch (comparison) {
	case 0x10:
		return m->a == with;
	case 0x20:
		return m->a > with;
	case 0x30:
		return m->a >= with;
	default: /* 0x40 */
		return (m->a & with) != 0;
	}
}

/* Loads and stores; 0: an instruction that no filter may have. */
static int move(struct machine *m, const struct filter_step *s)
{
	uint32_t *reg = s->code & 1 ? &m->x : &m->a;

	switch (s->code) {
	case 0x20: /* a word of the data */
		if (s->k % 4 || s->k / 4 >= DATA_WORDS)
			return 0;
		m->a = m->words[s->k / 4];
		return 1;
	case 0x80:
	case 0x81:
		*reg = sizeof(struct filter_data);
		return 1;
	case 0x00:
	case 0x01:
		*reg = s->k;
		return 1;
	case 0x60:
	case 0x61:
		*reg = s->k < CELLS ? m->cell[s->k] : 0;
		return s->k < CELLS;
	case 0x02:
	case 0x03:
		if (s->k < CELLS)
			m->cell[s->k] = *reg;
		return s->k < CELLS;
	case 0x07:
		m->x = m->a;
		return 1;
	case 0x87:
		m->a = m->x;
		return 1;
	default:
		return 0;
	}
}

/* What the filter returns; 0, which kills, for what is no filter. (Jumps lead forward only.) */
static uint32_t run_filter(struct machine *m)
{
	uint32_t at = 0;

	for (int steps = 0; steps < STEPS_MAX; steps++) {
		const struct filter_step *s = step_at(m, at++);
		uint32_t operand;

		if (!s)
			return 0;
		operand = s->code & 8 ? m->x : s->k;
		if (s->code == DIVIDE_BY_X && !m->x)
			return 0;
		if ((s->code & 7) == 6)
			return s->code & 0x10 ? m->a : s->k;
		if (s->code == 0x05)
			at += s->k;
		else if ((s->code & 7) == 5)
			at += jumps(m, s->code & 0xF0, operand) ? s->if_true : s->if_false;
		else if ((s->code & 7) == 4)
			compute(m, s->code & 0xF0, operand);
		else if (!move(m, s))
			return 0;
	}
	return 0;
}

static int lets_pass(const struct filter_program *program, long number)
{
	struct filter_data data = {.number = (int32_t)number, .arch = OWN_ARCH};
	struct machine m = {.program = program};
	uint32_t action;

	memcpy(m.words, &data, sizeof(m.words));
	action = ACTION(run_filter(&m));
	return action == ACTION_ALLOW || action == ACTION_LOG;
}

/* Is the clock read without a system call? The collector has looked which one the kernel has. */
static int clock_is_no_call(void)
{
	const struct weft_session_header *h = weft_rt.header;

	return h && load_relaxed(&h->time_source) == WEFT_TIME_BY_VDSO &&
	       (load_relaxed(&h->features) & WEFT_FEATURE_CLOCKSOURCE_TSC);
}

/* Can a handler of ours run under it, and return? NULL: strict mode. */
static int lets_handlers_run(const void *address)
{
	struct filter_program program;

	if (!address || !seccomp_fetch(&program, address, sizeof(program)))
		return 0;
	return lets_pass(&program, SYS_rt_sigreturn) &&
	       (clock_is_no_call() || lets_pass(&program, SYS_clock_gettime));
}

/* ---- before it is set */

/* Not in a vfork child, whose filter is its own. */
static int is_vfork_child(void)
{
	return weft_rt_has_session() &&
	       sys_call_anyway(SYS_getpid, 0, 0, 0, 0, 0, 0) != weft_rt.pid;
}

/* After no_new_privs alone there is no filter yet: calls can be made. */
static void end_ticks(void)
{
	uint32_t before = load_relaxed(&weft_rt.careful);

	store_release(&weft_rt.careful, 0);
	if (weft_rt_is_unbegun_child()) {
		weft_timer_disarm_process();
		weft_clock_close(weft_slot_private());
	} else if (weft_rt_has_session()) {
		weft_engine_stop();
		store_release(&weft_rt.header->engines_run, 0);
		weft_timer_all_missing();
	}
	store_release(&weft_rt.careful, before);
}

static void seccomp_announced(void)
{
	if (weft_rt_is_careful() || is_vfork_child())
		return;
	if (weft_rt_has_session()) {
		weft_tables_open_all();
		weft_rt_count(WEFT_COUNTER_CAREFUL, 1);
	}
	store_release(&weft_rt.careful, 1);
}

/* Errors that the kernel will find (a filter without rights) are not foreseen. */
static void seccomp_begins(const void *program)
{
	if (load_relaxed(&filter_is_set) || load_relaxed(&weft_rt.state) == WEFT_RT_NONE ||
	    (weft_rt.header && load_relaxed(&weft_rt.header->features) & WEFT_FEATURE_CAREFUL)) {
		store_release(&weft_rt.careful, 1);
		return;
	}
	if (is_vfork_child())
		return;
	if (!lets_handlers_run(program))
		end_ticks();
	seccomp_announced();
	store_relaxed(&filter_is_set, 1);
	/* The filter may be for all threads: what a handler is about to ask has been asked then. */
	if (weft_rt_has_session())
		weft_engine_await_handlers();
}

int weft_seccomp_is_only_announced(void)
{
	const struct weft_session_header *h = weft_rt.header;

	return load_relaxed(&weft_rt.careful) && !load_relaxed(&filter_is_set) &&
	       !(h && load_relaxed(&h->features) & WEFT_FEATURE_CAREFUL);
}

void weft_seccomp_before_prctl(long option, unsigned long a, unsigned long b)
{
	if (option == PR_SET_NO_NEW_PRIVS && a == 1)
		seccomp_announced();
	else if (option == PR_SET_SECCOMP && a == MODE_STRICT)
		seccomp_begins(NULL);
	else if (option == PR_SET_SECCOMP && a == MODE_FILTER && b)
		seccomp_begins((const void *)(uintptr_t)b);
}

/* What the kernel will refuse is a question whether it could be done: libseccomp asks for strict
 * mode with a flag, and for a filter that is nowhere. */
static void before_seccomp(unsigned long operation, unsigned long flags, const void *program)
{
	if (operation == MODE_STRICT - 1 && !flags && !program)
		seccomp_begins(NULL);
	else if (operation == MODE_FILTER - 1 && program)
		seccomp_begins(program);
}

/* ---- syscall(2) */

/* libc's, or an interposer's behind us; NULL: not looked up yet, by a constructor before ours. */
long (*weft_syscall_next)(long number, ...) __attribute__((used, visibility("hidden")));
long weft_syscall_watched(long number, long a, long b, long c, long d, long e, long f)
	__attribute__((used, visibility("hidden")));

void weft_syscall_open(void)
{
	weft_syscall_next = weft_real(syscall);
}

static int begins_another(long number)
{
#ifdef SYS_vfork
	if (number == SYS_vfork)
		return 1;
#endif
	return number == SYS_clone || number == SYS_clone3;
}

long weft_syscall_watched(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_seccomp)
		before_seccomp((unsigned long)a, (unsigned long)b, (const void *)(uintptr_t)c);
	else if (number == SYS_prctl)
		weft_seccomp_before_prctl(a, (unsigned long)b, (unsigned long)c);
	/* An allocator may call us, under its lock, from a constructor before ours: then nothing is
	 * looked up, for which libc might allocate. But who returns elsewhere, or twice, needs
	 * libc. */
	if (!weft_syscall_next && begins_another(number))
		weft_syscall_open();
	if (!weft_syscall_next)
		return sys_result(sys_call_anyway(number, a, b, c, d, e, f));
	return weft_syscall_next(number, a, b, c, d, e, f);
}

/*
 * All others go on to libc with the stack and the registers as they came: one of them may return on
 * another stack, or twice (clone, vfork). The first instruction may be jumped to by an indirect
 * branch, where processors check that.
 */
#if defined(__x86_64__)
_Static_assert(SYS_prctl == 157 && SYS_seccomp == 317, "as below");
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64 */
	"	cmp $157, %rdi\n"
	"	je weft_syscall_watched\n"
	"	cmp $317, %rdi\n"
	"	je weft_syscall_watched\n"
	"	mov weft_syscall_next(%rip), %r11\n"
	"	test %r11, %r11\n"
	"	je weft_syscall_watched\n"
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n");
#else
_Static_assert(SYS_prctl == 167 && SYS_seccomp == 277, "as below");
__asm__(".text\n"
	".p2align 2\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	hint 34\n" /* bti c */
	"	cmp x0, #167\n"
	"	b.eq 1f\n"
	"	cmp x0, #277\n"
	"	b.eq 1f\n"
	"	adrp x16, weft_syscall_next\n"
	"	ldr x16, [x16, :lo12:weft_syscall_next]\n"
	"	cbz x16, 1f\n"
	"	br x16\n"
	"1:	b weft_syscall_watched\n"
	"	.cfi_endproc\n"
	".size syscall, . - syscall\n");
#endif
