/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and stop of sampling, and the priming signal, in this very process: the whole runtime
 * is linked in, and the session is a collector's made by hand. What the kernel has for a signal
 * is asked of the kernel; what the program is shown, of sigaction().
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/platform.h"
#include "engine_session.h"
#include "runtime/core/real.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/sample/sample.h"

/* ---- the program's own signals */

static volatile sig_atomic_t own_signals;
static volatile int own_code;

static void own(int signo, siginfo_t *info, void *ucontext)
{
	(void)signo, (void)ucontext;
	own_code = info->si_code;
	own_signals++;
}

static void set_own(int signo)
{
	struct sigaction action = {.sa_sigaction = own, .sa_flags = SA_SIGINFO | SA_RESTART};

	assert_int_equal(sigaction(signo, &action, NULL), 0);
}

static void set_default(int signo)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	assert_int_equal(sigaction(signo, &action, NULL), 0);
}

#ifndef PLATFORM_POSIX

/* ---- the priming signal */

static struct weft_slot *slot_of(int32_t tid)
{
	for (uint32_t i = 0; i < shared->slots_high; i++)
		if (WEFT_STATE_OF(__atomic_load_n(&weft_rt.states[i], __ATOMIC_ACQUIRE)) ==
			    WEFT_SLOT_LIVE &&
		    weft_rt_slot(i)->thread.tid == tid)
			return weft_rt_slot(i);
	return NULL;
}

static uint64_t everything_but(const int *signals, int count)
{
	uint64_t mask = ~UINT64_C(0);

	for (int i = 0; i < count; i++)
		mask &= ~(UINT64_C(1) << (signals[i] - 1));
	return mask;
}

static void installed_with_the_flags_of_the_profiling_handler(void **state)
{
	static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	/* those that nobody can block, and libc's own */
	const uint64_t no_matter =
		UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) | UINT64_C(7) << 31;
	const unsigned long flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO;
	struct kernel_action a;

	(void)state;
	assert_int_equal(weft_prime_install(SIGURG), SIGURG);
	assert_int_equal(weft_prime_signal(), SIGURG);
	assert_int_equal(shared->prime_signal_used, SIGURG);
	a = kernel_action(SIGURG);
	assert_int_not_equal(a.handler, DEFAULT);
	assert_int_equal(a.flags & ~0x04000000ul, flags); /* SA_RESTORER */
	assert_true((a.mask | no_matter) == (everything_but(open, 5) | no_matter));
	assert_int_equal(shown_handler(SIGURG), DEFAULT);
	weft_prime_uninstall();
	assert_int_equal(kernel_handler(SIGURG), DEFAULT);
	assert_int_equal(shared->prime_signal_used, 0);
	assert_int_equal(weft_prime_signal(), 0);
}

static void numbers_out_of_range_are_refused(void **state)
{
	static const int refused[] = {0, -1, SIGUSR1, SIGPROF, 32, 33, 34, 65, 1000};

	(void)state;
	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_true(weft_prime_install(refused[i]) < 0);
		assert_int_equal(weft_prime_signal(), 0);
		assert_int_equal(shared->prime_signal_used, 0);
	}
	assert_int_equal(kernel_handler(SIGUSR1), DEFAULT);
}

static void a_taken_realtime_signal_gives_way_to_the_next(void **state)
{
	int first, last;

	(void)state;
	assert_int_equal(platform_realtime_signals(&first, &last), 0);
	set_own(40);
	assert_int_equal(weft_prime_install(40), 41);
	assert_int_equal(shared->prime_signal_used, 41);
	weft_prime_uninstall();
	assert_int_equal(kernel_handler(41), DEFAULT);
	set_own(last);
	assert_int_equal(weft_prime_install(last), first); /* round */
	weft_prime_uninstall();
	for (int i = first; i <= last; i++)
		set_own(i);
	assert_int_equal(weft_prime_install(40), -EBUSY);
	assert_int_equal(shared->prime_signal_used, 0);
	for (int i = first; i <= last; i++)
		set_default(i);
}

/* Somebody who is about to send a signal, and looks at the last moment whether it is in use. */
static void *send_late(void *seen)
{
	const struct timespec nap = {.tv_nsec = 3000000};

	nanosleep(&nap, NULL);
	*(uint32_t *)seen = __atomic_load_n(&shared->prime_signal_used, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&shared->prime_sending, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Who lets go waits 20 ms: where the sender was later than that, all of it once more. */
static uint32_t seen_by_a_sender(void (*let_go)(void), void (*take_back)(void))
{
	for (int i = 0; i < 100; i++) {
		uint32_t seen = UINT32_MAX;
		pthread_t sender;
		int waited;

		__atomic_store_n(&shared->prime_sending, 1, __ATOMIC_SEQ_CST);
		assert_int_equal(BEGIN_THREAD(&sender, NULL, send_late, &seen), 0);
		let_go();
		waited = __atomic_load_n(&shared->prime_sending, __ATOMIC_SEQ_CST) == 0;
		pthread_join(sender, NULL);
		if (waited)
			return seen;
		take_back();
	}
	fail_msg("nobody waited for the sender");
	return UINT32_MAX;
}

static void before_exec(void)
{
	assert_int_equal(weft_prime_before_exec(), 45);
}

static void after_exec(void)
{
	weft_prime_after_exec(45); /* it failed */
}

static void install(void)
{
	assert_int_equal(weft_prime_install(45), 45);
}

static void a_realtime_signal_goes_when_nobody_sends_it_any_more(void **state)
{
	(void)state;
	install();
	assert_int_equal(seen_by_a_sender(before_exec, after_exec), 0);
	assert_int_equal(weft_prime_send(sys_gettid(), WEFT_ORDER_PRIME), -ENOSYS);
	after_exec();
	assert_int_equal(shared->prime_signal_used, 45);
	assert_int_equal(seen_by_a_sender(weft_prime_uninstall, install), 0);
	assert_int_equal(shared->prime_signal_used, 0);
	assert_int_equal(weft_prime_install(SIGURG), SIGURG); /* harmless: no need to */
	assert_int_equal(weft_prime_before_exec(), 0);
	assert_int_equal(shared->prime_signal_used, SIGURG);
	weft_prime_uninstall();
}

/* Killed in the middle of it: that is no reason to wait for ever. */
static void a_sender_that_is_gone_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(weft_prime_install(45), 45);
	__atomic_store_n(&shared->prime_sending, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(weft_prime_before_exec(), 45);
	weft_prime_uninstall();
	assert_int_equal(kernel_handler(45), DEFAULT);
	__atomic_store_n(&shared->prime_sending, 0, __ATOMIC_SEQ_CST);
}

/* Installed before ours or after: shown, called, and there when ours goes. */
static void the_programs_own_handler_lives_on(void **state)
{
	uint64_t foreign = shared->counters[WEFT_COUNTER_FOREIGN_SIGNALS];

	(void)state;
	own_signals = 0;
	set_own(SIGURG);
	assert_int_equal(weft_prime_install(SIGURG), SIGURG);
	assert_int_equal(shown_handler(SIGURG), (uintptr_t)own);
	assert_int_not_equal(kernel_handler(SIGURG), (uintptr_t)own);
	raise(SIGURG);
	assert_int_equal(own_signals, 1);
	assert_int_equal(own_code, SI_TKILL);
	set_default(SIGURG);
	set_own(SIGURG);
	assert_int_not_equal(kernel_handler(SIGURG), (uintptr_t)own);
	raise(SIGURG);
	assert_int_equal(own_signals, 2);
	/* queued, with another cookie */
	assert_int_equal(platform_thread_signal(0, sys_gettid(), SIGURG,
						WEFT_SIGVAL(COOKIE + 1, 0, WEFT_ORDER_PRIME)),
			 0);
	assert_int_equal(own_signals, 3);
	assert_int_equal(own_code, SI_QUEUE);
	assert_int_equal(shared->counters[WEFT_COUNTER_FOREIGN_SIGNALS], foreign + 3);
	weft_prime_uninstall();
	assert_int_equal(kernel_handler(SIGURG), (uintptr_t)own);
	set_default(SIGURG);
	assert_int_equal(kernel_handler(SIGURG), DEFAULT);
}

/* errno is the interrupted program's. */
static void prime_by(int signo)
{
	struct worker w;
	struct weft_slot *slot;

	assert_int_equal(weft_prime_install(signo), signo);
	launch_worker(&w);
	wait_for_worker(&w);
	assert_null(slot_of(w.tid));
	assert_int_equal(
		platform_thread_signal(0, w.tid, signo, WEFT_SIGVAL(COOKIE, 0, WEFT_ORDER_PRIME)),
		0);
	while (!(slot = slot_of(w.tid)))
		usleep(1000);
	assert_int_equal(slot->thread.primed_by, WEFT_COUNTER_PRIMED_SIGNAL);
	assert_int_equal(slot->counters[WEFT_COUNTER_PRIMED_SIGNAL], 1);
	while (__atomic_load_n(&slot->thread.handling, __ATOMIC_ACQUIRE) || shared->handling)
		usleep(1000);
	assert_int_equal(slot->thread.timer_id, -1); /* no engine runs */
	end_worker(&w);
	weft_prime_uninstall();
}

static void an_order_primes_a_thread(void **state)
{
	(void)state;
	prime_by(SIGURG);
	prime_by(45);
	assert_int_equal(own_signals, 3);
}

/* ---- threads that cannot be signalled */

/* Like a worker, and deaf for the priming signal. */
static void *work_deaf(void *arg)
{
	sys_signals_block(UINT64_C(1) << (SIGURG - 1));
	return work(arg);
}

static void an_order_adopts_who_cannot_be_signalled(void **state)
{
	uint64_t order = WEFT_SIGVAL(COOKIE, 0, WEFT_ORDER_ADOPT);
	const struct weft_slot *slot;
	struct worker w = {.tid = 0};
	uint32_t armed;

	(void)state;
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(BEGIN_THREAD(&w.thread, NULL, work_deaf, &w), 0);
	wait_for_worker(&w);
	usleep(20000);
	assert_null(slot_of(w.tid));
	assert_int_equal(platform_thread_signal(0, sys_gettid(), SIGURG, order), 0);
	while (!(slot = slot_of(w.tid)))
		usleep(1000);
	assert_int_equal(slot->thread.primed_by, WEFT_COUNTER_PRIMED_HANDLER);
	/* it has one by now, this thread has, and there is nobody left to be adopted */
	armed = shared->timers_armed;
	assert_true(armed >= 1);
	assert_int_equal(platform_thread_signal(0, sys_gettid(), SIGURG, order), 0);
	assert_int_equal(shared->timers_armed, armed);
	end_worker(&w);
	weft_engine_stop();
	assert_int_equal(timers_in_kernel(), 0);
	/* and no timer for nobody's sake */
	shared->run_state = WEFT_RUN_STOPPED;
	weft_prime_install(SIGURG);
	assert_int_equal(platform_thread_signal(0, sys_gettid(), SIGURG, order), 0);
	assert_int_equal(shared->timers_armed, 0);
	weft_prime_uninstall();
	shared->run_state = WEFT_RUN_RECORDING;
}

/* ---- threads that wait for a CPU when the engine starts */

#define STARTS 1000
#define CROWDED 6

struct poller {
	pthread_t thread;
	int is_done;
	uint64_t cut_short;
};

static void stay_on_one_cpu(void)
{
	cpu_set_t all, one;
	size_t cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *crowd(void *arg)
{
	struct worker *w = arg;

	stay_on_one_cpu();
	while (!__atomic_load_n(&w->is_done, __ATOMIC_RELAXED))
		w->rounds++;
	return NULL;
}

static void *poll_on(void *arg)
{
	struct poller *p = arg;

	stay_on_one_cpu();
	while (!__atomic_load_n(&p->is_done, __ATOMIC_RELAXED))
		p->cut_short += poll(NULL, 0, 3) != 0;
	return NULL;
}

/* It is runnable for longer than it is looked at, and in its call all that time. */
static void who_was_woken_is_not_signalled(void **state)
{
	struct worker w[CROWDED];
	struct poller p = {.cut_short = 0};
	uint64_t period_ns = shared->period_ns;

	(void)state;
	memset(w, 0, sizeof(w));
	shared->period_ns =
		UINT64_C(10000000000); /* no tick of its own cuts a call short, either */
	for (int i = 0; i < CROWDED; i++)
		assert_int_equal(BEGIN_THREAD(&w[i].thread, NULL, crowd, &w[i]), 0);
	assert_int_equal(BEGIN_THREAD(&p.thread, NULL, poll_on, &p), 0);
	for (int i = 0; i < STARTS; i++) {
		usleep((useconds_t)(i % 30 * 100));
		assert_int_equal(weft_engine_start(), 0);
		weft_engine_stop();
	}
	__atomic_store_n(&p.is_done, 1, __ATOMIC_RELAXED);
	pthread_join(p.thread, NULL);
	for (int i = 0; i < CROWDED; i++)
		end_worker(&w[i]);
	assert_int_equal(p.cut_short, 0);
	shared->period_ns = period_ns;
}

/* ---- sleeping calls and a SIGURG that is not ours */

struct sleeper {
	pthread_t thread;
	int32_t tid;
	int input, result, error, is_back;
};

static void *sleep_on(void *arg)
{
	struct sleeper *s = arg;
	struct pollfd p = {.fd = s->input, .events = POLLIN};

	__atomic_store_n(&s->tid, sys_gettid(), __ATOMIC_RELEASE);
	s->result = poll(&p, 1, -1);
	s->error = errno;
	__atomic_store_n(&s->is_back, 1, __ATOMIC_RELEASE);
	return NULL;
}

static char state_of(int32_t tid)
{
	char path[64], text[512] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return at ? at[2] : '\0';
}

static void begin_sleeper(struct sleeper *s, int input)
{
	memset(s, 0, sizeof(*s));
	s->input = input;
	assert_int_equal(weft_real(pthread_create)(&s->thread, NULL, sleep_on, s), 0);
	while (!__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE) || state_of(s->tid) != 'S')
		usleep(1000);
}

/*
 * The kernel interrupts poll for a handler, with SA_RESTART too, and not for an ignored signal.
 * So a program that ignores its SIGURGs loses one sleep at most: then ours is gone.
 */
static void stands_aside_for_a_program_that_ignores_its_own(void **state)
{
	struct sleeper first, second;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(weft_prime_install(SIGURG), SIGURG);
	begin_sleeper(&first, ends[0]);
	assert_int_equal(sys_call3(SYS_tgkill, getpid(), first.tid, SIGURG), 0);
	pthread_join(first.thread, NULL);
	assert_int_equal(first.result, -1);
	assert_int_equal(first.error, EINTR);
	assert_int_equal(kernel_handler(SIGURG), DEFAULT);
	assert_int_equal(shared->prime_signal_used, 0);
	begin_sleeper(&second, ends[0]);
	assert_int_equal(sys_call3(SYS_tgkill, getpid(), second.tid, SIGURG), 0);
	usleep(20000);
	assert_int_equal(write(ends[1], "x", 1), 1);
	pthread_join(second.thread, NULL);
	assert_int_equal(second.result, 1);
	/* for good; a real-time one may still be had */
	assert_int_equal(weft_prime_install(SIGURG), -EBUSY);
	assert_int_equal(weft_prime_install(45), 45);
	weft_prime_uninstall();
	close(ends[0]);
	close(ends[1]);
}

#endif

/* ---- the engine */

static void starts_and_stops_exclude_each_other(void **state)
{
	(void)state;
	assert_int_equal(weft_engine_stop(), -EALREADY);
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(weft_engine_start(), -EALREADY);
	assert_int_not_equal(kernel_handler(SIGPROF), DEFAULT);
	assert_int_equal(shown_handler(SIGPROF), DEFAULT);
	assert_int_equal(weft_engine_stop(), 0);
	assert_int_equal(weft_engine_stop(), -EALREADY);
	assert_int_equal(kernel_handler(SIGPROF), DEFAULT);
	assert_int_equal(kernel_handler(SIGURG), DEFAULT);
	assert_int_equal(shared->timers_armed, 0);
}

/* A pending tick of ours would kill when the default action is back. */
static void what_is_pending_is_discarded(void **state)
{
	sigset_t prof;
	int signo = 0;

	(void)state;
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(weft_real(pthread_sigmask)(SIG_BLOCK, &prof, NULL), 0);
	assert_int_equal(
		platform_thread_signal(0, sys_gettid(), SIGPROF, WEFT_SIGVAL(COOKIE, 0, 0)),
#ifdef PLATFORM_POSIX
		-ENOSYS);
	assert_int_equal(sys_call3(SYS_tgkill, getpid(), sys_gettid(), SIGUSR2 * 0), 0);
#else
		0);
#endif
	assert_int_equal(weft_engine_stop(), 0);
	assert_int_equal(weft_real(pthread_sigmask)(SIG_UNBLOCK, &prof, NULL), 0); /* lives */
	/* the program's own, which waits for sigwait, is not lost */
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(weft_real(pthread_sigmask)(SIG_BLOCK, &prof, NULL), 0);
	assert_int_equal(sys_call2(SYS_kill, getpid(), SIGPROF), 0);
	assert_int_equal(weft_engine_stop(), 0);
	assert_int_equal(sigwait(&prof, &signo), 0);
	assert_int_equal(signo, SIGPROF);
	assert_int_equal(weft_real(pthread_sigmask)(SIG_UNBLOCK, &prof, NULL), 0);
}

/* A thread that believes SIGPROF blocked, while it is open for ours, would die of its own. */
static void a_lent_mask_keeps_the_handler(void **state)
{
	sigset_t prof, pending;

	(void)state;
	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &prof, NULL), 0);
	assert_int_equal(weft_engine_stop(), 0);
	assert_int_not_equal(kernel_handler(SIGPROF), DEFAULT);
	assert_int_equal(shared->timers_armed, 0);
	raise(SIGPROF); /* held, as a blocked one is */
	assert_int_equal(sigpending(&pending), 0);
	assert_true(sigismember(&pending, SIGPROF));
	set_own(SIGPROF);
	own_signals = 0;
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &prof, NULL), 0);
	assert_int_equal(own_signals, 1);
	set_default(SIGPROF);
	assert_int_equal(weft_engine_stop(), 0); /* nobody believes any more */
	assert_int_equal(kernel_handler(SIGPROF), DEFAULT);
}

static void burn_until_sampled(uint64_t more_than)
{
	volatile uint64_t sink = 0;

	while (counted(WEFT_COUNTER_ATTEMPTED) <= more_than)
		for (int i = 0; i < 10000; i++)
			sink = sink * 3 + (uint64_t)i;
}

/* Nobody calls stop: the first tick that finds the recording over does. */
static void a_tick_after_the_end_stops(void **state)
{
	(void)state;
	weft_context_set(1, 2);
	assert_non_null(weft_thread_slot);
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(shared->timers_armed, 1);
	burn_until_sampled(counted(WEFT_COUNTER_ATTEMPTED));
	__atomic_store_n(&shared->run_state, WEFT_RUN_STOPPED, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->timers_armed, __ATOMIC_ACQUIRE))
		;
	assert_int_equal(kernel_handler(SIGPROF), DEFAULT);
	assert_int_equal(kernel_handler(SIGURG), DEFAULT);
	assert_int_equal(timers_in_kernel(), 0);
	assert_int_equal(weft_engine_stop(), -EALREADY);
	shared->run_state = WEFT_RUN_RECORDING;
}

#ifndef PLATFORM_POSIX
static void an_order_stops(void **state)
{
	uint64_t order = WEFT_SIGVAL(COOKIE, 0, WEFT_ORDER_STOP);

	(void)state;
	assert_int_equal(weft_engine_start(), 0);
	assert_int_equal(shared->prime_signal_used, SIGURG);
	/* not while it records */
	assert_int_equal(platform_thread_signal(0, sys_gettid(), SIGURG, order), 0);
	assert_int_equal(weft_engine_start(), -EALREADY);
	shared->run_state = WEFT_RUN_STOPPED;
	assert_int_equal(platform_thread_signal(0, sys_gettid(), SIGURG, order), 0);
	assert_int_equal(weft_engine_stop(), -EALREADY);
	assert_int_equal(kernel_handler(SIGPROF), DEFAULT);
	assert_int_equal(kernel_handler(SIGURG), DEFAULT);
	assert_int_equal(timers_in_kernel(), 0);
	shared->run_state = WEFT_RUN_RECORDING;
}
#endif

/* One thread of the program that gets signals of its own all the time. */
struct harassed {
	pthread_t thread;
	int is_done;
	uint64_t sent; /* of each */
};

static uint64_t taken[NSIG]; /* by the harassed thread alone */

static void take(int signo)
{
	taken[signo]++;
}

static void *be_harassed(void *arg)
{
	struct harassed *h = arg;

	while (!__atomic_load_n(&h->is_done, __ATOMIC_RELAXED)) {
		raise(SIGPROF);
		raise(SIGUSR1);
		raise(SIGURG);
		h->sent++;
		usleep(200);
	}
	return NULL;
}

static void set_take(int signo)
{
	struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};

	assert_int_equal(sigaction(signo, &action, NULL), 0);
}

/* With each stop, all is as before the start. */
static void one_cycle(uint64_t *timeouts)
{
	uint64_t before = counted(WEFT_COUNTER_ATTEMPTED);
	int stopped;

	assert_int_equal(weft_engine_start(), 0);
	while (counted(WEFT_COUNTER_ATTEMPTED) == before)
		usleep(1000);
	stopped = weft_engine_stop();
	*timeouts += stopped == -ETIMEDOUT;
	assert_true(stopped == 0 || stopped == -ETIMEDOUT);
	/* who was about to arm a timer, and did not come to it, deletes it when it does */
	while (stopped && __atomic_load_n(&shared->timers_armed, __ATOMIC_ACQUIRE))
		usleep(1000);
	assert_int_equal(shared->timers_armed, 0);
	assert_int_equal(timers_in_kernel(), 0);
	if (stopped == 0)
		assert_int_equal(kernel_handler(SIGPROF), (uintptr_t)take);
}

/* Of two standard signals of one number that pend at once the kernel keeps one: raise() blocks all
 * while it sends, and a tick of ours that comes in between stands in the way of the program's. */
static void assert_taken_but_few(int signo, uint64_t sent)
{
	assert_true(taken[signo] <= sent);
	assert_true(sent - taken[signo] <= 2 + sent / 500);
}

static void many_cycles_under_load(void **state)
{
	static struct worker crowd[CROWD];
	struct harassed h = {0};
	uint64_t timeouts = 0;
	const char *wanted = getenv("WEFT_CYCLES");
	int descriptors, cycles = wanted ? atoi(wanted) : CYCLES;

	(void)state;
	begin_session_of(SLOTS);
	set_take(SIGPROF);
	set_take(SIGUSR1);
	set_take(SIGURG);
	for (int i = 0; i < CROWD; i++)
		launch_worker(&crowd[i]);
	for (int i = 0; i < CROWD; i++)
		wait_for_worker(&crowd[i]);
	descriptors = open_descriptors();
	memset(taken, 0, sizeof(taken));
	assert_int_equal(pthread_create(&h.thread, NULL, be_harassed, &h), 0);
	while (cycles--)
		one_cycle(&timeouts);
	__atomic_store_n(&h.is_done, 1, __ATOMIC_RELAXED);
	pthread_join(h.thread, NULL);
	for (int i = 0; i < CROWD; i++)
		__atomic_store_n(&crowd[i].is_done, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < CROWD; i++)
		end_worker(&crowd[i]);
	print_message("%u primed by signal, %u by handler, %u stops waited in vain\n",
		      (unsigned int)counted(WEFT_COUNTER_PRIMED_SIGNAL),
		      (unsigned int)counted(WEFT_COUNTER_PRIMED_HANDLER), (unsigned int)timeouts);
	assert_int_equal(taken[SIGUSR1], h.sent);
	assert_taken_but_few(SIGPROF, h.sent);
	assert_taken_but_few(SIGURG, h.sent);
	assert_int_equal(open_descriptors(), descriptors);
	assert_int_equal(counted(WEFT_COUNTER_LOST_NO_SLOT), 0);
	assert_int_equal(counted(WEFT_COUNTER_HANDLERS_UNDRAINED), timeouts);
	set_default(SIGPROF);
	set_default(SIGUSR1);
	set_default(SIGURG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef PLATFORM_POSIX
		cmocka_unit_test(installed_with_the_flags_of_the_profiling_handler),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(a_taken_realtime_signal_gives_way_to_the_next),
		cmocka_unit_test(the_programs_own_handler_lives_on),
		cmocka_unit_test(a_realtime_signal_goes_when_nobody_sends_it_any_more),
		cmocka_unit_test(a_sender_that_is_gone_is_not_waited_for),
		cmocka_unit_test(an_order_primes_a_thread),
		cmocka_unit_test(an_order_stops),
		cmocka_unit_test(an_order_adopts_who_cannot_be_signalled),
		cmocka_unit_test(who_was_woken_is_not_signalled),
#endif
		cmocka_unit_test(starts_and_stops_exclude_each_other),
		cmocka_unit_test(what_is_pending_is_discarded),
		cmocka_unit_test(a_lent_mask_keeps_the_handler),
		cmocka_unit_test(a_tick_after_the_end_stops),
		cmocka_unit_test(many_cycles_under_load),
#ifndef PLATFORM_POSIX
		cmocka_unit_test(stands_aside_for_a_program_that_ignores_its_own),
#endif
	};

	return cmocka_run_group_tests(tests, begin_session, NULL);
}
