/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposed functions of libc, and the little that they share: each group can be switched off
 * (core/hook_groups.c). The program gets what it asks for, and is shown that; whatever else weft
 * needs is done by the rooms below.
 *
 * Runs on the program's threads, before the constructor, too: then only libc's function is called.
 * In a vfork child nothing is done between vfork and exec.
 *
 *   hook_thread.c   pthread_create: the start hook
 *   hook_notify.c   threads that libc begins (SIGEV_THREAD)
 *   hook_fork.c     _Fork and clone
 *   hook_exec.c     exec and spawn
 *   environment.c   what children are told
 *   elf_needs.c     which of them must not load us
 *   bytes.c         memcpy and its like, for ourselves
 *   hook_exit.c     _exit
 *   hook_signal.c   sigaction, sigprocmask and their like
 *   hook_wait.c     waits for signals, or with masks
 *   hook_jump.c     sigsetjmp, siglongjmp
 *   hook_profil.c   gprof
 *   hook_modules.c  dlclose
 *   hook_mlock.c    mlockall
 *   hook_maps.c     munmap, mprotect, mmap
 *   hook_prctl.c    names of threads; prctl
 *   hook_seccomp.c  filters of system calls
 *   patch.c         hooks of a library loaded late
 *   patch_module.c  one module's call slots
 *   patch_old.c     old versions of timer_create
 */
#ifndef WEFT_RUNTIME_HOOKS_H
#define WEFT_RUNTIME_HOOKS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/runtime.h"

/* libweft-waits.so, if it is loaded: begins now if it had to wait for our beginning. */
void weft_waits_v1(void) __attribute__((weak));

/* environment.c */
void weft_environment_open(void); /* in the constructor */

/* In the constructor, if no collector was found: makes room for the socket of one that attaches.
 * @is_stale: WEFT_SOCKET named one that does not exist any more. */
void weft_environment_keep_room(int is_stale);

/* Before libc starts programs with environ: updates our string in it. */
void weft_environment_refresh(void);

/* A program that is to be started. */
struct weft_begun {
	const char *name; /* a path, or to be searched for; NULL: @fd has it */
	int fd, searches;
};

/* How an environment is changed before it is handed down. */
struct weft_environment_change {
	size_t room; /* that weft_environment_pass() needs; 0: nothing is changed */
	int leaves_us_out;
};

/* Likewise. */
struct weft_environment_change weft_environment_plan(char *const env[],
						     const struct weft_begun *program);

/* @env as it is to be passed to exec. Lives in @room. */
char **weft_environment_pass(char *const env[], const struct weft_environment_change *change,
			     void *room);

/* elf_needs.c: must AddressSanitizer's runtime be the first library of @program? */
int weft_elf_needs_sanitizer(const struct weft_begun *program);
/* Is that the name of this runtime's file? */
int weft_elf_is_sanitizer(const char *path, size_t bytes);

/* hook_seccomp.c, before a prctl: is it a filter of system calls, or the word that one comes? */
void weft_seccomp_before_prctl(long option, unsigned long a, unsigned long b);
/* Careful for no_new_privs alone: no filter was seen yet. */
int weft_seccomp_is_only_announced(void);
/* From here on our syscall() goes on to libc's in one jump. */
void weft_syscall_open(void);

/*
 * The start hook's parts (hook_thread.c), shared with the threads that libc starts itself for
 * notifications (hook_notify.c): before a thread's first own instruction, and after its last one.
 */

/* The older functions of pthread_cleanup_push, which glibc and musl export alike. */
struct weft_cleanup {
	uint64_t words[8]; /* four are used at most */
};
void weft_cleanup_push(struct weft_cleanup *at, void (*routine)(void *),
		       void *arg) __asm__("_pthread_cleanup_push") __attribute__((weak));
void weft_cleanup_pop(struct weft_cleanup *at, int run) __asm__("_pthread_cleanup_pop")
	__attribute__((weak));

struct weft_thread_stack {
	uint64_t bytes;
	uint64_t low; /* 0: @bytes below the control block */
};

/* Of a thread to be created with @attr; called by its creator. */
struct weft_thread_stack weft_thread_stack(const pthread_attr_t *attr);

void weft_thread_prime(const struct weft_thread_stack *stack); /* slot, timer and clock */
/* releases them when the thread ends */
void weft_thread_leave(void);

#endif
