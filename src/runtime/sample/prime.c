/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The priming signal: it tells a thread that runs without a slot to claim one, and a process to
 * begin or end a recording (enum weft_order). SIGURG by default, whose default action is to be
 * ignored, so that one sent to a process in exec harms nobody; a real-time signal by choice.
 *
 * Signals queued with the session's cookie are ours; all others are the program's, and passed to
 * its own action (disposition.c). But once a handler is installed a signal interrupts sleeping
 * calls, SA_RESTART or not, while an ignored one does not. So at the first SIGURG from another
 * sender that the program ignores (out-of-band data for a socket with an owner) our handler is
 * removed for good, and priming goes on without it.
 *
 * A real-time signal kills a process that has no handler for it. So a sender announces itself first
 * (prime_sending), and then checks that the signal is in use; to give the signal up, at the end or
 * before exec, the header says so first, and then senders are waited for. Both are sequentially
 * consistent: one of the two sees the other.
 */
#include "runtime/sample/sample.h"

#include <string.h>

#include "base/platform.h"
#include "runtime/core/real.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/signals/signals.h"

#define REALTIME_USUAL 38              /* SIGRTMIN + 4 */
#define PATIENCE_NS UINT64_C(20000000) /* a sender may have been killed */

static uint32_t stands_aside;
static int wanted_by_default;
static int32_t on_their_way; /* sent by this process and not received; also to threads that ended */

int weft_prime_signal(void)
{
	return weft_disposition_signal(WEFT_KEPT_PRIME);
}

int weft_prime_is_ours(const siginfo_t *info)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

	return info->si_code == SI_QUEUE && weft_rt.cookie != 0 &&
	       WEFT_SIGVAL_COOKIE(value) == weft_rt.cookie && WEFT_SIGVAL_GENERATION(value) == 0;
}

static int is_sent_by_us(const siginfo_t *info)
{
	return weft_prime_is_ours(info) || weft_clock_sent(info);
}

static void prime_say(int signo)
{
	if (weft_rt_has_session())
		store_seq_cst(&weft_rt.header->prime_signal_used, (uint32_t)signo);
}

/* Afterwards what they sent has been delivered, too: signals are, at the end of a system call. */
static void wait_for_senders(void)
{
	uint64_t began_ns = clock_own_ns();

	while (load_seq_cst(&weft_rt.header->prime_sending) &&
	       clock_own_ns() - began_ns < PATIENCE_NS)
		sys_call0(SYS_sched_yield);
	sys_call0(SYS_sched_yield);
}

/* Gives a real-time signal up: its number, or 0. */
static int prime_let_go(void)
{
	int signo = weft_prime_signal();

	if (!signo || signo == SIGURG || !weft_rt_has_session())
		return 0;
	prime_say(0);
	wait_for_senders();
	return signo;
}

int weft_prime_before_exec(void)
{
	return weft_is_vfork_child() ? 0 : prime_let_go();
}

void weft_prime_after_exec(int signo)
{
	if (signo && weft_prime_signal() == signo)
		prime_say(signo);
}

int weft_prime_send(int32_t tid, enum weft_order order)
{
	uint64_t value = WEFT_SIGVAL(weft_rt.cookie, 0, (uint32_t)order);
	uint32_t *sending = &weft_rt.header->prime_sending;
	int signo = weft_prime_signal(), failed = -ENOSYS;

	__atomic_fetch_add(sending, 1, __ATOMIC_SEQ_CST);
	if (signo && load_seq_cst(&weft_rt.header->prime_signal_used) == (uint32_t)signo)
		failed = platform_thread_signal(0, tid, signo, value);
	__atomic_fetch_sub(sending, 1, __ATOMIC_SEQ_CST);
	if (failed)
		return failed;
	__atomic_fetch_add(&on_their_way, 1, __ATOMIC_RELAXED);
	weft_rt_count(WEFT_COUNTER_PRIMING_SENT, 1);
	return 0;
}

/* Is it used by the program? Then it has an action. */
static int prime_is_taken(int signo)
{
	struct sigaction theirs;

	return weft_real_sigaction(signo, NULL, &theirs) || theirs.sa_handler != SIG_DFL;
}

static int try(int signo)
{
	int failed = weft_disposition_install(WEFT_KEPT_PRIME, signo, weft_rt.on_order);

	return failed ? failed : signo;
}

static int try_realtime(int wanted)
{
	int first, last, count;

	if (platform_realtime_signals(&first, &last))
		return -ENOSYS;
	if (wanted < first || wanted > last)
		return -ERANGE;
	count = last - first + 1;
	for (int i = 0; i < count; i++) {
		int signo = first + (wanted - first + i) % count;

		if (!prime_is_taken(signo) && try(signo) == signo)
			return signo;
	}
	return -EBUSY;
}

int weft_prime_install(int wanted)
{
	int signo = weft_prime_signal();

	if (signo) {
		prime_say(signo);
		return signo;
	}
	if (wanted <= 0 || !platform_priming_is_available())
		signo = -ENOSYS;
	else if (wanted != SIGURG)
		signo = try_realtime(wanted);
	else if (load_relaxed(&stands_aside))
		signo = -EBUSY;
	else
		signo = try(SIGURG);
	prime_say(signo > 0 ? signo : 0);
	return signo;
}

void weft_prime_uninstall(void)
{
	if (!prime_let_go())
		prime_say(0);
	weft_disposition_uninstall(WEFT_KEPT_PRIME, is_sent_by_us);
}

/* Not if ours are still to be received: a handler of the program's own would be called for them. */
void weft_prime_end(void)
{
	if ((load_relaxed(&on_their_way) > 0 || load_relaxed(&weft_rt.header->clock_opened)) &&
	    weft_disposition_has_handler(WEFT_KEPT_PRIME))
		prime_say(0);
	else
		weft_prime_uninstall();
}

void weft_prime_forget(void)
{
	store_relaxed(&on_their_way, 0);
}

void weft_prime_parse(const char *word)
{
	int number = 0;

	wanted_by_default = SIGURG;
	if (!word || !*word || !strcmp(word, "urg"))
		return;
	for (; *word >= '0' && *word <= '9' && number < 1000; word++)
		number = number * 10 + (*word - '0');
	wanted_by_default = *word ? 0 : number;
	if (!strcmp(word, "rt"))
		wanted_by_default = REALTIME_USUAL;
}

void weft_prime_install_default(void)
{
	store_relaxed(&weft_rt.header->prime_signal, (uint32_t)wanted_by_default);
	if (weft_rt.own_fd >= 0)
		weft_prime_install(wanted_by_default);
	else
		weft_prime_uninstall();
}

void weft_prime_received(void)
{
	__atomic_fetch_sub(&on_their_way, 1, __ATOMIC_RELAXED);
}

void weft_prime_stand_aside(void)
{
	store_relaxed(&stands_aside, 1);
	weft_clock_yield();
	weft_prime_uninstall();
}
