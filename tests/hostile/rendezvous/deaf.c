/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaf LIBRARY COMMAND...: runs the command with LIBRARY preloaded under a collector that never
 * answers, as one that is stopped, and says when all is over how long each of its programs had been
 * ready to wait, in milliseconds, a line each in the order in which they came. No more than 128 of
 * them find room before its socket. Nobody else reads patience_ms of struct weft_hello.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/rendezvous.h>

#define ROOM 128

static int listen_at(const char *path)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL)}};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, ROOM) ||
	    utimensat(AT_FDCWD, path, times, 0))
		return -1;
	return fd;
}

static void tell_of(int fd)
{
	struct weft_hello hello;

	if (recv(fd, &hello, sizeof(hello), 0) == (ssize_t)sizeof(hello))
		printf("%u\n", (unsigned int)hello.patience_ms);
	else
		printf("nothing\n");
	close(fd);
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/weft-deaf-XXXXXX", path[64];
	int listener, fd, status = 1;
	pid_t pid;

	if (argc < 3 || !mkdtemp(directory))
		return 2;
	snprintf(path, sizeof(path), "%s/socket", directory);
	listener = listen_at(path);
	pid = listener < 0 ? -1 : fork();
	if (pid == 0) {
		setenv("LD_PRELOAD", argv[1], 1);
		setenv("WEFT_SOCKET", path, 1);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	while ((fd = accept(listener, NULL, NULL)) >= 0)
		tell_of(fd);
	unlink(path);
	rmdir(directory);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
