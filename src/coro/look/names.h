/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code addresses in traced processes: from a process's own mappings while it lives, or
 * from mappings that were noted beside a trace. One thread at a time; may take long at a file's
 * first address.
 */
#ifndef WEFT_CORO_NAMES_H
#define WEFT_CORO_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct coro_names;

#define CORO_NAME_BYTES 256

struct coro_names *coro_names_new(void); /* or NULL */
void coro_names_free(struct coro_names *names);

/*
 * Adds the code that process @pid has mapped. @inode: only if it has the file with this inode
 * mapped, for the pid may be another's by now; 0 = in any case. How many mappings, or -errno;
 * -ESRCH: it is another process, or gone.
 */
int coro_names_process(struct coro_names *names, uint32_t pid, dev_t device, ino_t inode);

/* Adds an executable that is not position-independent, at the addresses that its file has. */
int coro_names_file(struct coro_names *names, const char *path);

/* Gives a name to an address; the first name of an address stays. */
int coro_names_say(struct coro_names *names, uint64_t address, const char *name, size_t bytes);

/* Adds the mappings noted beside a trace (maps_note.h): how many, or -errno. */
int coro_names_noted(struct coro_names *names, const char *path);

/*
 * "function+0x1c", "file.so+0x123", or "0x..." where nothing names it; "-" for 0. @pid 0: of any
 * process. Returns @out.
 */
const char *coro_names_text(struct coro_names *names, uint32_t pid, uint64_t address,
			    char out[CORO_NAME_BYTES]);

#endif
