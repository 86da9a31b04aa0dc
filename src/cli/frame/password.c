/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/password.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define PASSWORD_MAX 1024
#define CTRL_C 3

/* Ctrl-C ends the line and is read, so that nothing ends us while there is no echo. */
static int set_quiet(int fd, struct termios *before)
{
	struct termios quiet;

	if (tcgetattr(fd, before))
		return -1;
	quiet = *before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	quiet.c_cc[VEOL] = CTRL_C;
	return tcsetattr(fd, TCSAFLUSH, &quiet);
}

/* Bytes of a line, without its end; -1: none, or given up. */
static ssize_t password_read_line(int fd, char *line, size_t room)
{
	ssize_t n;

	do
		n = read(fd, line, room - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0 || line[n - 1] != '\n')
		return -1;
	line[n - 1] = '\0';
	return n - 1;
}

char *password_ask(const char *user, const char *server)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char line[PASSWORD_MAX], *password = NULL;
	struct termios before;

	if (fd < 0)
		return NULL;
	dprintf(fd, "Password%s%s%s%s: ", user ? " of " : "", user ? user : "",
		server ? " at " : "", server ? server : "");
	if (set_quiet(fd, &before) == 0) {
		if (password_read_line(fd, line, sizeof(line)) > 0)
			password = strdup(line);
		tcsetattr(fd, TCSAFLUSH, &before);
		dprintf(fd, "\n");
	}
	explicit_bzero(line, sizeof(line));
	close(fd);
	return password;
}
