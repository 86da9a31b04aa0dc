/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported symbol by which two copies of the runtime in one process find each other.
 * Part of the binary interface between different versions of weft: fields are appended,
 * never changed; a copy that does not know the version leaves the other alone.
 */
#ifndef WEFT_RUNTIME_COPIES_H
#define WEFT_RUNTIME_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include <weft/labels.h>

#define WEFT_RUNTIME_V1_VERSION 1

struct weft_custom_labels_set;
struct weft_custom_labels_v1;
struct weft_coro_carry_v1;
struct weft_event_v1;
struct weft_prepared_v1;

struct weft_runtime_v1 {
	uint32_t size;
	uint32_t version;
	int (*is_ready)(void); /* 1: begun, and not itself a guest */
	/* Passes the distance of the other's TLS pointer; sets *guard to the fork guard. 0 or
	 * -1. */
	int (*join)(int64_t tls_offset, const uint32_t **guard);
	struct weft_slot *(*claim)(void); /* stores all copies' TLS pointers */
	uint32_t (*tag_intern)(const char *string);
	int (*tag_name)(unsigned int n, const char *name);
	/* For libcustomlabels-weft.so; a guest passes it on to its master. Not in handlers. */
	void (*labels_join)(const struct weft_custom_labels_v1 *library);
	/* Is @set one of weft's, of whichever thread? */
	int (*labels_is_weft)(const struct weft_custom_labels_set *set);
	/* The calling thread's visible set; NULL: none yet. */
	struct weft_custom_labels_set *(*labels_visible)(void);
	/* weft_context_update() for labels only. */
	int (*labels_update)(struct weft_label *labels, size_t count);
	/* The calling thread's pointer was changed. */
	void (*labels_changed)(void);
	int (*otel_resource)(const char *key, const char *value);
	int (*otel_options)(const char *root_key, const char *schema);
	void (*otel_join)(int64_t distance); /* of the other's otel_thread_ctx_v1 */
	/* Labels and formats: weft/labels.h, weft/publish.h. A guest writes contexts itself and
	 * then has the master publish. */
	void (*publish)(struct weft_slot *slot, unsigned int changed);
	void (*scope_restore)(struct weft_slot *slot, const struct weft_scope *scope);
	enum weft_label_result (*label_set)(const char *key, size_t key_bytes, const char *value,
					    size_t value_bytes);
	size_t (*labels_clear)(void);
	enum weft_label_result (*context_update)(const struct weft_context *context,
						 struct weft_label *labels, size_t count,
						 unsigned int flags);
	int (*label_key)(const char *key);
	int (*publish_select)(unsigned int formats);
	unsigned int (*publish_selected)(void);
	const struct weft_coro_carry_v1 *coro;
	const struct weft_event_v1 *event; /* event.h */
	/* In a guest: its master, for a third copy whose lookup finds only the guest; else NULL. */
	const struct weft_runtime_v1 *(*master)(void);
	const struct weft_prepared_v1 *prepared; /* below; weft/prepared.h */
};

struct weft_prepared;
struct weft_attached;

struct weft_prepared_v1 {
	struct weft_prepared *(*prepare)(const struct weft_context *context,
					 struct weft_label *labels, size_t count);
	void (*free)(struct weft_prepared *prepared);
	void (*attach)(struct weft_attached *before, const struct weft_prepared *prepared);
	void (*detach)(struct weft_attached *before);
};

/* In a guest its master, which does what the guest is called for; else NULL. */
const struct weft_runtime_v1 *weft_copies_master(void);

/* Its functions for prepared contexts. (A master's table is never smaller than a guest's.) */
static inline const struct weft_prepared_v1 *weft_prepared_master(void)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->prepared : NULL;
}

/* For the table (start/copies_table.c). */
int weft_copies_is_ready(void);
int weft_copies_join(int64_t tls_offset, const uint32_t **guard);

/* A copy that began before @own, and now knows where our TLS pointer lies; NULL: there is none.
 * weft_copies_follow() makes it the master. */
const struct weft_runtime_v1 *weft_copies_find(const struct weft_runtime_v1 *own);
void weft_copies_follow(const struct weft_runtime_v1 *other);

extern const struct weft_runtime_v1 weft_runtime_v1;

#endif
