/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target played by a test: joins a collector over its real socket and holds the mapped
 * session, in which it may then do what it likes.
 */
#ifndef WEFT_TEST_TARGET_H
#define WEFT_TEST_TARGET_H

#include <weft/abi/rendezvous.h>

struct target {
	struct weft_session_header *header;
	uint64_t bytes;
};

/* 0, or the welcome's status, or -errno. */
int target_join(struct target *t, const char *socket);
void target_leave(struct target *t);

struct weft_slot *target_slot(const struct target *t, uint32_t index);
uint64_t *target_state(const struct target *t, uint32_t index);

/* Claim slot @index as generation @generation, LIVE. */
struct weft_slot *target_claim(const struct target *t, uint32_t index, uint64_t generation);

/* A sample without a stack to speak of, at the head of the slot's ring. 0 when it is full. */
int target_sample(const struct target *t, uint32_t index, uint64_t generation, uint64_t time_ns,
		  uint32_t weight, uint64_t span);

/* Any bytes at the head of the slot's ring, published. */
void target_publish(const struct target *t, uint32_t index, const void *data, uint32_t bytes);

/* A record of the dictionary log. */
void target_log(const struct target *t, enum weft_log_type type, uint32_t id, const char *text);

#endif
