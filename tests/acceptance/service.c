/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service that knows nothing of weft and says who it is in OpenTelemetry's process context.
 *
 *	service NAME VERSION MS [VERSION MS]...
 *
 * Burns so much CPU time as each version, one after the other. Before it goes on to the next, and
 * before it ends, it sleeps until it gets SIGUSR1. From the second version on there is no "team".
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../stranger_process.h"

#define MS UINT64_C(1000000)

/* Two halves, so that what a reader may still read stays as it is. */
static uint8_t payload[2][512];
static struct weft_otel_process_header *header;

/* attributes = 1 { key = 1, value = 2 { string = 1 } }; all is shorter than 128 bytes. */
static uint8_t *put_attribute(uint8_t *at, const char *key, const char *value)
{
	size_t k = strlen(key), v = strlen(value);
	const uint8_t head[] = {0x0a, (uint8_t)(k + v + 6), 0x0a, (uint8_t)k};
	const uint8_t middle[] = {0x12, (uint8_t)(v + 2), 0x0a, (uint8_t)v};

	at = (uint8_t *)memcpy(at, head, sizeof(head)) + sizeof(head);
	at = (uint8_t *)memcpy(at, key, k) + k;
	at = (uint8_t *)memcpy(at, middle, sizeof(middle)) + sizeof(middle);
	return (uint8_t *)memcpy(at, value, v) + v;
}

static void publish(const char *name, const char *version, int half)
{
	uint8_t *message = payload[half & 1], *at = message + 3;
	size_t bytes;

	at = put_attribute(at, "service.name", name);
	at = put_attribute(at, "service.version", version);
	if (half == 0)
		at = put_attribute(at, "team", "till");
	/* resource = 1, its length in two bytes */
	bytes = (size_t)(at - message) - 3;
	message[0] = 0x0a;
	message[1] = (uint8_t)(bytes & 0x7f) | 0x80;
	message[2] = (uint8_t)(bytes >> 7);
	stranger_process_publish(header, message, bytes + 3, (uint64_t)half + 1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("");
}

int main(int argc, char **argv)
{
	sigset_t go;
	int signal;

	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	header = stranger_process_map();
	if (argc < 4 || !header) {
		fputs("usage: service NAME VERSION MS [VERSION MS]...\n", stderr);
		return 2;
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (int i = 2; i + 1 < argc; i += 2) {
		publish(argv[1], argv[i], i / 2 - 1);
		burn(strtoull(argv[i + 1], NULL, 10) * MS);
		sigwait(&go, &signal);
	}
	return 0;
}
