/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector for one target: makes its session, serves its rendezvous, drains its samples.
 * No engine runs in the target but what the test itself sends.
 */
#ifndef TESTS_STRESS_CONTEXT_TARGET_SESSION_H
#define TESTS_STRESS_CONTEXT_TARGET_SESSION_H

#include <sys/types.h>

#include "base/ring_consumer.h"
#include "base/session_layout.h"

#define TARGET_SLOTS 192

struct target_session {
	struct weft_session_header layout, *shared;
	struct ring_reader readers[TARGET_SLOTS];
	int listener, fd;
	char folder[32], path[64];
	pid_t pid;
};

typedef void target_sample_fn(void *arg, uint32_t slot, const struct weft_sample_record *sample);

/* 0 or -errno. */
int target_session_open(struct target_session *t);

/*
 * Runs argv[0] again as the target, with @variable=@value in its environment, under the
 * words of MESON_EXE_WRAPPER if there are any (another machine's programs). 0 or -errno.
 */
int target_session_start(struct target_session *t, char **argv, const char *variable,
			 const char *value);

struct weft_slot *target_session_slot(struct target_session *t, uint32_t index);
int target_session_is_live(struct target_session *t, uint32_t index);

/* Every sample that is there; the number of records that could not be read. */
int target_session_drain(struct target_session *t, target_sample_fn *take, void *arg);

/* A counter over all slots and the header. */
uint64_t target_session_counter(struct target_session *t, enum weft_counter counter);

void target_session_close(struct target_session *t);

#endif
