/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process as they are seen in /proc, and whose slot is whose. */
#include "base/clock.h"
#include "collector/look/threads.h"
#include "collector/session/session.h"

#include "base/session_layout.h"
#include "collector/write/process_work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 20
#define SECOND UINT64_C(1000000000)

static struct process *process;
static struct session *session;
static struct threads *threads;
static uint64_t now_ns; /* goes on as the test wishes */
static int came, went, lost;
static uint32_t lost_slot;
static int32_t last_new, last_dead;
static int last_dead_had_its_slot;

static void on_new(void *arg, struct watched_thread *t)
{
	(void)arg;
	came++;
	last_new = t->tid;
}

static void on_dead(void *arg, struct watched_thread *t)
{
	(void)arg;
	went++;
	last_dead = t->tid;
	last_dead_had_its_slot = t->slot != THREADS_NO_SLOT && t->slot_is_its;
}

static void on_lost(void *arg, uint32_t slot, uint64_t generation)
{
	(void)arg;
	(void)generation;
	lost++;
	lost_slot = slot;
}

static int begin_with(pid_t pid)
{
	struct session_settings settings = {.period_ns = 1000000};
	struct threads_callbacks callbacks = {on_new, on_dead, on_lost, NULL};

	came = went = lost = 0;
	now_ns = SECOND;
	if (process_new(&process, pid))
		return -1;
	process->opened_ns = clock_mono_ns();
	if (session_new(&session, process, &settings))
		return -1;
	threads = threads_new(process, &callbacks);
	return threads ? 0 : -1;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(getpid());
}

static int end(void **state)
{
	(void)state;
	threads_free(threads);
	session_free(session);
	process_free(process);
	return 0;
}

static struct weft_session_header *header(void)
{
	return session->process->base;
}

static void set_slot(uint32_t index, uint64_t generation, enum weft_slot_state state, int32_t tid)
{
	struct weft_slot *slot =
		weft_session_slot(session->process->base, &session->process->layout, index);

	slot->thread.tid = tid;
	slot->thread.claimed_ns = clock_mono_ns();
	weft_session_states(session->process->base, &session->process->layout)[index] =
		WEFT_STATE_WORD(generation, state);
	if (header()->slots_high <= index)
		header()->slots_high = index + 1;
}

/* A list is read: more than a second has passed. */
static int look(void)
{
	int rc;

	now_ns += 2 * SECOND;
	rc = threads_look(threads, now_ns);
	if (rc > 0)
		threads_find_slots(threads);
	return rc;
}

static struct watched_thread *find(int32_t tid)
{
	struct watched_thread *t;
	size_t cursor = 0;

	while ((t = threads_next(threads, &cursor)))
		if (t->tid == tid)
			return t;
	return NULL;
}

/* ---- threads to be seen */

static sem_t ready, leave;
static int32_t tids[MANY];

static void *wait_for_leave(void *arg)
{
	*(int32_t *)arg = (int32_t)syscall(SYS_gettid);
	sem_post(&ready);
	sem_wait(&leave);
	return NULL;
}

static void start(pthread_t *thread, int count)
{
	sem_init(&ready, 0, 0);
	sem_init(&leave, 0, 0);
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, wait_for_leave, &tids[i]), 0);
	for (int i = 0; i < count; i++)
		sem_wait(&ready);
}

static void stop(const pthread_t *thread, int count)
{
	for (int i = 0; i < count; i++)
		sem_post(&leave);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

/* A join returns a moment before the thread leaves the list. */
static void look_until(int count)
{
	for (int i = 0; i < 1000 && look() != count; i++)
		usleep(1000);
	assert_int_equal(look(), count);
}

/* ---- why this is not inotify's work */

static void inotify_on_the_task_directory_reports_nothing(void **state)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), watch;
	pthread_t thread[MANY];
	char events[4096];
	ssize_t n;

	(void)state;
	assert_true(fd >= 0);
	watch = inotify_add_watch(fd, "/proc/self/task", IN_CREATE | IN_DELETE);
	assert_true(watch >= 0); /* it is accepted, and then nothing comes */
	start(thread, MANY);
	n = read(fd, events, sizeof(events));
	assert_true(n < 0 && errno == EAGAIN);
	stop(thread, MANY);
	look_until(1);
	n = read(fd, events, sizeof(events));
	assert_true(n < 0 && errno == EAGAIN);
	close(fd);
}

/* ---- the list */

static void threads_are_met_and_leave(void **state)
{
	pthread_t thread[MANY];

	(void)state;
	assert_int_equal(look(), 1);
	assert_int_equal(came, 1);
	assert_int_equal(last_new, getpid());
	start(thread, MANY);
	assert_int_equal(look(), 1 + MANY);
	assert_int_equal(came, 1 + MANY);
	for (int i = 0; i < MANY; i++)
		assert_non_null(find(tids[i]));
	assert_int_equal(went, 0);
	stop(thread, MANY);
	look_until(1);
	assert_int_equal(went, MANY);
	assert_int_equal(came, 1 + MANY);
}

static void a_list_is_read_when_the_count_changed_or_a_second_passed(void **state)
{
	pthread_t thread[1];

	(void)state;
	assert_int_equal(look(), 1);
	assert_false(threads_count_changed(threads));
	find(getpid())->inode++; /* would be noticed by a list */
	find(getpid())->start++;
	assert_int_equal(threads_look(threads, now_ns + SECOND / 2), 1);
	assert_int_equal(went, 0);
	assert_int_equal(threads_look(threads, now_ns + SECOND), 1);
	assert_int_equal(went, 1);
	now_ns += SECOND;
	start(thread, 1);
	assert_true(threads_count_changed(threads));
	assert_int_equal(threads_look(threads, now_ns + 1), 2);
	assert_int_equal(came, 3);
	stop(thread, 1);
}

static void *come_and_go(void *arg)
{
	(void)arg;
	return NULL;
}

/* Whatever a list leaves out while threads come and go: nobody is met twice, nobody forgotten. */
static void a_storm_of_threads_leaves_the_list_right(void **state)
{
	pthread_t thread[MANY], one;

	(void)state;
	start(thread, MANY / 2);
	for (int i = 0; i < 300; i++) {
		pthread_create(&one, NULL, come_and_go, NULL);
		assert_true(look() >= 1 + MANY / 2);
		for (int k = 0; k < MANY / 2; k++)
			assert_non_null(find(tids[k]));
		pthread_join(one, NULL);
		assert_in_range(came - went, 1 + MANY / 2, 3 + MANY / 2);
	}
	look_until(1 + MANY / 2);
	assert_int_equal(came - went, 1 + MANY / 2);
	stop(thread, MANY / 2);
	look_until(1);
	assert_int_equal(came - went, 1);
}

/* ---- a tid that is used again */

static void another_start_time_is_another_thread(void **state)
{
	struct watched_thread *t;

	(void)state;
	look();
	t = find(getpid());
	t->inode++; /* as if the kernel had dropped its directory: the same thread */
	look();
	assert_ptr_equal(find(getpid()), t);
	assert_int_equal(went, 0);
	t->inode++;
	t->start--; /* as if it had begun before: another thread */
	look();
	assert_int_equal(went, 1);
	assert_int_equal(came, 2);
	assert_int_equal(last_dead, getpid());
	assert_int_equal(last_new, getpid());
}

/* It was matched by tid while nobody looked which of the two had the tid. */
static void a_slot_is_not_told_for_gone_when_the_tid_was_used_again(void **state)
{
	(void)state;
	look();
	set_slot(0, 1, WEFT_SLOT_LIVE, getpid());
	threads_find_slots(threads);
	assert_int_equal(find(getpid())->slot, 0);
	find(getpid())->inode++;
	find(getpid())->start--;
	look();
	assert_int_equal(went, 1);
	assert_false(last_dead_had_its_slot);
	/* and the new one has it */
	assert_int_equal(find(getpid())->slot, 0);
	look();
	assert_true(find(getpid())->slot_is_its);
}

/* ---- slots */

static void slots_are_found_by_tid_and_lost_with_their_state(void **state)
{
	pthread_t thread[2];

	(void)state;
	start(thread, 2);
	set_slot(3, 5, WEFT_SLOT_LIVE, tids[0]);
	set_slot(4, 1, WEFT_SLOT_OPENING, tids[1]);
	look();
	assert_int_equal(find(tids[0])->slot, 3);
	assert_int_equal(find(tids[0])->generation, 5);
	assert_int_equal(find(tids[1])->slot, THREADS_NO_SLOT);
	set_slot(4, 1, WEFT_SLOT_LIVE, tids[1]);
	threads_find_slots(threads);
	assert_int_equal(find(tids[1])->slot, 4);
	set_slot(3, 5, WEFT_SLOT_DEAD, tids[0]);
	threads_find_slots(threads);
	assert_int_equal(find(tids[0])->slot, THREADS_NO_SLOT);
	set_slot(3, 6, WEFT_SLOT_LIVE, tids[0]);
	threads_find_slots(threads);
	assert_int_equal(find(tids[0])->slot, 3);
	assert_int_equal(find(tids[0])->generation, 6);
	look();
	stop(thread, 2);
	look_until(1);
	assert_true(last_dead_had_its_slot);
}

static void a_slot_that_no_list_knows_is_a_strangers_until_a_list_did_not_find_it(void **state)
{
	pthread_t thread[1];

	(void)state;
	look();
	assert_false(threads_has_strangers(threads));
	start(thread, 1);
	set_slot(3, 5, WEFT_SLOT_OPENING, tids[0]);
	assert_false(threads_has_strangers(threads));
	set_slot(3, 5, WEFT_SLOT_LIVE, tids[0]);
	assert_true(threads_has_strangers(threads));
	threads_find_slots(threads); /* by the list before */
	assert_true(threads_has_strangers(threads));
	assert_int_equal(threads_list(threads, ++now_ns), 2);
	threads_find_slots(threads);
	assert_false(threads_has_strangers(threads));
	set_slot(3, 6, WEFT_SLOT_LIVE, tids[0]);
	assert_true(threads_has_strangers(threads)); /* the next one with that slot */
	set_slot(3, 6, WEFT_SLOT_LIVE, getppid());
	threads_find_slots(threads);
	assert_int_equal(threads_list(threads, ++now_ns), 2);
	threads_find_slots(threads);
	assert_false(threads_has_strangers(threads));
	stop(thread, 1);
}

static void last_words_are_kept_until_the_next_ones(void **state)
{
	struct slot_words words = {.generation = 7, .ended_ns = 100, .cpu_ns = 10};

	(void)state;
	process_tell_words(process, 3, &words); /* nobody asks for them */
	assert_false(process_words(process, 3, 7, &words));
	process_keep_words(process);
	process_tell_words(process, 3, &words);
	memset(&words, 0, sizeof(words));
	assert_false(process_words(process, 3, 8, &words));
	assert_false(process_words(process, 2, 7, &words));
	assert_true(process_words(process, 3, 7, &words));
	assert_true(words.ended_ns == 100 && words.cpu_ns == 10);
	words.generation = 8;
	process_tell_words(process, 3, &words);
	assert_false(process_words(process, 3, 7, &words));
}

static pid_t somebody_dead(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void a_slot_of_nobody_is_lost_and_one_of_a_stranger_is_not(void **state)
{
	(void)state;
	set_slot(0, 1, WEFT_SLOT_LIVE, getpid());
	set_slot(1, 1, WEFT_SLOT_LIVE, getppid()); /* may share the memory */
	set_slot(2, 1, WEFT_SLOT_LIVE, somebody_dead());
	look();
	assert_int_equal(lost, 0); /* it may have begun a moment ago */
	for (int i = 0; i < 4; i++)
		look();
	assert_true(lost > 0);
	assert_int_equal(lost_slot, 2);
}

/* ---- what cannot be seen, and who lies */

static void a_process_that_cannot_be_read_is_left_alone(void **state)
{
	(void)state;
	threads_free(threads);
	close(process->proc_fd);
	process->proc_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	threads = threads_new(process, &(struct threads_callbacks){on_new, on_dead, on_lost, NULL});
	set_slot(0, 1, WEFT_SLOT_LIVE, somebody_dead());
	for (int i = 0; i < 5; i++) {
		assert_true(threads_look(threads, now_ns += 2 * SECOND) < 0);
		threads_find_slots(threads);
	}
	assert_int_equal(came + went + lost, 0);
}

static void a_process_that_has_ended_is_told(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	end(state);
	assert_int_equal(begin_with(pid), 0);
	assert_int_equal(look(), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(look() < 0);
	end(state);
	assert_int_equal(begin(state), 0);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t any_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void a_hostile_session_does_no_harm(void **state)
{
	pthread_t thread[MANY];

	(void)state;
	start(thread, MANY);
	header()->slots_high = UINT32_MAX;
	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 64; k++) {
			uint64_t r = any_number();
			int32_t tid = r & 1   ? tids[r >> 8 & 15]
				      : r & 2 ? (int32_t)(r >> 32)
					      : getpid();

			set_slot((uint32_t)(r >> 16) % session->process->layout.slot_count, r >> 40,
				 (enum weft_slot_state)(r >> 4 & 15), tid);
		}
		look();
	}
	for (int k = 0; k < MANY; k++)
		assert_non_null(find(tids[k]));
	assert_int_equal(went, 0);
	stop(thread, MANY);
}

/* ---- in another PID namespace */

static int begin_inside(void *arg)
{
	char byte;

	return read(*(int *)arg, &byte, 1) != 1;
}

static void threads_of_another_namespace_are_known_by_their_own_numbers(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	int wire[2];
	pid_t pid;

	assert_int_equal(pipe(wire), 0);
	pid = clone(begin_inside, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, &wire[0]);
	if (pid < 0)
		skip(); /* it takes a privilege */
	end(state);
	assert_int_equal(begin_with(pid), 0);
	set_slot(0, 1, WEFT_SLOT_LIVE, 1);
	set_slot(1, 1, WEFT_SLOT_LIVE, 7); /* nobody there, but that cannot be told from here */
	for (int i = 0; i < 5; i++)
		assert_int_equal(look(), 1);
	assert_int_equal(find(pid)->inside_tid, 1);
	assert_int_equal(find(pid)->slot, 0);
	assert_int_equal(lost, 0);
	assert_int_equal(write(wire[1], "", 1), 1);
	waitpid(pid, NULL, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(inotify_on_the_task_directory_reports_nothing),
		CASE(threads_are_met_and_leave),
		CASE(a_list_is_read_when_the_count_changed_or_a_second_passed),
		CASE(a_storm_of_threads_leaves_the_list_right),
		CASE(another_start_time_is_another_thread),
		CASE(a_slot_is_not_told_for_gone_when_the_tid_was_used_again),
		CASE(slots_are_found_by_tid_and_lost_with_their_state),
		CASE(a_slot_that_no_list_knows_is_a_strangers_until_a_list_did_not_find_it),
		CASE(last_words_are_kept_until_the_next_ones),
		CASE(a_slot_of_nobody_is_lost_and_one_of_a_stranger_is_not),
		CASE(a_process_that_cannot_be_read_is_left_alone),
		CASE(a_process_that_has_ended_is_told),
		CASE(a_hostile_session_does_no_harm),
		CASE(threads_of_another_namespace_are_known_by_their_own_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
