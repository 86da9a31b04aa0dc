/* SPDX-License-Identifier: Apache-2.0 */
/* A shared file cut short while it is mapped: the program lives on, and its own SIGBUS is its own.
 */
#include <pthread.h>
#include <signal.h>

#include "probe.h"

#define THREADS 4

static struct probe_file file;

static void go_on(struct weft_coro *c)
{
	struct weft_coro another;

	weft_coro_resume(c, NULL);
	weft_coro_suspend(c, NULL);
	weft_coro_wake(c);
	CHECK(weft_probe_process.is_cut, ==, 1);
	CHECK(weft_coro_create(&another, NULL), ==, 0);
	weft_coro_resume(&another, NULL);
	weft_coro_resume(c, NULL);
	CHECK(c->station == NULL, ==, 1);
	weft_coro_destroy(&another);
	weft_coro_destroy(c);
}

static void is_cut_to(void *arg)
{
	struct weft_coro c[8];
	int i;

	for (i = 0; i < 8; i++)
		CHECK(weft_coro_create(&c[i], NULL), ==, 1);
	weft_coro_resume(&c[7], NULL);
	CHECK(truncate(file.path, *(off_t *)arg), ==, 0);
	for (i = 7; i >= 0; i--)
		go_on(&c[i]);
}

static void cut(void **state)
{
	static off_t to[] = {0, 500, 4096};
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		file = probe_file(8, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
		in_child(is_cut_to, &to[i]);
		probe_file_gone(&file);
	}
}

static void *busy(void *arg)
{
	struct weft_coro c;

	weft_coro_create(&c, NULL);
	while (!__atomic_load_n(&weft_probe_process.is_cut, __ATOMIC_RELAXED)) {
		weft_coro_resume(&c, arg);
		weft_coro_suspend(&c, arg);
	}
	weft_coro_resume(&c, arg);
	weft_coro_destroy(&c);
	return NULL;
}

static void under_threads(void *arg)
{
	pthread_t thread[THREADS];
	int i;

	(void)arg;
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, busy, NULL), ==, 0);
	while (file.stations[THREADS - 1].totals.resumes == 0)
		sched_yield();
	CHECK(truncate(file.path, 0), ==, 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void cut_under_threads(void **state)
{
	(void)state;
	file = probe_file(THREADS, OURS, WEFT_CTP_TIMER);
	in_child(under_threads, NULL);
	probe_file_gone(&file);
}

/* No page for a fresh station: it is refused, without a signal where the kernel can tell (5.14). */
static void no_page(void *arg)
{
	struct weft_coro c;
	int i;

	(void)arg;
	for (i = 0; i < 3; i++) /* those that lie in the header's page */
		CHECK(weft_coro_create(&c, NULL), ==, 1);
	CHECK(truncate(file.path, 4096), ==, 0);
	if (weft_coro_create(&c, NULL))
		CHECK(weft_probe_process.is_cut, ==, 1);
	else
		CHECK(file.header->refused, ==, 1);
	weft_coro_resume(&c, NULL);
	weft_coro_destroy(&c);
}

static void no_fresh_page(void **state)
{
	(void)state;
	file = probe_file(64, OURS, WEFT_CTP_TIMER);
	in_child(no_page, NULL);
	probe_file_gone(&file);
}

/* ---- SIGBUS that is none of ours ---- */

static volatile sig_atomic_t seen;
static void *volatile faulting;

static char *mapped_beyond_its_end(void)
{
	char path[] = "/tmp/weft-probe-XXXXXX", *at;
	int fd = mkstemp(path);

	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unlink(path);
	return at;
}

static void programs_own(int number, siginfo_t *info, void *context)
{
	(void)context;
	seen = number == SIGBUS && (!faulting || info->si_addr == faulting);
	if (faulting && mmap(faulting, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(99);
}

static void open_probe(void)
{
	struct weft_coro c;

	CHECK(weft_coro_create(&c, NULL), ==, 1);
}

static void handler_before(void *arg)
{
	struct sigaction action = {.sa_sigaction = programs_own, .sa_flags = SA_SIGINFO};

	(void)arg;
	sigaction(SIGBUS, &action, NULL);
	open_probe();
	faulting = mapped_beyond_its_end();
	*(volatile char *)faulting = 1;
	CHECK(seen, ==, 1);
	seen = 0;
	faulting = NULL;
	raise(SIGBUS);
	CHECK(seen, ==, 1);
	CHECK(weft_probe_process.is_cut, ==, 0);
}

static void faults(void *arg)
{
	signal(SIGBUS, arg ? SIG_IGN : SIG_DFL); /* and not cmocka's */
	open_probe();
	*(volatile char *)mapped_beyond_its_end() = 1;
}

static void raises(void *arg)
{
	signal(SIGBUS, arg ? SIG_IGN : SIG_DFL); /* and not cmocka's */
	open_probe();
	raise(SIGBUS);
}

static void not_ours(void **state)
{
	char yes;

	(void)state;
	file = probe_file(16, OURS, WEFT_CTP_TIMER);
	in_child(handler_before, NULL);
	assert_int_equal(WTERMSIG(status_of(faults, NULL)), SIGBUS);
	assert_int_equal(WTERMSIG(status_of(faults, &yes)), SIGBUS);
	assert_int_equal(WTERMSIG(status_of(raises, NULL)), SIGBUS);
	in_child(raises, &yes);
	probe_file_gone(&file);
}

/* A program that sets its own handler later, and asks. */
static void asks(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (!weft_coro_cut(info->si_addr))
		_exit(3);
}

static void handler_after(void *arg)
{
	struct sigaction action = {.sa_sigaction = asks, .sa_flags = SA_SIGINFO};
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	sigaction(SIGBUS, &action, NULL);
	CHECK(weft_coro_cut(&c), ==, 0);
	CHECK(weft_coro_cut(NULL), ==, 0);
	CHECK(truncate(file.path, 0), ==, 0);
	go_on(&c);
}

static void program_asks(void **state)
{
	(void)state;
	file = probe_file(16, OURS, WEFT_CTP_TIMER);
	in_child(handler_after, NULL);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut),           cmocka_unit_test(cut_under_threads),
		cmocka_unit_test(no_fresh_page), cmocka_unit_test(not_ours),
		cmocka_unit_test(program_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
