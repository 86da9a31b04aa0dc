/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of the rendezvous: the collector's own socket is opened where it would be, this
 * process asks as a recorded program would, and a memfd must come through.
 */
#include "cli/doctor/doctor.h"

#include "collector/run/rendezvous.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MEMORY_BYTES 4096

/* The directory that the collector would make if it is not there; "" = none. */
static void wanted_directory(char *path, size_t room)
{
	const char *chosen = secure_getenv("WEFT_DIR");
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	path[0] = '\0';
	if (chosen)
		snprintf(path, room, "%s", chosen);
	else if (runtime && *runtime && geteuid() != 0)
		snprintf(path, room, "%s/weft", runtime);
}

static int doctor_rendezvous_ask(const struct rendezvous *r)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct weft_hello hello = {
		.magic = WEFT_RENDEZVOUS_MAGIC,
		.version = WEFT_RENDEZVOUS_VERSION,
		.pid = (int32_t)getpid(),
	};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, r->path, strnlen(r->path, sizeof(address.sun_path)));
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int doctor_rendezvous_answer(const struct rendezvous *r)
{
	struct weft_hello hello;
	struct ucred peer = {0};
	int memfd, err, fd = rendezvous_accept(r, &peer);

	if (fd < 0)
		return fd;
	err = rendezvous_hello(fd, &hello);
	if (!err && peer.pid != getpid())
		err = -ESRCH;
	memfd = memfd_create("weft-doctor", MFD_CLOEXEC);
	if (!err && (memfd < 0 || ftruncate(memfd, MEMORY_BYTES)))
		err = -errno;
	if (!err) {
		struct rendezvous_gift gift = {.memfd = memfd, .total_bytes = MEMORY_BYTES};

		err = rendezvous_answer(fd, 0, &gift);
	}
	if (memfd >= 0)
		close(memfd);
	close(fd);
	return err;
}

/* 0 when a memfd of the right size came with a welcome. */
static int doctor_rendezvous_receive(int fd)
{
	struct weft_welcome welcome;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {&welcome, sizeof(welcome)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *first;
	struct stat st;
	int memfd, err;

	if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != (ssize_t)sizeof(welcome))
		return errno ? -errno : -EPROTO;
	first = CMSG_FIRSTHDR(&message);
	if (!first || first->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&memfd, CMSG_DATA(first), sizeof(memfd));
	err = fstat(memfd, &st) ? -errno : st.st_size == MEMORY_BYTES ? 0 : -EPROTO;
	close(memfd);
	return err;
}

static int doctor_rendezvous_meet(const struct rendezvous *r)
{
	int fd = doctor_rendezvous_ask(r), err;

	if (fd < 0)
		return fd;
	err = doctor_rendezvous_answer(r);
	if (!err)
		err = doctor_rendezvous_receive(fd);
	close(fd);
	return err;
}

void doctor_rendezvous(struct finding *out)
{
	char directory[PATH_MAX];
	struct rendezvous r;
	int was_there, err;

	wanted_directory(directory, sizeof(directory));
	was_there = !access(directory, F_OK);
	err = rendezvous_open(&r, NULL);
	if (err) {
		finding_refused(out, FINDING_MISSING, *directory ? directory : "/tmp", -err);
	} else {
		err = doctor_rendezvous_meet(&r);
		if (err)
			finding_refused(out, FINDING_MISSING, r.path, -err);
		else
			finding_set(out, FINDING_OK, "%.*s", (int)(strrchr(r.path, '/') - r.path),
				    r.path);
		rendezvous_close(&r);
	}
	if (*directory && !was_there)
		rmdir(directory);
	finding_choose(out, "a recorded program gets its session there, over a socket; WEFT_DIR "
			    "names another place");
}
