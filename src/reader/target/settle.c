/* SPDX-License-Identifier: Apache-2.0 */
/* Readings that are proved: see settle.h. */
#include "reader/target/settle.h"

#include <errno.h>
#include <time.h>

#define PAUSE_NS 50000

/* None before the first attempt, then longer each time: a change rarely takes long. */
static void pause_before(int attempt)
{
	struct timespec t = {0, PAUSE_NS * attempt};

	if (attempt)
		nanosleep(&t, NULL);
}

/* -EAGAIN: not proved. */
static int by_seq(struct settle *s, uint64_t seq_at, settle_read read, void *arg)
{
	uint64_t before, after, digest;
	int rc = target_read_u64(s->target, seq_at, &before), read_rc;

	if (rc || before & 1)
		return rc ? rc : -EAGAIN;
	read_rc = read(arg, &digest);
	rc = target_read_u64(s->target, seq_at, &after);
	if (rc || before != after)
		return rc ? rc : -EAGAIN;
	s->by_seq += read_rc != -EAGAIN;
	return read_rc;
}

/* -ENOTSUP: there is no such proof here. */
static int by_still(struct settle *s, int32_t tid, settle_read read, void *arg)
{
	uint64_t digest;
	int rc = s->never_still ? -ENOTSUP : still_begin(&s->still, s->target->proc_fd, tid);
	int read_rc;

	if (rc)
		return rc;
	read_rc = read(arg, &digest);
	rc = still_end(&s->still, s->target->proc_fd, tid);
	if (rc != 1)
		return rc ? rc : -EAGAIN;
	s->by_still += read_rc != -EAGAIN;
	return read_rc;
}

static int by_equal(struct settle *s, settle_read read, void *arg)
{
	uint64_t first = 0, digest = 0;
	int first_rc = read(arg, &first);

	for (int i = 1; i < SETTLE_EQUAL; i++)
		if (read(arg, &digest) != first_rc || digest != first)
			return -EAGAIN;
	s->by_equal += first_rc != -EAGAIN;
	return first_rc;
}

int settle(struct settle *s, int32_t tid, uint64_t seq_at, settle_read read, void *arg)
{
	uint64_t digest;
	int rc = -EAGAIN;

	if (s->is_stopped)
		return read(arg, &digest);
	for (int i = 0; i < SETTLE_TRIES && seq_at && rc == -EAGAIN; i++) {
		rc = by_seq(s, seq_at, read, arg);
		s->unproved += rc == -EAGAIN;
	}
	for (int i = 0; i < SETTLE_TRIES && rc == -EAGAIN; i++) {
		pause_before(i);
		rc = by_still(s, tid, read, arg);
		if (rc == -ENOTSUP)
			rc = seq_at ? -EAGAIN : by_equal(s, read, arg);
		s->unproved += rc == -EAGAIN;
	}
	s->torn += rc == -EAGAIN;
	return rc;
}

struct pointed {
	const struct target *target;
	const struct settle_pointer *pointer;
	uint64_t seq_at; /* that proves this reading; 0 = none does */
};

static int settle_follow(void *arg, uint64_t *digest)
{
	const struct pointed *l = arg;
	const struct settle_pointer *p = l->pointer;
	uint64_t address;
	int rc = target_read_u64(l->target, p->variable, &address);

	*digest = 0;
	if (rc == 0 && l->seq_at && p->seq_of(p->arg, address) != l->seq_at)
		rc = -EAGAIN; /* it leads to what is another slot's by now */
	return rc ? rc : p->copy(l->target, address, p->room, digest);
}

int settle_pointer(struct settle *s, int32_t tid, const struct settle_pointer *p)
{
	struct pointed l = {.target = s->target, .pointer = p};
	uint64_t address = 0;
	int rc = target_read_u64(s->target, p->variable, &address);

	if (rc || !address)
		return rc ? rc : -ENODATA;
	l.seq_at = p->seq_of ? p->seq_of(p->arg, address) : 0;
	return settle(s, tid, l.seq_at, settle_follow, &l);
}

void settle_close(struct settle *s)
{
	still_close(&s->still);
}
