/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rendezvous.h
 * How a process joins a recording: one question and one answer over a Unix socket
 * (SOCK_SEQPACKET) whose path stands in the environment variable WEFT_SOCKET.
 *
 *   runtime                               collector
 *     connect
 *     struct weft_hello          ------>  checks SO_PEERCRED and the fields, opens a pidfd,
 *                                         creates, sizes, fills and seals the session memfd,
 *                                         reads /proc/PID/maps
 *     struct weft_welcome        <------  with the session by SCM_RIGHTS when status is 0,
 *                                         and the table memfd when tables_bytes is not 0
 *     maps them, closes the descriptors and the socket
 *
 * The runtime closes the socket after the answer and keeps no descriptor. Death of the
 * target is seen by pidfd, never by the socket. A second hello of the same pid means that
 * the process has exec'ed (or re-joined): its older session is over. But if that is still mapped,
 * the hello comes from a second runtime in the same program, and is answered -ECANCELED.
 * Either side refuses a message of another magic, size or version.
 *
 * Who may connect. The socket's mode is 0600: the kernel lets nobody else in. Beside one of root's
 * there may be a second, of mode 0666, whose path is the first's with WEFT_RENDEZVOUS_OTHERS behind
 * it: there processes are answered that the recorded program has started and that have become
 * another user's, and no struct weft_set. The path has a number in it that only the recorded
 * programs are told. A runtime that may not connect to the first (EACCES) tries the second; one
 * that is older than this rule gives up, and its program runs unrecorded.
 *
 * How long a runtime waits, for connection and answer together: WEFT_RENDEZVOUS_PATIENCE_MS; but
 * WEFT_RENDEZVOUS_HURRY_MS if the socket file's modification time is not in whole seconds. Whoever
 * has waited in vain sets it to now (utimensat(2) without times, for which write permission is
 * enough); the collector sets it to a whole second when it begins to listen, and as soon as all who
 * came have been answered. So of all programs that are begun while the collector is stopped only
 * those that wait at the same moment as the first wait long. A file system that keeps whole seconds
 * alone knows no hurry; where the file system is read-only for the program it cannot say so, and
 * each waits long. A collector that is older than this rule never sets a whole second, so that
 * newer runtimes never wait long for it.
 */
#ifndef WEFT_ABI_RENDEZVOUS_H
#define WEFT_ABI_RENDEZVOUS_H

#include "session.h"

#define WEFT_RENDEZVOUS_MAGIC 0x54464557u /* "WEFT" */
#define WEFT_RENDEZVOUS_VERSION 1
#define WEFT_RENDEZVOUS_OTHERS "+"
#define WEFT_RENDEZVOUS_PATIENCE_MS 1000
#define WEFT_RENDEZVOUS_HURRY_MS 50

/*
 * Another question by the same socket: change settings while recording (`weft set`).
 *
 *   asker                                 collector
 *     struct weft_set, then      ------>  checks SO_PEERCRED (same user, or root) and each line;
 *     text_bytes of lines                 all of them apply, or none
 *     "GLOB#SETTING=VALUE\n"
 *     struct weft_set_answer,    <------  the text: what is wrong with a line, or the names of the
 *     then its text                       types that changed, a line each
 */
#define WEFT_SET_MAGIC 0x53464557u /* "WEFS" */
#define WEFT_SET_TEXT_MAX 4096

struct weft_set {
	uint32_t magic;      /* 0x00 WEFT_SET_MAGIC */
	uint32_t version;    /* 0x04 WEFT_RENDEZVOUS_VERSION */
	int32_t pid;         /* 0x08 whose events; 0 = of all that are recorded */
	uint32_t text_bytes; /* 0x0C 1 .. WEFT_SET_TEXT_MAX */
};

struct weft_set_answer {
	uint32_t magic;      /* 0x00 WEFT_SET_MAGIC */
	uint32_t version;    /* 0x04 */
	int32_t status;      /* 0x08 how many types changed (may be 0), or -errno */
	uint32_t text_bytes; /* 0x0C 0 .. WEFT_SET_TEXT_MAX */
};

enum weft_hello_flag {
	WEFT_HELLO_FORKED = 1 << 0, /* a forked child that did not exec */
	WEFT_HELLO_ROOT = 1 << 1,   /* began the collector itself (WEFT_RECORD) */
	/** The collector attached to this process's own session (header.attach_number): the
	 * answer brings the table memfd alone, total_bytes is 0. */
	WEFT_HELLO_ATTACHED = 1 << 2,
};

struct weft_hello {
	uint32_t magic;           /* 0x00 */
	uint32_t version;         /* 0x04 */
	uint32_t flags;           /* 0x08 enum weft_hello_flag */
	int32_t pid;              /* 0x0C as the process sees itself */
	int32_t parent_pid;       /* 0x10 as the process sees it; 0 = none */
	uint32_t runtime_version; /* 0x14 */
	uint32_t patience_ms;     /* 0x18 how long it waits; 0 = not told. No collector reads it */
	uint32_t rsv0;            /* 0x1C zero */
	uint64_t rsv[4];          /* 0x20 zero */
};

struct weft_welcome {
	uint32_t magic;        /* 0x00 */
	uint32_t version;      /* 0x04 */
	int32_t status;        /* 0x08 0, or -errno: not recorded (-ECANCELED: not wanted) */
	int32_t collector_pid; /* 0x0C */
	uint64_t total_bytes;  /* 0x10 size of the memfd */
	uint64_t tables_bytes; /* 0x18 size of the table memfd, a second descriptor; 0 = none */
	uint64_t rsv[4];       /* 0x20 zero */
};

WEFT_ABI_ASSERT(sizeof(struct weft_hello) == 64, "hello");
WEFT_ABI_OFFSET(weft_hello, magic, 0x00);
WEFT_ABI_OFFSET(weft_hello, version, 0x04);
WEFT_ABI_OFFSET(weft_hello, flags, 0x08);
WEFT_ABI_OFFSET(weft_hello, pid, 0x0C);
WEFT_ABI_OFFSET(weft_hello, parent_pid, 0x10);
WEFT_ABI_OFFSET(weft_hello, runtime_version, 0x14);
WEFT_ABI_OFFSET(weft_hello, patience_ms, 0x18);
WEFT_ABI_ASSERT(sizeof(struct weft_welcome) == 64, "welcome");
WEFT_ABI_OFFSET(weft_welcome, magic, 0x00);
WEFT_ABI_OFFSET(weft_welcome, version, 0x04);
WEFT_ABI_OFFSET(weft_welcome, status, 0x08);
WEFT_ABI_OFFSET(weft_welcome, collector_pid, 0x0C);
WEFT_ABI_OFFSET(weft_welcome, total_bytes, 0x10);
WEFT_ABI_OFFSET(weft_welcome, tables_bytes, 0x18);

WEFT_ABI_ASSERT(sizeof(struct weft_set) == 16, "set");
WEFT_ABI_OFFSET(weft_set, pid, 0x08);
WEFT_ABI_OFFSET(weft_set, text_bytes, 0x0C);
WEFT_ABI_ASSERT(sizeof(struct weft_set_answer) == 16, "set answer");
WEFT_ABI_OFFSET(weft_set_answer, status, 0x08);
WEFT_ABI_OFFSET(weft_set_answer, text_bytes, 0x0C);

#endif
