/* SPDX-License-Identifier: Apache-2.0 */
/* A child goes on with its parent's coroutines in stations of its own. */
#include <signal.h>
#include <sys/syscall.h>

#include "probe.h"

static struct probe_file file;

static pid_t by_fork(void)
{
	return fork();
}

/* As libraries do that no atfork handler hears of. */
static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void finish(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0), ==, pid);
	CHECK(status, ==, 0);
}

static void grandchild(struct weft_coro *c)
{
	weft_coro_suspend(c, NULL);
	CHECK(file.stations[2].pid, ==, getpid());
	CHECK(file.stations[2].totals.suspends, ==, 1);
	CHECK(file.stations[2].probe_id, ==, c->id);
	_exit(0);
}

static void child(struct weft_coro *c, uint64_t id, pid_t (*forks)(void))
{
	struct weft_coro own;
	pid_t pid;

	weft_coro_wake(c); /* the parent's station, still: not touched */
	CHECK(file.stations[0].totals.wakes, ==, 0);
	weft_coro_resume(c, NULL);
	CHECK(file.stations[0].totals.resumes, ==, 1);
	CHECK(file.stations[1].pid, ==, getpid());
	CHECK(file.stations[1].totals.resumes, ==, 1);
	CHECK(file.stations[1].site, ==, file.stations[0].site);
	CHECK(event_of(&file.stations[1], 0)->tid, ==, syscall(SYS_gettid));
	CHECK(c->id >> 31, ==, getpid());
	CHECK(c->id != id, ==, 1);
	pid = forks();
	if (!pid)
		grandchild(c);
	finish(pid);
	CHECK(weft_coro_create(&own, NULL), ==, 1);
	CHECK(file.stations[3].pid, ==, getpid());
	CHECK(file.stations[3].parent_station, ==, 2);
	weft_coro_destroy(c);
	CHECK(file.stations[1].state, ==, WEFT_CTP_DEAD);
	CHECK(file.stations[2].state, ==, WEFT_CTP_SUSPENDED); /* whose process is gone */
	_exit(0);
}

static void parent(void *arg)
{
	pid_t (*forks)(void) = *(pid_t(**)(void))arg, pid;
	struct weft_coro c;
	uint64_t id;

	CHECK(weft_coro_create(&c, NULL), ==, 1);
	weft_coro_resume(&c, NULL);
	weft_coro_suspend(&c, NULL);
	id = c.id;
	pid = forks();
	if (!pid)
		child(&c, id, forks);
	finish(pid);
	weft_coro_resume(&c, NULL);
	CHECK(c.id, ==, id);
	CHECK(file.stations[0].totals.resumes, ==, 2);
	CHECK(file.stations[0].state, ==, WEFT_CTP_RUNNING);
	CHECK(event_of(file.stations, 2)->tid, ==, syscall(SYS_gettid));
}

static void child_takes_its_own(void **state)
{
	pid_t (*forks)(void) = by_fork;

	(void)state;
	file = probe_file(8, OURS, WEFT_CTP_TIMER);
	in_child(parent, &forks);
	probe_file_gone(&file);
}

/* qemu-user says yes to MADV_WIPEONFORK and does nothing. */
static int words_are_wiped(void)
{
	uint32_t *word =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status, wiped;
	pid_t pid;

	wiped = word != MAP_FAILED && !madvise(word, 4096, WEFT_PROBE_WIPEONFORK);
	*word = 1;
	pid = fork();
	if (!pid)
		_exit(*word == 0 ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && wiped && status == 0;
}

static void no_atfork(void **state)
{
	pid_t (*forks)(void) = by_clone;

	(void)state;
	if (!words_are_wiped())
		skip();
	file = probe_file(8, OURS, WEFT_CTP_TIMER);
	in_child(parent, &forks);
	probe_file_gone(&file);
}

/* The only station is the parent's: the child is refused, and counted. */
static void no_room(void *arg)
{
	struct weft_coro c;
	pid_t pid;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	pid = fork();
	if (!pid) {
		weft_coro_resume(&c, NULL);
		CHECK(c.station == NULL, ==, 1);
		weft_coro_destroy(&c);
		_exit(0);
	}
	finish(pid);
	CHECK(file.header->refused, ==, 1);
	CHECK(file.stations[0].totals.resumes, ==, 0);
	CHECK(file.stations[0].is_dead, ==, 0);
}

static void refused_child(void **state)
{
	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER);
	in_child(no_room, NULL);
	probe_file_gone(&file);
}

static int gone; /* coroutines that libweft was told of */

static void told(struct weft_coro *coro, uint64_t now_ns)
{
	gone += coro && now_ns;
}

/* What a child destroys and never resumed is the parent's, who goes on with it. */
static void destroys(void *arg)
{
	const struct weft_coro_carry_v1 *carry = (const struct weft_coro_carry_v1 *)arg;
	struct weft_coro c;
	pid_t pid;

	CHECK(weft_coro_create(&c, NULL), ==, 1);
	weft_coro_resume(&c, NULL);
	weft_coro_suspend(&c, NULL);
	weft_probe_process.carry = carry;
	pid = fork();
	if (!pid) {
		weft_coro_destroy(&c);
		CHECK(gone, ==, carry != NULL);
		_exit(0);
	}
	finish(pid);
	weft_probe_process.carry = NULL;
	CHECK(file.stations[0].is_dead, ==, 0);
	CHECK(file.stations[0].state, ==, WEFT_CTP_SUSPENDED);
	CHECK(file.header->recycle_count, ==, 0);
	CHECK(file.header->allocated_count, ==, 1);
}

static void child_destroys(void **state)
{
	struct weft_coro_carry_v1 carry = {.destroy = told};

	(void)state;
	file = probe_file(8, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	in_child(destroys, NULL);
	probe_file_gone(&file);
	file = probe_file(8, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	in_child(destroys, &carry);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_takes_its_own),
		cmocka_unit_test(no_atfork),
		cmocka_unit_test(refused_child),
		cmocka_unit_test(child_destroys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
