/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines that end in each way, without stacks: they only tell.
 *
 *   10 that are destroyed while suspended, long after that was read
 *   1 that goes on until the end, and is destroyed while suspended, at once
 *   1 that is destroyed as the program's last act, long after it suspended
 *   1 that is destroyed while it runs
 *   1 that is never heard of again, and is not destroyed
 */
#include <time.h>
#include <unistd.h>

#include <weft/coro.h>

enum { EARLY = 10, BUSY = EARLY, LATE, RUNNING, STUCK, COUNT };

static struct weft_coro coro[COUNT];

static __attribute__((noinline)) void waits_here(void)
{
	__asm__ volatile("");
}

static void turn(struct weft_coro *c)
{
	weft_coro_resume(c, (void *)(uintptr_t)waits_here);
	weft_coro_suspend(c, (void *)(uintptr_t)waits_here);
}

int main(void)
{
	for (int i = 0; i < COUNT; i++)
		weft_coro_create(&coro[i], NULL);
	for (int i = 0; i < COUNT; i++)
		turn(&coro[i]);
	usleep(300000);
	for (int i = 0; i < EARLY; i++)
		weft_coro_destroy(&coro[i]);
	weft_coro_resume(&coro[RUNNING], NULL);
	weft_coro_destroy(&coro[RUNNING]);
	for (int i = 0; i < 20; i++) {
		turn(&coro[BUSY]);
		usleep(50000);
	}
	weft_coro_destroy(&coro[BUSY]);
	weft_coro_destroy(&coro[LATE]);
	return 0;
}
