/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's end of the rendezvous (abi/rendezvous.h): a listening SOCK_SEQPACKET
 * socket in a private directory, removed at the end. The kernel lets nobody connect but the same
 * user, root, and the one for whom root has opened it. Root's recordings have a second socket, for
 * processes that they have begun and that have become other users'. Nothing here blocks.
 */
#ifndef WEFT_COLLECTOR_RENDEZVOUS_H
#define WEFT_COLLECTOR_RENDEZVOUS_H

#include <sys/socket.h>
#include <sys/types.h>
#include <weft/abi/rendezvous.h>

#define RENDEZVOUS_PATH_MAX 108 /* of sockaddr_un */

struct rendezvous {
	int fd;        /* -1: nobody is heard (any more) */
	int others_fd; /* -1: there is no second socket */
	int is_made;   /* the paths are ours, to be removed */
	int is_roots;  /* has a second socket */
	char path[RENDEZVOUS_PATH_MAX];
	char others[RENDEZVOUS_PATH_MAX];    /* of the second socket; "" = none */
	char directory[RENDEZVOUS_PATH_MAX]; /* to be removed too; "" = none */
	uid_t guests;                        /* a user who is answered beside ourselves and root */
};

#define RENDEZVOUS_CLOSED                                                                          \
	{                                                                                          \
		.fd = -1, .others_fd = -1                                                          \
	}

/*
 * rendezvous_open() - listen in $WEFT_DIR, else $XDG_RUNTIME_DIR/weft, else a new directory
 * in /tmp; with @path, there (its directory is then removed with it, if it is empty). 0 or -errno;
 * -ENAMETOOLONG when no place has a short name. Root's is in $WEFT_DIR or a new directory, which
 * others can pass, and has a second socket, for a program may give up its privileges.
 */
int rendezvous_open(struct rendezvous *r, const char *path);
/* The same, in a place of its own that processes of @guests can reach: for root. */
int rendezvous_open_for(struct rendezvous *r, uid_t guests);
void rendezvous_shut(struct rendezvous *r); /* from now on who connects is refused at once */
void rendezvous_close(struct rendezvous *r);

/* A connection, non-blocking; -EAGAIN when none waits, -EPERM when it was refused. *peer is
 * its process in our pid namespace, and its user. */
int rendezvous_accept(const struct rendezvous *r, struct ucred *peer);
/* Likewise one to the second socket, of any user: the caller must know the process. */
int rendezvous_accept_other(const struct rendezvous *r, struct ucred *peer);
/* All who came have been answered: programs wait for the answer for as long as they do. Looks at
 * nothing that changes while the rendezvous is open, so any thread may call it. */
void rendezvous_is_alive(const struct rendezvous *r);
/* To be called every few hours: who removes old files (systemd-tmpfiles) knows by /proc/net/unix
 * that a socket is in use, but there some are under another name. Likewise from any thread. */
void rendezvous_touch(const struct rendezvous *r);

/* Reads the question: 0; -EAGAIN not here yet; -EBADMSG malformed; -ECONNRESET gone. */
int rendezvous_hello(int fd, struct weft_hello *out);

/* Is the question one for settings (weft set)? 1, 0; -EAGAIN not here yet. */
int rendezvous_is_set(int fd);
/* That question; @text has room for WEFT_SET_TEXT_MAX bytes. 0 or -EBADMSG. */
int rendezvous_set(int fd, struct weft_set *out, char *text);
/* Answers it: @status types changed, or -errno; @text is for the user. 0 or -errno. */
int rendezvous_set_answer(int fd, int status, const char *text);

/* What a process is given: descriptors and their sizes. */
struct rendezvous_gift {
	int memfd; /* -1: it has one (WEFT_HELLO_ATTACHED) */
	uint64_t total_bytes;
	int tables_fd; /* used if tables_bytes is not 0 */
	uint64_t tables_bytes;
};

/* The answer: @gift, or the refusal @status (-errno) with NULL. 0 or -errno. */
int rendezvous_answer(int fd, int status, const struct rendezvous_gift *gift);

#endif
