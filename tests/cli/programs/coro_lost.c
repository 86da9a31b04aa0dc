/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines that are only told of: 20 workers that wait and are woken, one whose wakeup is lost
 * (it comes while it still runs), one that is woken and never resumed, one that is created and
 * never resumed, one that runs and does not yield, one that is over. Then "ready" on standard
 * output, and a wait for a signal, or, with an argument, the end.
 */
#include <stdio.h>
#include <unistd.h>

#include <weft/coro.h>

#define WORKERS 20

#define PLACE(name)                                                                                \
	__attribute__((noinline)) static void name(void)                                           \
	{                                                                                          \
		__asm__ volatile("");                                                              \
	}
/* clang-format off */
PLACE(wait_for_work)
PLACE(wait_for_reply)
PLACE(wait_for_turn)
PLACE(spin_for_ever)
/* clang-format on */

static struct weft_coro workers[WORKERS], lost, late, idle, greedy, done;

static void one_turn(struct weft_coro *c, void (*where)(void))
{
	weft_coro_resume(c, (const void *)where);
	weft_coro_suspend(c, (const void *)where);
	weft_coro_wake(c);
}

static void create(struct weft_coro *c, uint64_t id)
{
	struct weft_coro_options options = {
		.size = sizeof(options), .id = id, .site = (const void *)wait_for_turn};

	weft_coro_create(c, &options);
}

int main(int argc, char **argv)
{
	(void)argv;
	for (uint64_t i = 0; i < WORKERS; i++)
		create(&workers[i], 100 + i);
	create(&lost, 7);
	create(&late, 8);
	create(&idle, 9);
	create(&greedy, 10);
	create(&done, 11);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < WORKERS; i++)
			one_turn(&workers[i], wait_for_work);
		one_turn(&lost, wait_for_reply);
		one_turn(&late, wait_for_turn);
		one_turn(&done, wait_for_turn);
	}
	weft_coro_destroy(&done);
	weft_coro_resume(&lost, (const void *)wait_for_reply);
	weft_coro_wake(&lost);
	weft_coro_suspend(&lost, (const void *)wait_for_reply);
	weft_coro_resume(&greedy, (const void *)spin_for_ever);
	if (argc > 1)
		return 0;
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	pause();
	return 0;
}
