/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads, stores and compare-and-swaps of plain integers and pointers that other threads, handlers
 * or readers outside see. The memory order is in the name; @p is an address.
 *
 * A cas_ is strong, and relaxed where it fails: 0, and the value found is in *@expected.
 */
#ifndef WEFT_BASE_ATOMIC_H
#define WEFT_BASE_ATOMIC_H

#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)

#define store_relaxed(p, value) __atomic_store_n((p), (value), __ATOMIC_RELAXED)
#define store_release(p, value) __atomic_store_n((p), (value), __ATOMIC_RELEASE)
#define store_seq_cst(p, value) __atomic_store_n((p), (value), __ATOMIC_SEQ_CST)

/* Loads between an acquire load and this fence see what that load's pair has released, or newer.
 * ThreadSanitizer understands no fences: under it each of them is an acquire, which is enough. */
#ifdef __SANITIZE_THREAD__
#define load_fenced(p) load_acquire(p)
#define FENCE_ACQUIRE() ((void)0)
#else
#define load_fenced(p) load_relaxed(p)
#define FENCE_ACQUIRE() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

/* For the compiler alone: what a handler on the same thread sees in between. */
#define KEEP_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#define cas_with(p, expected, value, order)                                                        \
	__atomic_compare_exchange_n((p), (expected), (value), 0, order, __ATOMIC_RELAXED)
#define cas_relaxed(p, expected, value) cas_with(p, expected, value, __ATOMIC_RELAXED)
#define cas_acquire(p, expected, value) cas_with(p, expected, value, __ATOMIC_ACQUIRE)
#define cas_release(p, expected, value) cas_with(p, expected, value, __ATOMIC_RELEASE)
#define cas_acq_rel(p, expected, value) cas_with(p, expected, value, __ATOMIC_ACQ_REL)

#endif
