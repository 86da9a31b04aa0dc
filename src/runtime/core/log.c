/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionary and module log. A record is appended to a private mirror first, and then to the
 * session, so that a forked child can replay everything that was ever logged into its own.
 *
 * One lock, private to the process. It is never held while a handler of weft runs code that needs
 * it; a forking thread takes it first, so that the child finds the mirror whole. Readers of the
 * session (the collector) see a record once the log's head is beyond it.
 */
#include "runtime/core/runtime.h"

#include <string.h>

#include "runtime/core/sys.h"

struct mirror {
	uint8_t *data;
	uint64_t bytes;
	uint64_t head;
};

static struct mirror mirrors[2] = {
	[WEFT_LOG_DICT] = {.bytes = WEFT_DICT_BYTES},
	[WEFT_LOG_MODULES] = {.bytes = WEFT_MODULES_BYTES},
};
static uint32_t lock_word;

void weft_log_lock(void)
{
	while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE))
		sys_call0(SYS_sched_yield);
}

int weft_log_lock_within(uint64_t patience_ns)
{
	uint64_t began_ns = 0;

	while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE)) {
		began_ns = began_ns ? began_ns : clock_own_ns();
		if (clock_own_ns() - began_ns > patience_ns)
			return 0;
		sys_call0(SYS_sched_yield);
	}
	return 1;
}

void weft_log_unlock(void)
{
	store_release(&lock_word, 0);
}

static int mirror_open(struct mirror *m)
{
	long at;

	if (m->data)
		return 0;
	at = sys_map_memory(m->bytes);
	if (sys_is_error(at))
		return (int)at;
	weft_area_add((const void *)at, m->bytes);
	m->data = (uint8_t *)at;
	return 0;
}

static uint8_t *session_area(enum weft_log log, uint64_t *bytes, uint64_t **head)
{
	const struct weft_session_header *l = &weft_layout;
	struct weft_session_header *h = weft_rt.header;

	*bytes = log == WEFT_LOG_DICT ? l->dict_bytes : l->modules_bytes;
	*head = log == WEFT_LOG_DICT ? &h->dict_head : &h->modules_head;
	return weft_rt.base + (log == WEFT_LOG_DICT ? l->dict_offset : l->modules_offset);
}

/* Copies what the session does not have yet; a rest that does not fit is not copied at all. */
static void bring_up_to_date(enum weft_log log)
{
	const struct mirror *m = &mirrors[log];
	uint64_t bytes, *head, at;
	uint8_t *area;

	/* a child that has not noticed the fork has its parent's session */
	if (!weft_rt_has_session() || !m->data)
		return;
	area = session_area(log, &bytes, &head);
	at = load_relaxed(head);
	if (at > m->head || m->head > bytes)
		return;
	memcpy(area + at, m->data + at, m->head - at);
	store_release(head, m->head);
}

/* The caller holds the lock. */
int weft_log_append(enum weft_log log, struct weft_log_record *record, const void *first,
		    uint32_t first_bytes, const void *second, uint32_t second_bytes)
{
	struct mirror *m = &mirrors[log];
	uint64_t data_bytes = (uint64_t)first_bytes + second_bytes;
	uint64_t bytes = (sizeof(*record) + data_bytes + 7) & ~UINT64_C(7);
	int failed = mirror_open(m);
	uint8_t *to;

	if (failed)
		return failed;
	if (bytes > m->bytes - m->head) {
		if (weft_rt_is_ready())
			weft_rt_count(WEFT_COUNTER_DICT_FULL, 1);
		return -ENOSPC;
	}
	record->bytes = (uint32_t)bytes;
	record->data_bytes = (uint32_t)data_bytes;
	to = m->data + m->head;
	memcpy(to, record, sizeof(*record));
	memcpy(to + sizeof(*record), first, first_bytes);
	if (second_bytes)
		memcpy(to + sizeof(*record) + first_bytes, second, second_bytes);
	store_release(&m->head, m->head + bytes);
	bring_up_to_date(log);
	return 0;
}

const char *weft_log_last_data(enum weft_log log, const struct weft_log_record *record)
{
	return (const char *)mirrors[log].data + mirrors[log].head - record->bytes +
	       sizeof(*record);
}

void weft_log_replay(void)
{
	bring_up_to_date(WEFT_LOG_DICT);
	bring_up_to_date(WEFT_LOG_MODULES);
}
