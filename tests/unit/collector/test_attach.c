/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching to targets that are played by a forked child: what is taken, what is refused, and
 * that nothing a session says makes weft send a signal that could harm. The child has a memfd
 * weft-session, made by the real layout and then spoilt.
 */
#include "base/clock.h"
#include "base/session_layout.h"
#include "collector/session/attach.h"
#include "collector/session/session_private.h"
#include "collector/write/process_work.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COOKIE 0x123456
#define SLOTS 64
#define BURSTS 2
#define FUTEX 3

/* What the child and the test share, beside the session. */
struct stage {
	uint32_t ready, runs; /* 1: burns; BURSTS: runs for some microseconds at a time */
	uint32_t word, woken; /* FUTEX: sleeps until the word is 1, and tells what the call said */
	int32_t call_said;
	uint64_t value; /* of the newest SIGURG */
	int32_t code;
};

struct target {
	pid_t pid;
	int fd;
	struct stage *stage;
	struct weft_session_header *header;
	uint64_t bytes;
};

static struct stage *stage_of_child;

static void caught(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	stage_of_child->code = info->si_code;
	__atomic_store_n(&stage_of_child->value, (uint64_t)(uintptr_t)info->si_value.sival_ptr,
			 __ATOMIC_SEQ_CST);
}

__attribute__((noreturn)) static void be_target(struct stage *stage)
{
	struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_RESTART};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stage_of_child = stage;
	sigaction(SIGURG, &action, NULL);
	__atomic_store_n(&stage->ready, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		uint32_t runs = __atomic_load_n(&stage->runs, __ATOMIC_SEQ_CST);
		uint64_t until_ns = clock_mono_ns() + 50000;

		if (runs == 0)
			usleep(1000);
		if (runs == FUTEX && !stage->woken) {
			stage->call_said = (int32_t)syscall(SYS_futex, &stage->word, FUTEX_WAIT, 0,
							    NULL, NULL, 0);
			__atomic_store_n(&stage->woken, 1, __ATOMIC_SEQ_CST);
		}
		while (runs == BURSTS && clock_mono_ns() < until_ns)
			;
		if (runs == BURSTS)
			usleep(20);
	}
}

static int make_memfd(struct target *t, int seals)
{
	struct weft_session_header h;

	memset(&h, 0, sizeof(h));
	assert_int_equal(weft_session_layout(&h, SLOTS, 0, 0), 0);
	t->bytes = h.total_bytes;
	t->fd = memfd_create("weft-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(t->fd >= 0);
	assert_int_equal(ftruncate(t->fd, (off_t)t->bytes), 0);
	if (seals)
		assert_int_equal(fcntl(t->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
	t->header = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	assert_true(t->header != MAP_FAILED);
	memcpy(t->header, &h, sizeof(h));
	return 0;
}

static uint64_t start_of(pid_t pid)
{
	struct thread_stat stat;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(thread_stat_read(fd, pid, &stat), 0);
	close(fd);
	return stat.start;
}

/* It sleeps, until runs is set. */
static void target_begin(struct target *t, int seals)
{
	t->stage = mmap(NULL, sizeof(*t->stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	assert_true(t->stage != MAP_FAILED);
	make_memfd(t, seals);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (t->pid == 0)
		be_target(t->stage);
	while (!__atomic_load_n(&t->stage->ready, __ATOMIC_SEQ_CST))
		sched_yield();
	t->header->pid = t->pid;
	t->header->pid_start = start_of(t->pid);
	t->header->features = WEFT_FEATURE_RUNTIME_MADE;
	t->header->session_id = 1;
	t->header->cookie = COOKIE;
	t->header->prime_signal_used = SIGURG;
}

static void target_end(struct target *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	close(t->fd);
	munmap(t->header, t->bytes);
	munmap(t->stage, sizeof(*t->stage));
}

static int is_alive(const struct target *t)
{
	return waitpid(t->pid, NULL, WNOHANG) == 0;
}

static enum attach_verdict verdict_of(const struct target *t)
{
	struct attach_target found;
	enum attach_verdict verdict = attach_find(&found, t->pid, 1);
	char text[512];

	attach_explain(&found, verdict, text, sizeof(text));
	assert_true(strlen(text) > 5);
	attach_target_close(&found);
	return verdict;
}

static void a_sound_one_is_found_and_locked(void **state)
{
	struct attach_target first, second;
	struct target t;
	char text[512];

	(void)state;
	target_begin(&t, 1);
	assert_int_equal(attach_find(&first, t.pid, 1), ATTACH_FINE);
	t.header->collector_pid = getpid();
	assert_int_equal(attach_find(&second, t.pid, 1), ATTACH_RECORDED);
	assert_int_equal(second.other, getpid());
	t.header->collector_pid = 0; /* locked a moment ago */
	assert_int_equal(attach_find(&second, t.pid, 1), ATTACH_RECORDED);
	assert_int_equal(second.other, 0);
	attach_explain(&second, ATTACH_RECORDED, text, sizeof(text));
	assert_string_equal(text, "is recorded already, by a weft that has just begun");
	t.header->collector_pid = INT32_MAX; /* an earlier one, long gone */
	assert_int_equal(attach_find(&second, t.pid, 1), ATTACH_RECORDED);
	assert_int_equal(second.other, 0);
	attach_target_close(&first);
	assert_int_equal(attach_find(&second, t.pid, 1), ATTACH_FINE);
	attach_target_close(&second);
	target_end(&t);
}

static void others_are_refused(void **state)
{
	struct target t;

	(void)state;
	target_begin(&t, 0);
	assert_int_equal(verdict_of(&t), ATTACH_MALFORMED); /* could shrink under us */
	target_end(&t);

	target_begin(&t, 1);
	t.header->pid = getpid();
	assert_int_equal(verdict_of(&t), ATTACH_FORKED);
	t.header->pid = t.pid;
	t.header->pid_start++;
	assert_int_equal(verdict_of(&t), ATTACH_MALFORMED);
	t.header->pid_start = 0; /* not known to it */
	assert_int_equal(verdict_of(&t), ATTACH_FINE);
	t.header->features = 0;
	assert_int_equal(verdict_of(&t), ATTACH_MALFORMED);
	target_end(&t);
	assert_int_equal(verdict_of(&t), ATTACH_GONE);
}

/* Each 8-byte word of the layout in turn, with values that are wrong in different ways. */
static void layouts_are_checked(void **state)
{
	static const uint64_t wrong[] = {
		0, 1, 4096, UINT64_C(1) << 31, UINT64_C(1) << 43, UINT64_C(1) << 63, UINT64_MAX};
	struct weft_session_header good;
	struct target t;
	unsigned int fine = 0;

	(void)state;
	target_begin(&t, 1);
	good = *t.header;
	for (size_t at = 0; at < 0x88; at += 8) {
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			uint64_t before;

			memcpy(&before, (char *)t.header + at, 8);
			memcpy((char *)t.header + at, &wrong[i], 8);
			if (verdict_of(&t) == ATTACH_FINE) {
				assert_int_equal(weft_session_validate(t.header, t.bytes), 0);
				fine++;
			}
			memcpy((char *)t.header + at, &before, 8);
		}
	}
	assert_memory_equal(t.header, &good, sizeof(good)); /* nothing is written by looking */
	assert_true(fine < 30);
	target_end(&t);
}

static void only_harmless_signals_are_ever_sent(void **state)
{
	static const uint32_t bad[] = {0,       SIGKILL, SIGTERM, SIGSTOP, SIGPROF, SIGSEGV,
				       SIGCHLD, 32,      33,      65,      1000,    UINT32_MAX};
	struct target t;

	(void)state;
	target_begin(&t, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t.header->prime_signal_used = bad[i];
		assert_int_equal(verdict_of(&t), ATTACH_CONTEXT_ONLY);
		assert_false(order_signal_is_allowed(bad[i]));
	}
	assert_true(order_signal_is_allowed((uint32_t)SIGRTMIN));
	assert_true(order_signal_is_allowed((uint32_t)SIGRTMAX));
	target_end(&t);
}

struct scene {
	struct target target;
	struct process *process;
	struct session *session;
};

static void attach(struct scene *s)
{
	struct session_settings settings = {.period_ns = 5000000,
					    .stack_mode = WEFT_STACK_AUTO,
					    .stack_copy_bytes = 16384,
					    .prime_signal = SIGURG,
					    .engines = WEFT_ENGINE_CPU,
					    .socket = "/nowhere"};
	struct attach_target found;

	assert_int_equal(attach_find(&found, s->target.pid, 1), ATTACH_FINE);
	assert_int_equal(process_new(&s->process, s->target.pid), 0);
	s->process->inside_pid = s->target.pid;
	s->process->session_id = 1;
	s->process->opened_ns = clock_mono_ns();
	assert_int_equal(session_attach(&s->session, s->process, &found, &settings), 0);
	assert_int_equal(found.fd, -1);
}

static void leave(struct scene *s)
{
	session_stop(s->session);
	session_leave(s->session);
	session_free(s->session);
	process_free(s->process);
}

static void orders_go_to_threads_that_run(void **state)
{
	struct scene s;
	struct order_search search = {0};
	uint64_t began_ns;
	int rc;

	(void)state;
	target_begin(&s.target, 1);
	attach(&s);
	assert_int_equal(s.target.header->run_state, WEFT_RUN_RECORDING);
	assert_int_equal(s.target.header->attach_number, 1);
	assert_int_equal(s.target.header->collector_pid, getpid());
	assert_string_equal(s.target.header->socket_path, "/nowhere");
	assert_int_equal(session_attach_state(s.session), -EAGAIN);

	/* what changes its mind later is not obeyed either, be it running */
	__atomic_store_n(&s.target.stage->runs, 1, __ATOMIC_SEQ_CST);
	s.target.header->prime_signal_used = SIGKILL;
	assert_int_equal(order_try(s.session->process, WEFT_ORDER_ATTACH, 100000, &search),
			 -EINVAL);
	s.target.header->prime_signal_used = SIGUSR1;
	assert_int_equal(order_try(s.session->process, WEFT_ORDER_ATTACH, 100000, &search),
			 -EINVAL);
	/* nobody has a handler for this one */
	s.target.header->prime_signal_used = (uint32_t)SIGRTMIN + 3;
	assert_int_equal(order_try(s.session->process, WEFT_ORDER_ATTACH, 100000, &search), 0);
	assert_true(is_alive(&s.target));
	assert_int_equal(s.target.stage->value, 0);

	s.target.header->prime_signal_used = SIGURG;
	began_ns = clock_mono_ns();
	do
		rc = order_try(s.session->process, WEFT_ORDER_ATTACH, 100000, &search);
	while (rc == 0 && clock_mono_ns() - began_ns < UINT64_C(60000000000));
	assert_int_equal(rc, 1);
	while (!__atomic_load_n(&s.target.stage->value, __ATOMIC_SEQ_CST) && is_alive(&s.target))
		sched_yield();
	assert_true(is_alive(&s.target));
	assert_int_equal(s.target.stage->value, WEFT_SIGVAL(COOKIE, 0, WEFT_ORDER_ATTACH));
	assert_int_equal(s.target.stage->code, SI_QUEUE);
	leave(&s);
	assert_int_equal(s.target.header->run_state, WEFT_RUN_CLOSED);
	target_end(&s.target);
}

/* It is seen to run, and waits again: the order might have cut that call short. */
static void who_sleeps_soon_gets_none(void **state)
{
	struct order_search search = {0};
	uint64_t began_ns = clock_mono_ns();
	struct scene s;
	int rc = 0;

	(void)state;
	target_begin(&s.target, 1);
	attach(&s);
	__atomic_store_n(&s.target.stage->runs, BURSTS, __ATOMIC_SEQ_CST);
	while (rc == 0 && search.failed < 10 && clock_mono_ns() - began_ns < UINT64_C(60000000000))
		rc = order_try(s.session->process, WEFT_ORDER_ATTACH, 20000000, &search);
	assert_true(search.failed > 0);
	assert_true(rc == 0 || rc == 1); /* one that waits for a CPU of its own looks steady */
	__atomic_store_n(&s.target.stage->runs, 1, __ATOMIC_SEQ_CST);
	while (rc == 0 && clock_mono_ns() - began_ns < UINT64_C(120000000000))
		rc = order_try(s.session->process, WEFT_ORDER_ATTACH, 20000000, &search);
	assert_int_equal(rc, 1);
	leave(&s);
	target_end(&s.target);
}

/* Its call goes on as if there had been no signal. */
static void who_waits_for_a_futex_gets_one(void **state)
{
	struct order_search search = {0};
	uint64_t began_ns = clock_mono_ns();
	struct stage *stage;
	struct scene s;
	int rc = 0;

	(void)state;
	target_begin(&s.target, 1);
	stage = s.target.stage;
	attach(&s);
	__atomic_store_n(&stage->runs, FUTEX, __ATOMIC_SEQ_CST);
	while (rc == 0 && clock_mono_ns() - began_ns < UINT64_C(60000000000))
		rc = order_try(s.session->process, WEFT_ORDER_ATTACH, 2000000, &search);
	assert_int_equal(rc, 1);
	while (!__atomic_load_n(&stage->value, __ATOMIC_SEQ_CST) && is_alive(&s.target))
		sched_yield();
	usleep(20000);
	assert_int_equal(__atomic_load_n(&stage->woken, __ATOMIC_SEQ_CST), 0);
	__atomic_store_n(&stage->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &stage->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (!__atomic_load_n(&stage->woken, __ATOMIC_SEQ_CST) && is_alive(&s.target))
		sched_yield();
	assert_int_equal(stage->call_said, 0);
	leave(&s);
	target_end(&s.target);
}

static void its_word_is_not_believed_too_far(void **state)
{
	struct scene s;

	(void)state;
	target_begin(&s.target, 1);
	attach(&s);
	s.target.header->attach_taken = 7;
	assert_int_equal(session_attach_state(s.session), -EAGAIN);
	s.target.header->attach_taken = 1;
	assert_int_equal(session_attach_state(s.session), 0);
	s.target.header->attach_error = -ENOMEM;
	assert_int_equal(session_attach_state(s.session), -ENOMEM);
	s.target.header->attach_error = 5;
	assert_int_equal(session_attach_state(s.session), -EPROTO);
	s.target.header->attach_error = INT32_MIN;
	assert_int_equal(session_attach_state(s.session), -EPROTO);
	leave(&s);
	target_end(&s.target);
}

static struct weft_slot *slot_at(const struct target *t, uint32_t index)
{
	return weft_session_slot(t->header, t->header, index);
}

static uint64_t *word_at(const struct target *t, uint32_t index)
{
	return &weft_session_states(t->header, t->header)[index];
}

/* Books of a slot that another recording left: so many written, so many delivered. */
static void leave_books(const struct target *t, uint32_t index, uint64_t word, uint64_t written,
			uint64_t delivered)
{
	struct weft_slot *slot = slot_at(t, index);

	slot->thread.tid = t->pid;
	slot->thread.timer_id = -1;
	slot->counters[WEFT_COUNTER_ATTEMPTED] = written + 1;
	slot->counters[WEFT_COUNTER_WRITTEN] = written;
	slot->counters[WEFT_COUNTER_LOST_RING_FULL] = 1;
	slot->samples_p.written = written;
	slot->samples_p.head = written * 64;
	slot->samples_c.delivered = delivered;
	slot->samples_c.tail = delivered * 64;
	*word_at(t, index) = word;
}

static void what_another_recording_left_is_not_ours(void **state)
{
	struct session_counts counts;
	struct drain_result drained;
	struct queue queue;
	struct scene s;

	(void)state;
	target_begin(&s.target, 1);
	leave_books(&s.target, 0, WEFT_STATE_WORD(3, WEFT_SLOT_LIVE), 9, 9);
	leave_books(&s.target, 1, WEFT_STATE_WORD(4, WEFT_SLOT_LIVE) | WEFT_SLOT_HELD, 9, 2);
	leave_books(&s.target, 2, WEFT_STATE_WORD(5, WEFT_SLOT_DEAD) | WEFT_SLOT_HELD, 9, 2);
	leave_books(&s.target, 3, WEFT_STATE_WORD(6, WEFT_SLOT_DRAINING), 9, 2);
	leave_books(&s.target, 4, WEFT_STATE_WORD(7, WEFT_SLOT_FREE), 9, 2);
	s.target.header->counters[WEFT_COUNTER_LOST_NO_SLOT] = 5;
	s.target.header->slots_high = 5;
	s.target.header->run_state = WEFT_RUN_RECORDING;
	s.target.header->map_current = 77;
	attach(&s);
	assert_int_equal(s.target.header->map_current, 0);
	assert_int_equal(*word_at(&s.target, 0), WEFT_STATE_WORD(3, WEFT_SLOT_LIVE));
	assert_int_equal(*word_at(&s.target, 1), WEFT_STATE_WORD(4, WEFT_SLOT_LIVE));
	assert_int_equal(*word_at(&s.target, 2), WEFT_STATE_WORD(5, WEFT_SLOT_FREE));
	assert_int_equal(*word_at(&s.target, 3), WEFT_STATE_WORD(6, WEFT_SLOT_FREE));
	assert_int_equal(*word_at(&s.target, 4), WEFT_STATE_WORD(7, WEFT_SLOT_FREE));
	assert_int_equal(slot_at(&s.target, 1)->samples_c.tail, 9 * 64);

	assert_int_equal(queue_init(&queue, 1 << 20), 0);
	drained = session_drain(s.session, &queue, DRAIN_RUNNING);
	assert_int_equal(drained.samples, 0);
	/* one more is lost on the living thread, and that thread ends */
	slot_at(&s.target, 1)->counters[WEFT_COUNTER_ATTEMPTED]++;
	slot_at(&s.target, 1)->counters[WEFT_COUNTER_LOST_RING_FULL]++;
	*word_at(&s.target, 1) = WEFT_STATE_WORD(4, WEFT_SLOT_DEAD);
	session_drain(s.session, &queue, DRAIN_STOPPED);
	session_count(s.session, &counts);
	assert_int_equal(counts.counter[WEFT_COUNTER_ATTEMPTED], 1);
	assert_int_equal(counts.counter[WEFT_COUNTER_LOST_RING_FULL], 1);
	assert_int_equal(counts.counter[WEFT_COUNTER_LOST_NO_SLOT], 0);
	assert_int_equal(counts.delivered, 0);
	assert_int_equal(counts.pending, 0);
	assert_int_equal(counts.unbalanced, 0);
	assert_int_equal(counts.generations, 1);
	assert_int_equal(counts.threads, 2);
	queue_destroy(&queue);
	leave(&s);
	target_end(&s.target);
}

/* Bytes of no meaning in all that the target may write: nothing of ours breaks. */
static void rubbish_spoils_only_its_own(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct session_counts counts;
		struct queue queue;
		struct scene s;

		target_begin(&s.target, 1);
		for (uint32_t i = 0; i < 8; i++) {
			uint64_t *word = (uint64_t *)(void *)slot_at(&s.target, i);

			for (size_t n = 0; n < WEFT_SLOT_TOUCHED_BYTES / 8; n++)
				word[n] = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 40);
			*word_at(&s.target, i) = (uint64_t)rand_r(&seed) << 8 |
						 (uint64_t)(rand_r(&seed) % 8) |
						 (rand_r(&seed) & WEFT_SLOT_HELD);
		}
		s.target.header->slots_high = round % 2 ? UINT32_MAX : 8;
		s.target.header->map_number = UINT32_MAX;
		attach(&s);
		assert_int_equal(queue_init(&queue, 1 << 24), 0);
		session_drain(s.session, &queue, DRAIN_RUNNING);
		session_tidy(s.session, clock_mono_ns());
		session_drain(s.session, &queue, DRAIN_STOPPED);
		session_count(s.session, &counts);
		queue_destroy(&queue);
		leave(&s);
		target_end(&s.target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_one_is_found_and_locked),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(layouts_are_checked),
		cmocka_unit_test(only_harmless_signals_are_ever_sent),
		cmocka_unit_test(orders_go_to_threads_that_run),
		cmocka_unit_test(who_sleeps_soon_gets_none),
		cmocka_unit_test(who_waits_for_a_futex_gets_one),
		cmocka_unit_test(its_word_is_not_believed_too_far),
		cmocka_unit_test(what_another_recording_left_is_not_ours),
		cmocka_unit_test(rubbish_spoils_only_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
