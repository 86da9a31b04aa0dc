/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines with contexts, to be looked at from outside: one thread rests in one, another goes
 * from its own context to one coroutine, to a second on top of it, and back, for ever. Wherever
 * a span is 0x100N its trace id is sixteen bytes of N, and its label `who` says tN. "ready".
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weft/coro_carry.h>
#include <weft/labels.h>

#define CARRY (&weft_coro_carry_v1)

static unsigned int begun;

static void become(int n)
{
	struct weft_context c = {.span_id = 0x1000u + (uint64_t)n, .root_span_id = 0x2000};
	char who[8];
	struct weft_label label = {"who", 3, who, 0, WEFT_LABEL_SET};

	memset(c.trace_id, n, sizeof(c.trace_id));
	label.value_bytes = (size_t)snprintf(who, sizeof(who), "t%d", n);
	weft_context_update(&c, &label, 1, 0);
}

static struct weft_coro *born(struct weft_coro *coro, int n)
{
	coro->id = (uint64_t)n;
	coro->flags = WEFT_CORO_DETACHED;
	CARRY->create(coro, 1);
	CARRY->resume(coro, 1);
	become(n);
	CARRY->suspend(coro, 1);
	return coro;
}

static void *rest(void *arg)
{
	static struct weft_coro coro;

	become(1);
	CARRY->resume(born(&coro, 2), 1);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return arg;
}

static void *go(void *arg)
{
	static struct weft_coro one, other;

	become(3);
	born(&one, 4);
	born(&other, 5);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	for (;;) {
		CARRY->resume(&one, 1);
		CARRY->resume(&other, 1);
		CARRY->suspend(&other, 1);
		CARRY->suspend(&one, 1);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, rest, NULL) || pthread_create(&thread, NULL, go, NULL))
		return 1;
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
