/* SPDX-License-Identifier: Apache-2.0 */
/* A program with weft: two threads with ids, a label and a tag each. "ready", then rests. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weft/context.h>
#include <weft/labels.h>

static unsigned int begun;

static void *live(void *arg)
{
	uint8_t trace[16];

	memset(trace, 0xAB, sizeof(trace));
	weft_context_set_trace(0x1111, 0x2222, trace, 1);
	weft_tag_set(0, weft_tag_intern("blue"));
	weft_label_set("tenant", arg);
	weft_label_set("route", "/a b");
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	static char tenants[2][8] = {"acme", "zeta"};
	pthread_t thread;

	weft_tag_name(0, "colour");
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, live, tenants[i]))
			return 1;
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
