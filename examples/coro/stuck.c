/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests on fibers, one of which never comes back.
 *
 *   stuck-c [--lose] [REQUESTS [THREADS]]       (60 on 3)
 *
 * Each request is a fiber with a context of its own (a span, a label): it computes, asks the store
 * (a fiber too) by its mailbox, waits for the reply, rests, computes, and is served. With --lose
 * the request in the middle waits as one must not: it looks for the reply, finds none, and goes to
 * wait for it, but the reply came in between. Whoever sent it found nobody to wake.
 *
 *   weft coro run --extended -o stuck.jsonl -- stuck-c --lose
 *   weft coro report --stuck 500ms stuck.jsonl
 *
 * The host of all of them waits for the last one, a second at the most, and asks the store
 * meanwhile.
 */
#include "fiber.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/context.h>
#include <weft/labels.h>

struct request {
	struct message message; /* to the store */
	struct reply reply;
	unsigned int number;
	int loses;
};

struct shop {
	unsigned int requests, threads, loses;
	atomic_uint served;
	atomic_ullong sum; /* so that the work is for something */
	struct mailbox store;
};

static struct shop shop = {.requests = 60, .threads = 3};

static __attribute__((noinline)) uint64_t compute(uint64_t seed, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds * 1000; i++)
		seed = (seed << 7 | seed >> 57) * 31 ^ i;
	return seed;
}

static void store(void *arg)
{
	struct mailbox *box = arg;

	for (;;) {
		struct request *request = (struct request *)mailbox_receive(box);

		reply_put(&request->reply, compute(request->number, 50));
	}
}

/* Not inlined into the fiber's function: what is the thread's (a context is) is not kept over a
 * switch. */
static __attribute__((noinline)) void works_for(const struct request *request)
{
	static const char *const routes[] = {"/cart", "/checkout", "/search"};

	weft_context_set(0x1000 + request->number, 0x1000 + request->number);
	weft_label_set("route", routes[request->number % 3]);
}

static void serve(void *arg)
{
	struct request *request = arg;
	uint64_t value;

	works_for(request);
	value = compute(request->number, 200);
	mailbox_send(&shop.store, &request->message);
	if (request->loses)
		value += reply_take_too_late(&request->reply);
	else
		value += reply_take(&request->reply);
	fiber_sleep_ms(request->number % 4);
	value += compute(value, 200);
	atomic_fetch_add(&shop.sum, value);
	atomic_fetch_add(&shop.served, 1);
	free(request);
}

/* The host's own question: the store is seen to be well as long as anybody waits. */
static void ask(void)
{
	struct request question = {.reply.lock = PTHREAD_MUTEX_INITIALIZER};

	mailbox_send(&shop.store, &question.message);
	reply_take(&question.reply);
	pthread_mutex_lock(&question.reply.lock); /* the store is out of it */
	pthread_mutex_unlock(&question.reply.lock);
}

static void host(void *arg)
{
	(void)arg;
	mailbox_init(&shop.store);
	if (fiber_spawn(store, &shop.store) < 0)
		return;
	for (unsigned int i = 1; i <= shop.requests; i++) {
		struct request *request = calloc(1, sizeof(*request));

		if (!request)
			return;
		pthread_mutex_init(&request->reply.lock, NULL);
		request->number = i;
		request->loses = i == shop.loses;
		if (fiber_spawn(serve, request) < 0)
			return;
		fiber_sleep_ms(1);
	}
	for (int left = 100; left > 0 && atomic_load(&shop.served) < shop.requests;) {
		ask();
		fiber_sleep_ms(10);
		left -= atomic_load(&shop.served) + 1 >= shop.requests;
	}
}

static unsigned int count_of(const char *text) /* 0: none */
{
	long count = strtol(text, NULL, 10);

	return count > 0 && count <= 1000000 ? (unsigned int)count : 0;
}

int main(int argc, char **argv)
{
	int is_lossy = argc > 1 && strcmp(argv[1], "--lose") == 0;

	argv += is_lossy;
	argc -= is_lossy;
	if (argc > 1)
		shop.requests = count_of(argv[1]);
	if (argc > 2)
		shop.threads = count_of(argv[2]);
	if (is_lossy)
		shop.loses = (shop.requests + 1) / 2;
	if (!shop.requests || !shop.threads || fiber_run(shop.threads, host, NULL) < 0) {
		fprintf(stderr, "usage: stuck-c [--lose] [REQUESTS [THREADS]]\n");
		return 2;
	}
	printf("served %u of %u (%llx)\n", atomic_load(&shop.served), shop.requests,
	       atomic_load(&shop.sum));
	return 0;
}
