/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared file of cTP (weft/abi/ctp.h), mapped: made by an engine, or somebody's opened.
 * Nothing in it is trusted: max_stations counts only as far as the file reaches, as fstat says;
 * whoever reads goes through a guard, for the file may be cut short while it is mapped.
 */
#ifndef WEFT_CORO_SHM_H
#define WEFT_CORO_SHM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weft/abi/ctp.h>

struct coro_shm {
	struct weft_ctp_header *header;
	struct weft_ctp_station *stations;
	uint32_t count;  /* stations that the mapping holds */
	int is_extended; /* the header has weft's extensions */
	int is_writable;
	int fd;
	uint64_t bytes;
	dev_t device;
	ino_t inode;
	/* Mapped for the same work. Where its file has no room the page becomes private memory. */
	void *beside;
	uint64_t beside_bytes;
};

/* What may be in the way of a new file. */
enum coro_shm_replace {
	CORO_SHM_NEVER,     /* anything there: -EEXIST */
	CORO_SHM_LEFT_OVER, /* a cTP file that no engine has locked and no process has mapped */
};

/*
 * Makes a file of @count stations (1 .. 2^32 - 1), sparse, mode 0600, never through a symlink,
 * and holds a lock on it while it is open. -EEXIST, -ELOOP, -EBUSY (it is live), -ENOSPC ...
 */
int coro_shm_create(struct coro_shm *shm, const char *path, uint32_t count,
		    enum coro_shm_replace replace);
/* Opens one. @writable: to take over as its engine (takes the lock). -EBADMSG: no cTP file. */
int coro_shm_open(struct coro_shm *shm, const char *path, int writable);
/* Does the file begin like one? Whether it is whole, coro_shm_open() finds out. */
int coro_shm_is(const char *path);
void coro_shm_close(struct coro_shm *shm);

/* Calls @each for every process that has the file mapped, until it returns not 0. */
int coro_shm_each_user(const struct coro_shm *shm, int (*each)(void *arg, pid_t pid), void *arg);

/* The stations that were ever had, as far as they can be believed. */
uint32_t coro_shm_allocated(const struct coro_shm *shm);

/*
 * Runs @work; 0 or what it returned; -EIO when the mapping was cut short under it, or its disk
 * is full (SIGBUS). What was missing is zeros from then on, so that it may be tried again.
 * @work holds no lock and no memory across a read of the mapping.
 */
int coro_shm_guard(const struct coro_shm *shm, int (*work)(void *arg), void *arg);

#endif
