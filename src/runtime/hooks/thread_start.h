/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start hook's parts (hook_thread.c), shared with the threads that libc starts itself for
 * notifications (hook_notify.c): before a thread's first own instruction, and after its last one.
 */
#ifndef WEFT_RUNTIME_THREAD_START_H
#define WEFT_RUNTIME_THREAD_START_H

#include <pthread.h>
#include <stdint.h>

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
