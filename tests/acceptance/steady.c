/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady: uses every context call on two threads, and burns CPU time, between two marks in
 * its system calls (writes to no descriptor); in between the program itself makes none. What strace
 * shows there is weft's.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/context.h>

#define ROUNDS 4000000

static void mark(void)
{
	syscall(SYS_write, -1, "mark", 4); /* fails; seen by strace */
}

static void use_everything(uint32_t tag, uint64_t i)
{
	struct weft_context context = {.span_id = i, .root_span_id = 1, .trace_id = {1}};
	struct weft_ids before = weft_context_set(i, 1);

	context.tags[0] = tag;
	WEFT_SCOPE (&context) {
		weft_tag_set(1, tag);
		weft_context_read(&context);
	}
	weft_context_set(before.span_id, before.root_span_id);
	if (i % 1024 == 0)
		weft_context_clear();
}

static void *run(void *unused)
{
	uint32_t tag = weft_tag_intern("steady");
	volatile uint64_t sum = 0;

	weft_context_set(1, 1); /* the first use claims the slot */
	mark();
	for (uint64_t i = 0; i < ROUNDS; i++) {
		use_everything(tag, i);
		for (unsigned int k = 0; k < 100; k++)
			sum += k;
	}
	mark();
	(void)sum;
	return unused;
}

int main(void)
{
	pthread_t thread;

	weft_tag_name(0, "kind");
	weft_tag_name(1, "again");
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	run(NULL);
	pthread_join(thread, NULL);
	return puts("steady") < 0;
}
