/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring-waits ROUNDS: waits for completions of io_uring as liburing's io_uring_wait_cqe does, behind
 * some CPU time each, and prints "waits N cut M lost L": how many waits failed with EINTR, and how
 * many completions did not come. A wait that was cut short is made again. "none": no io_uring here.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 4
#define WAIT_NS 200000
#define BURN_TURNS 60000

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static volatile unsigned long sink;

static void *ring_map(int fd, size_t bytes, off_t offset)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

static int ring_open(struct ring *r)
{
	struct io_uring_params p;
	uint8_t *sq, *cq;

	memset(&p, 0, sizeof(p));
	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (r->fd < 0)
		return 0;
	sq = ring_map(r->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	r->sqes = ring_map(r->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (!sq || !cq || !r->sqes)
		return 0;
	r->sq_tail = (void *)(sq + p.sq_off.tail);
	r->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	r->sq_array = (void *)(sq + p.sq_off.array);
	r->cq_head = (void *)(cq + p.cq_off.head);
	r->cq_tail = (void *)(cq + p.cq_off.tail);
	r->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	r->cqes = (void *)(cq + p.cq_off.cqes);
	return 1;
}

static int ring_submit_timeout(struct ring *r, struct __kernel_timespec *wait, uint64_t number)
{
	unsigned int tail = *r->sq_tail, at = tail & *r->sq_mask;
	struct io_uring_sqe *sqe = &r->sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_TIMEOUT;
	sqe->fd = -1;
	sqe->addr = (uint64_t)(uintptr_t)wait;
	sqe->len = 1;
	sqe->user_data = number;
	r->sq_array[at] = at;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	return (int)syscall(SYS_io_uring_enter, r->fd, 1, 0, 0, NULL, 0);
}

/* 1: the completion of @number is there. */
static int ring_take(struct ring *r, uint64_t number)
{
	unsigned int head = *r->cq_head;
	int is_it;

	if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return 0;
	is_it = r->cqes[head & *r->cq_mask].user_data == number;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return is_it;
}

int main(int argc, char **argv)
{
	struct __kernel_timespec wait = {.tv_nsec = WAIT_NS};
	long rounds = argc > 1 ? atol(argv[1]) : 1000, cut = 0, lost = 0;
	struct ring ring;

	if (!ring_open(&ring)) {
		printf("none\n");
		return 0;
	}
	for (long i = 1; i <= rounds; i++) {
		int taken = 0;

		for (int k = 0; k < BURN_TURNS; k++)
			sink = sink + 1;
		if (ring_submit_timeout(&ring, &wait, (uint64_t)i) != 1)
			return 1;
		while (!(taken = ring_take(&ring, (uint64_t)i))) {
			long n = syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS,
					 NULL, 0);

			if (n < 0 && errno != EINTR)
				break;
			cut += n < 0;
		}
		lost += !taken;
	}
	printf("waits %ld cut %ld lost %ld\n", rounds, cut, lost);
	return 0;
}
