/* SPDX-License-Identifier: Apache-2.0 */
/* Rendezvous that killed collectors have left behind: see stale_remove() in rendezvous.h. */
#include "collector/run/rendezvous.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define OLD_SECONDS 60
#define LETTERS 6

static int is_old(const struct stat *st)
{
	return st->st_uid == geteuid() && st->st_mtim.tv_sec + OLD_SECONDS < time(NULL);
}

/* "123.sock" of a process that is gone, or "socket", at which a program's own collector listens. */
static int is_our_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	if (!strcmp(name, "socket"))
		return 1;
	return digits && !strcmp(name + digits, ".sock") && kill((pid_t)atoi(name), 0) &&
	       errno == ESRCH;
}

static int nobody_listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), refused;

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	refused =
		connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

static int is_dead_socket(const char *directory, const char *name, char *path, size_t room)
{
	int n = snprintf(path, room, "%s/%s", directory, name);
	struct stat st;

	return n > 0 && (size_t)n < room && is_our_name(name) && !lstat(path, &st) &&
	       S_ISSOCK(st.st_mode) && is_old(&st) && nobody_listens(path);
}

static int is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* How many entries a directory has that are no dead sockets; @removes: dead ones are removed. */
static size_t look_through(const char *directory, int removes)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	size_t others = 0;
	char path[512];

	if (!dir)
		return 1;
	while ((entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (!is_dead_socket(directory, entry->d_name, path, sizeof(path)))
			others++;
		else if (removes)
			unlink(path);
	}
	closedir(dir);
	return others;
}

static int is_made_for_one(const char *name, const char *prefix)
{
	size_t bytes = strlen(prefix);

	if (strncmp(name, prefix, bytes) != 0 || strlen(name) != bytes + LETTERS)
		return 0;
	for (const char *at = name + bytes; *at; at++)
		if (!isalnum((unsigned char)*at))
			return 0;
	return 1;
}

static void remove_directory(const char *path)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || (st.st_mode & 07777) != 0700 ||
	    !is_old(&st) || look_through(path, 0))
		return;
	look_through(path, 1);
	rmdir(path); /* fails when something has come meanwhile */
}

void stale_remove(const char *directory, const char *prefix)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char path[512];

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int n = snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);

		if (n < 0 || (size_t)n >= sizeof(path) || is_dots(entry->d_name))
			continue;
		if (is_made_for_one(entry->d_name, prefix))
			remove_directory(path);
		else if (strcmp(entry->d_name, "socket") != 0 &&
			 is_dead_socket(directory, entry->d_name, path, sizeof(path)))
			unlink(path);
	}
	closedir(dir);
}
