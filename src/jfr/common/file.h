/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's file, which only ever grows by whole pieces: an append that fails is cut
 * off again, so that at every moment (but within an append) the file ends with the last
 * whole piece. Or it is replaced, in one step, by a file without the oldest pieces.
 */
#ifndef WEFT_JFR_FILE_H
#define WEFT_JFR_FILE_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct file {
	int fd;
	int regular; /* can be cut; a pipe cannot */
	int locked;  /* until it is closed */
	int broken;  /* -errno: the tail could not be cut off, nothing more may follow */
	uint64_t bytes;
	char *path; /* of a file that can be replaced, with no links in it; else NULL */
};

/*
 * Creates @path with mode 0600, as base/output.h has it of a growing output: an older file is
 * replaced, not written over, so that whoever has it open or mapped keeps it.
 */
int file_create(struct file *f, const char *path);

/* A file that is open already, from where it stands on. The caller keeps @fd. */
int file_from(struct file *f, int fd);

/*
 * file_make_replaceable() - file_replace() will be called. 0; -ESPIPE: no regular file, or a
 * descriptor of the caller's; -errno: its directory cannot be written.
 */
int file_make_replaceable(struct file *f, const char *path);

/*
 * file_replace() - another file takes its name: its bytes from @from on, then @parts. 0; -errno,
 * then all is as it was: -ESTALE when somebody else's file has the name now. Changes @parts.
 */
int file_replace(struct file *f, uint64_t from, struct iovec *parts, int count);

/* Writes all of @parts to @fd; *written counts up. 0 or -errno. */
int file_write_all(int fd, struct iovec *part, int count, uint64_t *written);

/* Appends all of @parts or nothing. 0 or -errno. Changes @parts. */
int file_append(struct file *f, struct iovec *parts, int count);

int file_close(struct file *f); /* fsync and close; 0 or -errno */

#endif
