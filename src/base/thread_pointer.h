/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's thread pointer, from which static TLS is addressed. */
#ifndef WEFT_BASE_THREAD_POINTER_H
#define WEFT_BASE_THREAD_POINTER_H

static inline char *weft_thread_pointer(void)
{
	char *at;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(at));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(at));
#endif
	return at;
}

#endif
