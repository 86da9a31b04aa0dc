/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets the priming signal, who never does, and who is named because SIGPROF fails. */
#include "base/clock.h"
#include "collector/look/outside.h"
#include "collector/look/priming.h"
#include "collector/process/order.h"
#include "collector/session/session.h"
#include "proc/thread_stat.h"

#include "base/session_layout.h"
#include "collector/write/process_work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LOOK_NS UINT64_C(100000000)

/* What the child tells. */
struct shared {
	uint32_t ready, got, others;
	uint64_t value;
	int32_t code;
};

static struct shared *shared;
static struct process *process;
static struct session *session;
static struct threads *threads;
static struct priming priming;
static struct session_counts counts;
static uint64_t now_ns;
static pid_t child;

static void on_thread(void *arg, struct watched_thread *t)
{
	(void)arg;
	(void)t;
}

/* How many are marked, and of the last of them why. */
static int named(const char **why)
{
	struct watched_thread *t;
	size_t cursor = 0;
	int count = 0;

	*why = "";
	while ((t = threads_next(threads, &cursor)))
		if (t->unsampled) {
			count++;
			*why = t->unsampled;
		}
	return count;
}

static void assert_named(const char *expected)
{
	const char *why;

	assert_int_equal(named(&why), 1);
	assert_string_equal(why, expected);
}

/* ---- the child */

static void take_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (signo == SIGURG || signo >= SIGRTMIN) {
		shared->value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
		shared->code = info->si_code;
		__atomic_add_fetch(&shared->got, 1, __ATOMIC_SEQ_CST);
	} else {
		shared->others++;
	}
}

static void take(int signo)
{
	struct sigaction action = {.sa_sigaction = take_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(signo, &action, NULL);
}

static void block(int signo)
{
	uint64_t mask = UINT64_C(1) << (signo - 1);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
}

static void catch_urgent(void)
{
	take(SIGURG);
	take(SIGPROF);
}

static void catch_nothing(void)
{
	take(SIGPROF);
}

static void block_urgent(void)
{
	catch_urgent();
	block(SIGURG);
}

static void read_urgent(void)
{
	sigset_t set;

	catch_urgent();
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	signalfd(-1, &set, 0);
}

static void catch_real_time(void)
{
	catch_urgent();
	take(SIGRTMIN + 3);
}

static void block_prof(void)
{
	catch_urgent();
	block(SIGPROF);
}

static void forget_prof(void)
{
	take(SIGURG);
	signal(SIGPROF, SIG_IGN);
}

static void burn(void (*prepare)(void))
{
	prepare();
	__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		;
}

static void sleep_for_ever(void (*prepare)(void))
{
	prepare();
	__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* ---- and its watcher */

static struct weft_session_header *header(void)
{
	return session->process->base;
}

static void begin_with(void (*life)(void (*)(void)), void (*prepare)(void), int wanted)
{
	struct session_settings settings = {.period_ns = 1000000};
	struct threads_callbacks callbacks = {on_thread, on_thread, NULL, NULL};

	memset(shared, 0, sizeof(*shared));
	memset(&counts, 0, sizeof(counts));
	child = fork();
	if (child == 0) {
		alarm(60); /* never for ever */
		life(prepare);
	}
	while (!__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	assert_int_equal(process_new(&process, child), 0);
	assert_int_equal(session_new(&session, process, &settings), 0);
	threads = threads_new(process, &callbacks);
	assert_non_null(threads);
	header()->cookie = 0x123456;
	header()->prime_signal_used = SIGURG;
	header()->target_state = WEFT_TARGET_LIVE;
	header()->timer_budget = 100;
	priming = (struct priming){.process = process, .counts = &counts, .wanted = wanted};
	now_ns = LOOK_NS;
}

static uint64_t child_cpu_ns(void)
{
	return clock_ns((clockid_t)((~(uint32_t)child << 3) | 2u));
}

static void look(void)
{
	now_ns += 12 * LOOK_NS; /* each thread is due */
	assert_true(threads_look(threads, now_ns) > 0);
	threads_find_slots(threads);
	priming.cpu_ns = child_cpu_ns();
	priming_look(&priming, threads, now_ns);
}

/* A look each time that it has used so much CPU time. */
static void look_over_cpu(int times, uint64_t step_ns)
{
	for (int i = 0; i < times; i++) {
		uint64_t until_ns = child_cpu_ns() + step_ns;

		look();
		while (child_cpu_ns() < until_ns)
			usleep(1000);
	}
	look();
}

static int is_alive(void)
{
	return waitpid(child, NULL, WNOHANG) == 0;
}

static void end(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	threads_free(threads);
	session_free(session);
	process_free(process);
}

static struct weft_slot *slot_of_child(void)
{
	return weft_session_slot(session->process->base, &session->process->layout, 0);
}

static void set_slot(int32_t timer_id)
{
	struct weft_slot *slot = slot_of_child();

	slot->thread.tid = child;
	slot->thread.timer_id = timer_id;
	weft_session_states(session->process->base, &session->process->layout)[0] =
		WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
	header()->slots_high = 1;
}

#define SENT counts.counter[WEFT_COUNTER_PRIMING_SENT]
#define REFUSED counts.counter[WEFT_COUNTER_PRIMING_REFUSED]
#define FOUND counts.counter[WEFT_COUNTER_THREADS_FOUND]

static void only_harmless_signals_are_sent(void **state)
{
	(void)state;
	for (uint32_t signo = 0; signo < 200; signo++) {
		int is_rt = signo >= (uint32_t)SIGRTMIN && signo <= (uint32_t)SIGRTMAX;

		assert_int_equal(priming_may_send(SIGURG, signo), signo == SIGURG);
		assert_int_equal(priming_may_send(SIGRTMIN + 6, signo), is_rt);
		assert_false(priming_may_send(0, signo));
		assert_false(priming_may_send(SIGKILL, signo));
	}
	assert_false(priming_may_send(SIGURG, UINT32_MAX));
	assert_false(priming_may_send(SIGRTMIN, UINT32_MAX));
}

static void a_thread_that_runs_without_a_slot_is_primed(void **state)
{
	(void)state;
	begin_with(burn, catch_urgent, SIGURG);
	for (int i = 0; i < 500 && !__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST); i++)
		look_over_cpu(1, 2000000);
	assert_true(shared->got > 0);
	assert_int_equal(shared->code, SI_QUEUE);
	assert_int_equal(shared->value, WEFT_SIGVAL(0x123456, 0, WEFT_ORDER_PRIME));
	assert_true(SENT > 0);
	assert_int_equal(FOUND, 1);
	assert_int_equal(REFUSED, 0);
	/* it has a slot, and a timer: that is enough */
	set_slot(1);
	look_over_cpu(2, 10000000);
	shared->got = 0;
	look_over_cpu(5, 60000000);
	assert_int_equal(shared->got, 0);
	end();
}

static void a_thread_without_timer_is_told_to_arm_one(void **state)
{
	(void)state;
	begin_with(burn, catch_urgent, SIGURG);
	set_slot(-1);
	header()->timer_budget = 0; /* there is no room */
	look_over_cpu(4, 60000000);
	assert_int_equal(SENT, 0);
	header()->timer_budget = 1;
	for (int i = 0; i < 100 && !__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST); i++)
		look_over_cpu(1, 60000000);
	assert_true(shared->got > 0);
	assert_int_equal(FOUND, 0);
	end();
}

static void a_real_time_signal_is_sent_when_it_was_chosen(void **state)
{
	(void)state;
	begin_with(burn, catch_real_time, SIGURG);
	header()->prime_signal_used = (uint32_t)SIGRTMIN + 3;
	look_over_cpu(5, 2000000);
	assert_int_equal(SENT, 0);
	priming.wanted = SIGRTMIN; /* that one was taken: the target has another */
	for (int i = 0; i < 500 && !__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST); i++)
		look_over_cpu(1, 2000000);
	assert_true(shared->got > 0);
	end();
}

static void what_the_process_has_let_go_of_is_not_sent(void **state)
{
	(void)state;
	begin_with(burn, catch_real_time, SIGRTMIN);
	header()->prime_signal_used = 0; /* since it was looked at */
	assert_int_equal(order_queue(process, child, (uint32_t)SIGRTMIN + 3, WEFT_ORDER_PRIME),
			 -ECANCELED);
	assert_int_equal(header()->prime_sending, 0);
	header()->prime_signal_used = (uint32_t)SIGRTMIN + 3;
	assert_int_equal(order_queue(process, child, (uint32_t)SIGRTMIN + 3, WEFT_ORDER_PRIME), 0);
	while (!__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST))
		usleep(1000);
	assert_int_equal(shared->got, 1);
	assert_int_equal(header()->prime_sending, 0);
	end();
}

static void a_hostile_number_is_not_sent(void **state)
{
	static const uint32_t hostile[] = {SIGKILL, SIGTERM, SIGSTOP, SIGPROF, 0, 65, UINT32_MAX};

	(void)state;
	begin_with(burn, catch_urgent, SIGURG);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		header()->prime_signal_used = hostile[i];
		look_over_cpu(3, 2000000);
	}
	assert_true(is_alive());
	assert_int_equal(SENT, 0);
	assert_int_equal(shared->got + shared->others, 0);
	end();
}

static void refused(void (*prepare)(void))
{
	begin_with(burn, prepare, SIGURG);
	look_over_cpu(8, 2000000);
	assert_int_equal(SENT, 0);
	assert_int_equal(REFUSED, 1); /* once */
	assert_int_equal(shared->got, 0);
	end();
}

static void who_blocks_reads_or_does_not_catch_it_is_let_alone(void **state)
{
	(void)state;
	refused(block_urgent);
	refused(read_urgent);
	refused(catch_nothing);
}

static void a_sleeping_thread_gets_no_signal(void **state)
{
	(void)state;
	begin_with(sleep_for_ever, catch_urgent, SIGURG);
	usleep(20000);
	for (int i = 0; i < 50; i++)
		look();
	assert_int_equal(SENT, 0);
	assert_int_equal(shared->got, 0);
	end();
}

#define BURNERS 3

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

/* Others on its CPU, so that it has to wait for it whenever it is woken. */
static void poll_for_ever(void (*prepare)(void))
{
	stay_on_one_cpu();
	for (int i = 0; i < BURNERS; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		for (;;)
			;
	}
	prepare();
	__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		if (poll(NULL, 0, 3))
			__atomic_add_fetch(&shared->others, 1, __ATOMIC_SEQ_CST);
}

static struct watched_thread *only_thread(void)
{
	size_t cursor = 0;

	return threads_next(threads, &cursor);
}

static void who_was_woken_and_waits_for_a_cpu_gets_no_signal(void **state)
{
	(void)state;
	begin_with(poll_for_ever, catch_urgent, SIGURG);
	for (int i = 0; i < 1000; i++) {
		look();
		only_thread()->effort.sent = 0; /* as if it were another each time */
		usleep(1000);
	}
	assert_int_equal(FOUND, 1); /* it was seen to have run */
	assert_int_equal(shared->others, 0);
	end();
}

static void has_run(struct thread_run *r, uint64_t cpu_ns, uint64_t waits, uint64_t switches,
		    uint64_t arrivals)
{
	*r = (struct thread_run){.state = 'R',
				 .cpu_ns = cpu_ns,
				 .waits = waits,
				 .switches = switches,
				 .arrivals = arrivals};
}

static void what_shows_that_a_thread_computes(void **state)
{
	struct thread_run before, now;

	(void)state;
	has_run(&before, 5000000, 7, 9, 9); /* it waits for a CPU */
	has_run(&now, 5000000, 7, 9, 9);
	assert_false(thread_ran_on(&before, &now));
	has_run(&now, 5100000, 7, 9, 10); /* it has just got one */
	assert_false(thread_ran_on(&before, &now));
	has_run(&now, 6000000, 7, 10, 10); /* had one for a while, and lost it */
	assert_true(thread_ran_on(&before, &now));
	has_run(&now, 7000000, 8, 10, 10); /* has slept since */
	assert_false(thread_ran_on(&before, &now));
	has_run(&before, 5000000, 7, 9, 10); /* has one all the while */
	has_run(&now, 5000000, 7, 9, 10);
	assert_true(thread_ran_on(&before, &now));
	now.state = 'S';
	assert_false(thread_ran_on(&before, &now));
	has_run(&before, 5000000, 7, 9, 0); /* no schedstat */
	has_run(&now, 5000000, 7, 9, 0);
	assert_false(thread_ran_on(&before, &now));
}

/* ---- who cannot be signalled */

static void *burn_deaf(void *arg)
{
	block(SIGURG);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->ready, __ATOMIC_RELAXED))
		;
	return arg;
}

static void wait_for_a_deaf_one(void (*prepare)(void))
{
	pthread_t thread;

	prepare();
	pthread_create(&thread, NULL, burn_deaf, NULL);
	pthread_join(thread, NULL);
}

static void who_cannot_be_signalled_is_adopted_by_another(void **state)
{
	(void)state;
	begin_with(wait_for_a_deaf_one, catch_urgent, SIGURG);
	for (int i = 0; i < 100 && !__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST); i++)
		look_over_cpu(1, 60000000);
	assert_true(shared->got > 0);
	assert_int_equal(shared->value, WEFT_SIGVAL(0x123456, 0, WEFT_ORDER_ADOPT));
	assert_int_equal(REFUSED, 1);
	look_over_cpu(10, 60000000); /* this one does not obey */
	assert_named("no hook saw it, and it blocks SIGURG");
	assert_in_range(shared->got, 1, 4);
	end();
}

static void without_a_signal_it_is_named(void **state)
{
	(void)state;
	begin_with(burn, catch_urgent, 0);
	header()->prime_signal_used = 0;
	look_over_cpu(8, 60000000);
	assert_named("no hook saw it, and there is no priming signal");
	end();
}

static void named_for(void (*prepare)(void), const char *why)
{
	begin_with(burn, prepare, SIGURG);
	set_slot(1);
	look_over_cpu(8, 60000000);
	assert_named(why);
	end();
}

static void threads_that_cannot_be_sampled_are_named_once(void **state)
{
	(void)state;
	named_for(block_prof, "blocks SIGPROF");
}

/* Ignored: nothing is caught. */
static void a_replaced_handler_is_named(void **state)
{
	(void)state;
	named_for(forget_prof, "its SIGPROF handler was replaced");
}

static void whose_samples_come_is_not_named(void **state)
{
	const char *why;

	(void)state;
	begin_with(burn, block_prof, SIGURG); /* a mask that is open again now and then */
	set_slot(1);
	for (int i = 0; i < 8; i++) {
		slot_of_child()->counters[WEFT_COUNTER_ATTEMPTED]++;
		look_over_cpu(1, 60000000);
	}
	assert_int_equal(named(&why), 0);
	end();
}

static void has_been_told(void)
{
	assert_true(shared->got > 0);
	assert_int_equal(shared->value, WEFT_SIGVAL(0x123456, 0, WEFT_ORDER_PRIME));
}

/* Its timer stands still, and it has opened SIGPROF by a raw call. That the first signal could not
 * be sent is no reason to wait for long with the next. */
static void who_was_named_in_vain_is_helped_soon(void **state)
{
	const char *why;

	(void)state;
	begin_with(burn, catch_urgent, SIGURG);
	set_slot(1);
	slot_of_child()->thread.flags |= WEFT_SLOT_PAUSED;
	header()->prime_signal_used = 0;
	for (int i = 0; i < 20 && !named(&why); i++)
		look_over_cpu(1, 60000000);
	assert_named("opened SIGPROF by a system call of its own");
	header()->prime_signal_used = SIGURG;
	for (int i = 0; i < 8 && !__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST); i++)
		look_over_cpu(1, 60000000);
	has_been_told();
	end();
}

static void ticks_are_started_beside_an_hrtimer(void **state)
{
	(void)state;
	begin_with(burn, catch_urgent, SIGURG);
	set_slot(1);
	slot_of_child()->thread.flags |= WEFT_SLOT_PAUSED;
	for (int i = 0; i < 500 && !__atomic_load_n(&shared->got, __ATOMIC_SEQ_CST); i++) {
		slot_of_child()->counters[WEFT_COUNTER_ATTEMPTED]++;
		look_over_cpu(1, 2000000);
	}
	has_been_told();
	/* and not when its timer runs */
	slot_of_child()->thread.flags &= ~(uint32_t)WEFT_SLOT_PAUSED;
	look_over_cpu(1, 2000000);
	shared->got = 0;
	for (int i = 0; i < 20; i++) {
		slot_of_child()->counters[WEFT_COUNTER_ATTEMPTED]++;
		look_over_cpu(1, 2000000);
	}
	assert_int_equal(shared->got, 0);
	end();
}

static void without_slot_it_is_named_too(void **state)
{
	const char *why;
	(void)state;
	begin_with(burn, block_prof, 0);
	header()->prime_signal_used = 0;
	look_over_cpu(8, 60000000);
	assert_int_equal(named(&why), 1);
	assert_int_equal(SENT, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_harmless_signals_are_sent),
		cmocka_unit_test(a_thread_that_runs_without_a_slot_is_primed),
		cmocka_unit_test(a_thread_without_timer_is_told_to_arm_one),
		cmocka_unit_test(a_real_time_signal_is_sent_when_it_was_chosen),
		cmocka_unit_test(what_the_process_has_let_go_of_is_not_sent),
		cmocka_unit_test(a_hostile_number_is_not_sent),
		cmocka_unit_test(who_blocks_reads_or_does_not_catch_it_is_let_alone),
		cmocka_unit_test(a_sleeping_thread_gets_no_signal),
		cmocka_unit_test(who_was_woken_and_waits_for_a_cpu_gets_no_signal),
		cmocka_unit_test(what_shows_that_a_thread_computes),
		cmocka_unit_test(who_cannot_be_signalled_is_adopted_by_another),
		cmocka_unit_test(without_a_signal_it_is_named),
		cmocka_unit_test(threads_that_cannot_be_sampled_are_named_once),
		cmocka_unit_test(a_replaced_handler_is_named),
		cmocka_unit_test(whose_samples_come_is_not_named),
		cmocka_unit_test(who_was_named_in_vain_is_helped_soon),
		cmocka_unit_test(ticks_are_started_beside_an_hrtimer),
		cmocka_unit_test(without_slot_it_is_named_too),
	};

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED || cmocka_run_group_tests(tests, NULL, NULL);
}
