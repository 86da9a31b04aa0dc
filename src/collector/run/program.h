/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at a program before it is started: can it be recorded by a preloaded library? Finds it
 * like execvp(3) and follows #! lines like the kernel. Also starts it, with the signal mask and the
 * limits that weft itself was started with.
 */
#ifndef WEFT_COLLECTOR_PROGRAM_H
#define WEFT_COLLECTOR_PROGRAM_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* program_find() - the path of a command. 0, -ENOENT, -EACCES, -ENAMETOOLONG, -EISDIR. */
int program_find(const char *command, char *path, size_t bytes);

enum program_verdict {
	PROGRAM_FINE = 0,
	PROGRAM_STATIC,  /* runs, unrecorded; its dynamic children are recorded */
	PROGRAM_SETUID,  /* the loader ignores preloads: setuid or setgid */
	PROGRAM_CAPABLE, /* the same: file capabilities */
	PROGRAM_32_BIT,
	PROGRAM_MACHINE,    /* for another machine */
	PROGRAM_ASAN,       /* the sanitizer's runtime must be the first library */
	PROGRAM_NOT_ELF,    /* neither ELF nor #! */
	PROGRAM_UNREADABLE, /* may be run but not read: nothing is known of it */
};

/*
 * program_look() - examine @path. @subject (PATH_MAX bytes) is set to the file that the verdict is
 * about: an interpreter, when there are #! lines. 0 and *verdict, or -errno.
 */
int program_look(const char *path, enum program_verdict *verdict, char *subject);

/* Why it cannot be recorded, as a clause; "" for PROGRAM_FINE. */
const char *program_reason(enum program_verdict verdict);

/*
 * program_preload() - the variable LD_PRELOAD as a recorded program gets it, "LD_PRELOAD=...":
 * @libraries (one, or several with colons between them) in front of what it has, but behind
 * AddressSanitizer's runtime. Freed by the caller; NULL: no memory.
 */
char *program_preload(const char *libraries);

/*
 * program_filters() - "WEFT_FILTERS=N": the system call filters that we run under ourselves, and so
 * know not to kill, are a program's that we start, too. NULL: there are none, or the user knows of
 * more. Lives until the next call.
 */
const char *program_filters(void);

/* What weft changes for itself, and a program gets back as it was. */
struct program_life {
	sigset_t mask;
	struct rlimit files;  /* RLIMIT_NOFILE */
	unsigned int ignored; /* libc's own signals that were: bit 0 is signal 32 */
};

/*
 * program_prepare() - save all that in @life, before any thread is begun; block @blocked and raise
 * the limit of open files: the collector needs four for each process.
 */
void program_prepare(struct program_life *life, const sigset_t *blocked);

/*
 * program_spawn() - run @path with @argv and @envp by @exec: execve(2), or execvpe(3). @life is
 * given back to it, nothing else is changed: same process group, same descriptors. 0 and *pid, or
 * -errno of the exec.
 */
typedef int program_exec(const char *path, char *const argv[], char *const envp[]);
int program_spawn(program_exec *exec, const char *path, char **argv, char **envp,
		  const struct program_life *life, pid_t *pid);

/*
 * program_start() - the same of a program that is recorded, with program_preload(@libraries),
 * program_filters(), and WEFT_SOCKET as @socket.
 */
int program_start(const char *path, char **argv, const char *libraries, const char *socket,
		  const struct program_life *life, pid_t *pid);

#endif
