/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that open SIGPROF behind the hooks, or are met by a signal in the middle of one: what
 * the kernel's mask, the thread's words and its timer say afterwards agrees. The whole runtime is
 * linked in, its hooks are at work, and the engine runs.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/context.h>

#include "base/platform.h"
#include "engine_session.h"
#include "runtime/sample/mask.h"

static volatile sig_atomic_t own_signals;

static void own(int signo)
{
	own_signals += signo == SIGPROF;
}

static void set_action_of_prof(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART;
	assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
}

static sigset_t prof_or_all(int is_all)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	if (is_all)
		sigfillset(&set);
	return set;
}

static void open_raw(void)
{
	sys_signals_restore(0);
}

/* To the calling thread, of whatever process. */
static void send_prof(void)
{
	sys_call3(SYS_tgkill, sys_getpid(), sys_gettid(), SIGPROF);
}

static void open_by_libc(void)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void set_up(void (*handler)(int))
{
	own_signals = 0;
	weft_context_set(1, 2);
	assert_int_equal(weft_engine_start(), 0);
	set_action_of_prof(handler);
}

static void tear_down(void)
{
	open_by_libc();
	set_action_of_prof(SIG_DFL);
	assert_int_equal(weft_engine_stop(), 0);
}

/* ---- what the calling thread is */

struct state {
	int is_blocked; /* really */
	int is_closed;  /* by its words */
	int is_paused;  /* as the collector is told */
	int has_ticks;  /* its timer runs */
};

static struct state state_here(void)
{
	const struct weft_slot *slot = weft_slot_mine();
	struct itimerspec timer = {.it_value = {.tv_sec = 0}};
	struct state s = {.is_blocked = (sys_signals_block(0) & SYS_SIGNAL_BIT(SIGPROF)) != 0,
			  .is_closed = weft_mask_is_closed()};

	if (!slot)
		return s;
	s.is_paused = (slot->thread.flags & WEFT_SLOT_PAUSED) != 0;
	if (slot->thread.timer_id >= 0 &&
	    !sys_call2(SYS_timer_gettime, slot->thread.timer_id, &timer))
		s.has_ticks = timer.it_interval.tv_nsec != 0;
	return s;
}

static void assert_state_is_closed(struct state s)
{
	assert_true(s.is_blocked);
	assert_true(s.is_closed);
	assert_true(s.is_paused);
	assert_false(s.has_ticks);
}

static void assert_state_is_open(struct state s)
{
	assert_false(s.is_blocked);
	assert_false(s.is_closed);
	assert_false(s.is_paused);
	assert_true(s.has_ticks);
}

static void close_here(int is_all)
{
	sigset_t set = prof_or_all(is_all);

	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	assert_state_is_closed(state_here());
}

/* ---- opened behind the hooks */

static void a_signal_comes_to_who_opened_by_a_raw_call(void **state)
{
	(void)state;
	for (int is_all = 0; is_all < 2; is_all++) {
		set_up(own);
		close_here(is_all);
		open_raw();
		send_prof();
		assert_int_equal(own_signals, 1);
		assert_state_is_open(state_here());
		tear_down();
	}
}

static void *send_here(void *arg)
{
	send_prof();
	*(struct state *)arg = state_here();
	return NULL;
}

static void a_thread_of_such_a_one_has_it_open(void **state)
{
	struct state seen;
	pthread_t thread;

	(void)state;
	for (int is_all = 0; is_all < 2; is_all++) {
		set_up(own);
		close_here(is_all);
		open_raw();
		assert_int_equal(pthread_create(&thread, NULL, send_here, &seen), 0);
		pthread_join(thread, NULL);
		assert_int_equal(own_signals, 1);
		assert_state_is_open(seen);
		tear_down();
	}
}

/* Which has its parent's words. */
static __attribute__((noinline)) void open_in_vfork_child(void)
{
	pid_t pid = vfork();
	int status = -1;

	if (pid == 0) {
		open_raw();
		send_prof();
		sys_call1(SYS_exit_group, 0);
	}
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		continue;
	assert_int_equal(status, 0);
}

static void a_vfork_child_opens_for_itself_alone(void **state)
{
	(void)state;
	for (int is_all = 0; is_all < 2; is_all++) {
		set_up(own);
		close_here(is_all);
		open_in_vfork_child();
		assert_int_equal(own_signals, 1);
		assert_state_is_closed(state_here());
		open_by_libc();
		assert_state_is_open(state_here());
		tear_down();
	}
}

/* ---- in the middle of a change */

static int set_after_an_order(int how, const sigset_t *set, sigset_t *old)
{
	int failed = platform_thread_signal(0, sys_gettid(), SIGURG,
					    WEFT_SIGVAL(COOKIE, 0, WEFT_ORDER_PRIME));

	return failed ? failed : weft_real(pthread_sigmask)(how, set, old);
}

/* As a thread of Go's: its words say blocked, and it has opened all by a raw call. */
static void *close_late(void *arg)
{
	sigset_t all = prof_or_all(1);

	open_raw();
	if (!weft_mask_change(set_after_an_order, SIG_SETMASK, &all, NULL))
		*(struct state *)arg = state_here();
	return NULL;
}

/* The order finds the timer stopped and SIGPROF still open. */
static void an_order_while_it_is_closed_changes_nothing(void **state)
{
	struct state seen = {.is_blocked = 0};
	pthread_t thread;

	(void)state;
	set_up(own);
	close_here(1);
	assert_int_equal(pthread_create(&thread, NULL, close_late, &seen), 0);
	pthread_join(thread, NULL);
	assert_state_is_closed(seen);
	tear_down();
}

/* One for the thread and one for the process: after the first the thread would be lent again. */
static void a_second_signal_behind_a_wait_is_not_lost(void **state)
{
	sigset_t prof = prof_or_all(0);
	siginfo_t info;

	(void)state;
	set_up(SIG_DFL);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &prof, NULL), 0);
	assert_state_is_open(state_here());
	send_prof();
	assert_state_is_closed(state_here());
	assert_int_equal(sys_call2(SYS_kill, getpid(), SIGPROF), 0);
	for (int left = 1; left >= 0; left--) {
		assert_int_equal(sigwaitinfo(&prof, &info), SIGPROF);
		if (left)
			assert_state_is_closed(state_here());
	}
	assert_state_is_open(state_here());
	assert_true(weft_mask_is_blocked());
	tear_down();
}

/* ---- over a stop */

static void who_opens_while_nothing_records_has_ticks_again(void **state)
{
	(void)state;
	set_up(own);
	close_here(0);
	assert_int_equal(weft_engine_stop(), 0);
	open_by_libc();
	assert_int_equal(weft_engine_start(), 0);
	assert_state_is_open(state_here());
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_comes_to_who_opened_by_a_raw_call),
		cmocka_unit_test(a_thread_of_such_a_one_has_it_open),
		cmocka_unit_test(a_vfork_child_opens_for_itself_alone),
		cmocka_unit_test(an_order_while_it_is_closed_changes_nothing),
		cmocka_unit_test(a_second_signal_behind_a_wait_is_not_lost),
		cmocka_unit_test(who_opens_while_nothing_records_has_ticks_again),
	};

	return cmocka_run_group_tests(tests, begin_session, NULL);
}
