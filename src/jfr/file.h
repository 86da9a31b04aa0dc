/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's file, which only ever grows by whole pieces: an append that fails is cut
 * off again, so that at every moment (but within an append) the file ends with the last
 * whole piece.
 */
#ifndef WEFT_JFR_FILE_H
#define WEFT_JFR_FILE_H

#include <stdint.h>
#include <sys/uio.h>

struct file {
	int fd;
	int regular; /* can be cut; a pipe cannot */
	int broken;  /* -errno: the tail could not be cut off, nothing more may follow */
	uint64_t bytes;
};

/*
 * Creates @path with mode 0600. An older regular file there is unlinked, not written over:
 * whoever has it open or mapped keeps it.
 */
int file_create(struct file *f, const char *path);

/* All of @parts or nothing. 0 or -errno. Changes @parts. */
int file_append(struct file *f, struct iovec *parts, int count);

int file_close(struct file *f); /* fsync and close; 0 or -errno */

#endif
