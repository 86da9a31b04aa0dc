/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knock [PATH...]: connects to each of the sockets without end, and in turn says nothing and stays,
 * says hello, says half of it, asks for other settings, or leaves at once. Told to end (SIGTERM),
 * it prints for each path how many of its connections succeeded:
 *
 *   1 4711
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <weft/abi/rendezvous.h>

#define HELD 200
#define PATHS_MAX 8
#define BATCH 1000 /* between looks at the signal */

enum way { STAY, HELLO, HALF, SETTINGS, LEAVE, WAYS };

static volatile sig_atomic_t is_over;
static int held[HELD];
static unsigned int turn;

static void end(int signo)
{
	(void)signo;
	is_over = 1;
}

static void say(int fd, enum way way)
{
	struct weft_hello hello = {.magic = WEFT_RENDEZVOUS_MAGIC,
				   .version = WEFT_RENDEZVOUS_VERSION,
				   .pid = getpid()};
	struct {
		struct weft_set set;
		char text[32];
	} question = {.set = {.magic = WEFT_SET_MAGIC, .version = WEFT_RENDEZVOUS_VERSION},
		      .text = "*#enabled=false\n"};
	const void *what = way == SETTINGS ? (const void *)&question : (const void *)&hello;
	size_t bytes = sizeof(hello);

	question.set.text_bytes = (uint32_t)strlen(question.text);
	if (way == SETTINGS)
		bytes = sizeof(question.set) + question.set.text_bytes;
	if (way == HALF)
		bytes /= 2;
	if (way != STAY && way != LEAVE && send(fd, what, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return; /* refused */
}

/* Never waits; 1: it was let in. */
static int knock(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), *place;

	if (fd < 0)
		return 0;
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return 0;
	}
	say(fd, turn % WAYS);
	if (turn++ % WAYS == LEAVE) {
		close(fd);
		return 1;
	}
	place = &held[turn % HELD];
	if (*place)
		close(*place);
	*place = fd;
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long in[PATHS_MAX] = {0};
	int paths = argc - 1 < PATHS_MAX ? argc - 1 : PATHS_MAX;

	signal(SIGTERM, end);
	while (!is_over && paths > 0)
		for (int i = 0; i < BATCH; i++)
			for (int p = 0; p < paths; p++)
				in[p] += (unsigned long)knock(argv[p + 1]);
	for (int p = 0; p < paths; p++)
		printf("%d %lu\n", p + 1, in[p]);
	return 0;
}
