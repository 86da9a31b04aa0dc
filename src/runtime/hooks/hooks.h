/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposed functions of libc, and the little that they share: each group can be switched off
 * (core/hook_groups.h). The program gets what it asks for, and is shown that; whatever else weft
 * needs is done by the rooms below.
 *
 * Runs on the program's threads, before the constructor, too: then only libc's function is called.
 * In a vfork child nothing is done between vfork and exec.
 *
 *   hook_thread.c   pthread_create: the start hook
 *   thread_start.h  its parts, for other threads
 *   hook_notify.c   threads that libc begins (SIGEV_THREAD)
 *   hook_name.c     names of threads
 *   hook_fork.c     _Fork and clone
 *   hook_exec.c     exec and spawn
 *   environment.c   what children are told
 *   hook_exit.c     _exit
 *   hook_signal.c   sigaction, sigprocmask and their like
 *   hook_wait.c     waits for signals, or with masks
 *   hook_jump.c     sigsetjmp, siglongjmp
 *   hook_profil.c   gprof
 *   hook_modules.c  dlclose
 *   hook_mlock.c    mlockall
 *   hook_prctl.c    seccomp, names
 *   patch.c         hooks of a library loaded late
 *   patch_module.c  one module's call slots
 *   patch_old.c     old versions of timer_create
 */
#ifndef WEFT_RUNTIME_HOOKS_H
#define WEFT_RUNTIME_HOOKS_H

#include "runtime/core/hook_groups.h"
#include "runtime/core/own.h"

/* hook_name.c: the calling thread was given this name. */
void weft_name_own(const char *name);

#endif
