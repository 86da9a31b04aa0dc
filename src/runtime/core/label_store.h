/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One change of a thread's labels, which passes through labels.c (what a caller wants),
 * label_store.c (the twin sets) and publish.c (who may write now, and what follows):
 *
 *   weft_write_enter()  the write is ours                      publish.c
 *   weft_store_begin()  the hidden set, like the visible one   label_store.c
 *   weft_store_put() .. changes it
 *   weft_write_finish() ids into it, flip, the other formats   publish.c
 *
 * Before a label is changed in a scope, weft_store_save() saves it (label_scopes.c).
 *
 * Which store: the thread's own, in its slot. While a coroutine runs, the one in the coroutine's
 * block; until it has a block, the slot's spare one, which holds labels 0 and 1 only
 * (label_switch.c). ext.label_store leads to the store in use.
 *
 * Wherever a write is abandoned, differ_keys and differ_values name at least the labels in which
 * the hidden set may differ from the visible one (maybe more).
 */
#ifndef WEFT_RUNTIME_LABEL_STORE_H
#define WEFT_RUNTIME_LABEL_STORE_H

#include <weft/abi/custom_labels_v1.h>

#include "runtime/core/customlabels_meet.h"
#include "runtime/core/runtime.h"

/* The values of labels 0 and 1 of a set; 0, 0 = both are absent. */
struct weft_label_ids {
	uint64_t span_id, root_span_id;
};

/* slot->label_state.owner. Writers: the thread, and its handlers where it says [handlers]. */
struct weft_label_owner {
	uint64_t busy;          /* frame address of the write in progress; 0 = none */
	uint64_t busy_since_ns; /* when a handler first found busy set */
	/* [handlers] enum weft_changed: postponed to the write in progress */
	uint32_t deferred;
	uint32_t shows_otel;   /* a record is published, and to be withdrawn */
	struct weft_meet meet; /* with libcustomlabels-weft.so */
};

/*
 * The scopes of a store, numbered inwards from the outermost one, which is 1, and what they have
 * saved (label_scopes.c). Scopes that a longjmp has left are counted, too, until that is found out.
 */
struct weft_label_scopes {
	uint64_t number;  /* [handlers] of the innermost; 0 = none */
	uint64_t newest;  /* [handlers] scope of the label saved last; 0 = none */
	uint64_t looked;  /* [handlers] scopes up to it that are still open are listed .. */
	uint64_t lost;    /* [handlers] .. except for those up to this, of which nothing is known */
	uint64_t closing; /* step of closing gaps that is in progress; 0 = none */
	uint32_t bytes;   /* of saved labels */
	uint32_t saved;   /* [handlers] number of labels that the innermost scope has saved */
	uint16_t list;    /* [handlers] which of the two lists is in use */
	uint16_t looking; /* [handlers] the other one is being written */
	uint32_t rsv;
};

/* Where scopes lie (scope_places.c): the newest ones, and older ones that are still open. */
#define WEFT_SCOPES_NEWEST 32u
#define WEFT_SCOPES_LISTED 31u
#define WEFT_SCOPE_PLACES_BYTES (WEFT_SCOPES_NEWEST * 8 + 2 * (8 + WEFT_SCOPES_LISTED * 16))

/* The words of a store. Writers as above. All zeros: not laid out yet, and the slot's own. */
struct weft_label_store {
	uint64_t sets[2];             /* A and B; 0: not laid out yet */
	uint32_t max;                 /* labels that it holds */
	uint32_t last;                /* the label whose value changed last; 0 = none */
	uint32_t differ_keys;         /* a bit per label */
	uint32_t differ_values;       /* likewise */
	struct weft_label_ids ids[2]; /* of set A, set B */
	uint32_t ids_unknown;         /* a bit per set: its labels 0 and 1 are half written */
	uint32_t saved_room;          /* bytes for what scopes save, .. */
	uint64_t saved_at;            /* .. and where they lie */
	uint64_t places;              /* [handlers] where places of scopes are kept; 0 = nowhere */
	struct weft_label_scopes scopes;
	uint64_t generation; /* of the newest change of a label */
	uint64_t shown;      /* while the thread shows another store: the set that was visible */
	uint64_t record;     /* struct weft_otel_record; 0: the slot's */
	uint64_t notes;      /* struct weft_slot_otel; 0: the slot's */
};

_Static_assert(sizeof(struct weft_label_owner) <= sizeof(((struct weft_slot_labels *)0)->owner),
	       "the owner's words have their place in the slot");
_Static_assert(sizeof(struct weft_label_store) <= sizeof(((struct weft_slot_labels *)0)->store),
	       "and so have those of its store");

/*
 * Prepared contexts that the thread has attached, outermost first (context/prepared.h). While there
 * is one, ext.label_set leads to its set; the store in use stays as it was, and is written only
 * after weft_attachments_adopt(). Behind the words of the slot's own store; zeros: none.
 */
#define WEFT_ATTACHED_MOST 8u
struct weft_attachment {
	uint64_t prepared, number; /* its address, the number of its scope */
};
struct weft_attachments {
	uint32_t depth; /* how many; readers on other threads: prepared_memory.c */
	uint32_t rsv;
	uint64_t key;             /* weft_attach_key when what follows was found */
	uint64_t shown;           /* the set that is visible without any, .. */
	uint64_t record;          /* .. and OpenTelemetry's record */
	uint64_t cell, place;     /* where readers find the two: words of the thread's, or .. */
	uint64_t read_by_none[2]; /* .. these, for a format that is off */
	struct weft_attachment at[WEFT_ATTACHED_MOST];
};

_Static_assert(sizeof(struct weft_label_store) + sizeof(struct weft_attachments) <=
		       sizeof(((struct weft_slot_labels *)0)->store),
	       "attachments have their place in the slot");

static inline struct weft_attachments *weft_attachments(const struct weft_slot *slot)
{
	return (struct weft_attachments *)((uintptr_t)slot->label_state.store +
					   sizeof(struct weft_label_store));
}

/*
 * Clears label_state. Of attachments word by word, because other threads may be looking at what the
 * slot's last owner had attached.
 */
static inline void weft_label_state_clear(struct weft_slot *slot)
{
	uint64_t *word = (uint64_t *)(void *)weft_attachments(slot);
	uint64_t *end = word + sizeof(struct weft_attachments) / sizeof(*word);

	__builtin_memset(&slot->label_state, 0, (uintptr_t)word - (uintptr_t)&slot->label_state);
	while (word < end)
		store_relaxed(word++, 0);
}

static inline struct weft_label_owner *weft_label_owner(struct weft_slot *slot)
{
	return (struct weft_label_owner *)(void *)slot->label_state.owner;
}

static inline struct weft_label_store *weft_store_own(const struct weft_slot *slot)
{
	return (struct weft_label_store *)(uintptr_t)slot->label_state.store;
}

/* The one in use. */
static inline struct weft_label_store *weft_store_now(const struct weft_slot *slot)
{
	return (struct weft_label_store *)((uintptr_t)slot->label_state.store +
					   (uintptr_t)load_relaxed(&slot->ext.label_store));
}

/*
 * Where scope @number lies: its address, if it is known, and the low bits of its number in one
 * word. (Two scopes with the same bits are too far apart to be confused.)
 */
#define WEFT_SCOPE_NUMBER_BITS UINT64_C(0x7FFFF)

static inline uint64_t *weft_scope_place(const struct weft_label_store *store, uint64_t number)
{
	return (uint64_t *)(uintptr_t)store->places + (number & (WEFT_SCOPES_NEWEST - 1));
}

static inline uint64_t weft_scope_place_word(uint64_t number, uint64_t at)
{
	return at << 16 | (number & WEFT_SCOPE_NUMBER_BITS);
}

/* 0: not known, or another scope's word. */
static inline uint64_t weft_scope_place_in(uint64_t word, uint64_t number)
{
	return (word ^ number) & WEFT_SCOPE_NUMBER_BITS ? 0 : word >> 16 & ~UINT64_C(7);
}

/* One write in progress. */
struct weft_label_change {
	struct weft_slot *slot;
	struct weft_label_owner *own;
	struct weft_label_store *store;
	struct weft_custom_labels_set *shown; /* NULL: none yet */
	struct weft_custom_labels_set *hidden;
	uint64_t frame;
	uint32_t keys, values; /* labels in which hidden differs from shown by now */
};

/* Both are set once, in the constructor. */
#pragma GCC visibility push(hidden)
extern uint32_t weft_labels_max;  /* labels per thread (WEFT_LABELS_MAX) */
extern uint32_t weft_labels_twin; /* where set B lies, from set A */
#pragma GCC visibility pop

/* Of both sets of a store, in whole words. */
static inline uint32_t weft_labels_bytes(void)
{
	return (weft_labels_twin + (uint32_t)WEFT_CUSTOM_LABELS_BLOCK_BYTES(weft_labels_max) + 7) &
	       ~7u;
}

/* NULL: it is not laid out. */
static inline struct weft_custom_labels_set *weft_store_set(const struct weft_label_store *store,
							    int which)
{
	return (struct weft_custom_labels_set *)(uintptr_t)store->sets[which];
}

static inline struct weft_custom_labels_label *
weft_store_label(const struct weft_custom_labels_set *set, uint32_t n)
{
	return (struct weft_custom_labels_label *)(uintptr_t)(set + 1) + n;
}

/* Is @set in this slot, or in a coroutine's block? */
static inline int weft_labels_is_own(const struct weft_slot *slot,
				     const struct weft_custom_labels_set *set)
{
	return (uint64_t)(uintptr_t)set - (uint64_t)(uintptr_t)slot < sizeof(*slot) ||
	       weft_block_of((uint64_t)(uintptr_t)set);
}

/* label_store.c */
void weft_store_begin(struct weft_label_change *c, struct weft_slot *slot);
/* The same for a store that need not be the one in use; @shown: which of its sets is visible. */
void weft_store_begin_at(struct weft_label_change *c, struct weft_label_store *store,
			 uint64_t shown);
/* Where the sets lie, whose content is overwritten. @saved_at, @saved_room: for scopes. */
struct weft_store_place {
	void *a, *b;
	uint32_t max;
	void *saved_at;
	uint32_t saved_room;
};
void weft_store_lay_out(struct weft_label_store *store, const struct weft_store_place *place);
/* Copies the labels of @set; @c: a write of a store that has none. */
void weft_store_copy_labels(struct weft_label_change *c, const struct weft_custom_labels_set *set);
/* Before the hidden set is shown; weft_store_committed() after it. */
void weft_store_set_generation(struct weft_label_change *c);
void weft_store_committed(struct weft_label_change *c);
/* Copies the visible set to the hidden one, except for the values of the labels in @except. */
void weft_store_sync(struct weft_label_change *c, uint32_t except);
int weft_store_find(const struct weft_custom_labels_set *set, const char *key, uint32_t bytes);
int weft_store_free_place(const struct weft_custom_labels_set *set); /* -1: none */
void weft_store_put_key(struct weft_label_change *c, uint32_t n, const char *key, uint32_t bytes);
void weft_store_put_value(struct weft_label_change *c, uint32_t n, const char *value,
			  uint32_t bytes);
void weft_store_remove(struct weft_label_change *c, uint32_t n);
void weft_store_put_ids(struct weft_label_change *c, struct weft_label_ids ids);
void weft_store_commit(struct weft_label_change *c); /* shown, in a slot that is no other's */

/* scope_places.c. @c: the change of a label for which scopes are looked at; NULL: there is none. */
void weft_scopes_scan(struct weft_label_store *store, const struct weft_label_change *c);
void weft_scopes_forget(struct weft_label_scopes *own);   /* forgets where all scopes lie */
void weft_scopes_compact(struct weft_label_store *store); /* in handlers, too */
/* After weft_scopes_scan(): the next scope outwards from @number that is still open; 0 = none. */
uint64_t weft_scopes_not_left(const struct weft_label_store *store, uint64_t number);

/* Makes @number the innermost scope. */
static inline void weft_scopes_go_back(struct weft_label_scopes *own, uint64_t number)
{
	if (UNLIKELY(own->looked > number)) {
		own->looked = number;
		own->lost = own->lost < number ? own->lost : number;
		KEEP_ORDER();
	}
	own->number = number;
}

/* A scope begins. In handlers, too. @at: its address; 0 = it may move. */
static inline void weft_scopes_enter(struct weft_label_store *store, struct weft_scope *scope,
				     uint64_t at)
{
	struct weft_label_scopes *own = &store->scopes;
	uint64_t number = own->number + 1;

	own->number = number;
	KEEP_ORDER();
	scope->labels_number = number;
	scope->labels_saved = own->saved;
	own->saved = 0;
	if (LIKELY(store->places))
		*weft_scope_place(store, number) = weft_scope_place_word(number, at);
	if (UNLIKELY(number - own->looked >= WEFT_SCOPES_NEWEST))
		weft_scopes_compact(store);
}

/* It ends, and has saved no label. */
static inline void weft_scopes_leave(struct weft_label_scopes *own, const struct weft_scope *scope)
{
	weft_scopes_go_back(own, scope->labels_number - 1);
	KEEP_ORDER();
	own->saved = scope->labels_saved;
}

/* label_scopes.c */
int weft_store_save(struct weft_label_change *c, uint32_t n); /* for the scope; 0 or -1 */
/* For scope @number, which has saved nothing yet, nor have those inside it. In handlers, too.
 * 1: there is room for no more than that the label did not exist. */
int weft_store_save_for(struct weft_label_change *c, uint32_t n, uint64_t number);
/* Puts back what the scopes from @number on have saved; returns what is left, of outer ones. */
struct weft_saved_end {
	uint32_t bytes;
	uint64_t newest; /* the newest scope that has any; 0 = none */
};
struct weft_saved_end weft_store_put_back(struct weft_label_change *c, uint64_t number);
void weft_store_copy_saved(struct weft_label_store *to, const struct weft_label_store *from);

/* publish.c. @is_label: by contract not in a handler: a write found in progress was abandoned. */
int weft_write_enter(struct weft_slot *slot, uint64_t frame, int is_label);
/*
 * Publishes the change, and with it, in one write, @context, and what @scope has saved (either may
 * be NULL). 0; -1: another write has taken over, start again.
 */
int weft_write_finish(struct weft_label_change *c, const struct weft_context *context,
		      const struct weft_scope *scope);
void weft_write_leave(struct weft_slot *slot);
/* Publishes the change beside the ids as they are. In handlers, too. 0; -1: as above. */
int weft_write_show(struct weft_label_change *c, unsigned int changed);
/* @changed: enum weft_changed; within a write. */
void weft_write_otel(struct weft_slot *slot, unsigned int changed);

/* label_places.c */
/* Lays out the slot's own store, or its spare one. */
void weft_store_make(struct weft_slot *slot, struct weft_label_store *store);
/* The store, laid out, for coroutines of this thread that have no block. */
struct weft_label_store *weft_store_spare(struct weft_slot *slot);
int weft_store_is_spare(const struct weft_slot *slot, const struct weft_label_store *store);
/* label_switch.c */
/* Makes @to the thread's store, with @context (NULL: the one it has), in one write. */
void weft_store_switch(struct weft_slot *slot, struct weft_label_store *to,
		       const struct weft_context_words *context);

/* publish_quick.c. 1: done; 0: not the usual case, and nothing has changed. */
int weft_publish_quickly(struct weft_slot *slot, uint64_t frame);

/* Copies and compares short strings of any length: the last word overlaps the one before it, so
 * that there is no loop over bytes. */
static inline __attribute__((always_inline)) void weft_bytes_copy(void *to, const void *from,
								  uint32_t bytes)
{
	unsigned char *out = to;
	const unsigned char *in = from;
	uint64_t word;
	uint32_t half;

	if (bytes >= 8) {
		for (uint32_t i = 0; i + 8 < bytes; i += 8) {
			__builtin_memcpy(&word, in + i, 8);
			__builtin_memcpy(out + i, &word, 8);
			__asm__ volatile("" : : : "memory"); /* no call of memcpy */
		}
		__builtin_memcpy(&word, in + bytes - 8, 8);
		__builtin_memcpy(out + bytes - 8, &word, 8);
	} else if (bytes >= 4) {
		__builtin_memcpy(&half, in, 4);
		__builtin_memcpy(&word, in + bytes - 4, 4);
		__builtin_memcpy(out, &half, 4);
		__builtin_memcpy(out + bytes - 4, &word, 4);
	} else if (bytes) {
		unsigned char first = in[0], middle = in[bytes / 2], last = in[bytes - 1];

		out[0] = first;
		out[bytes / 2] = middle;
		out[bytes - 1] = last;
	}
}

static inline __attribute__((always_inline)) int weft_bytes_equal(const void *one,
								  const void *other, uint32_t bytes)
{
	const unsigned char *a = one, *b = other;
	uint64_t x, y;
	uint32_t p, q;

	if (bytes >= 8) {
		for (uint32_t i = 0; i + 8 < bytes; i += 8) {
			__builtin_memcpy(&x, a + i, 8);
			__builtin_memcpy(&y, b + i, 8);
			if (x != y)
				return 0;
		}
		__builtin_memcpy(&x, a + bytes - 8, 8);
		__builtin_memcpy(&y, b + bytes - 8, 8);
		return x == y;
	}
	if (bytes >= 4) {
		__builtin_memcpy(&p, a, 4);
		__builtin_memcpy(&q, b, 4);
		if (p != q)
			return 0;
		__builtin_memcpy(&p, a + bytes - 4, 4);
		__builtin_memcpy(&q, b + bytes - 4, 4);
		return p == q;
	}
	return !bytes ||
	       (a[0] == b[0] && a[bytes / 2] == b[bytes / 2] && a[bytes - 1] == b[bytes - 1]);
}

static inline __attribute__((always_inline)) void
weft_store_fill_value(struct weft_custom_labels_set *set, uint32_t n, const char *value,
		      uint32_t bytes)
{
	struct weft_custom_labels_label *label = weft_store_label(set, n);

	weft_bytes_copy((void *)(uintptr_t)label->value.buf, value, bytes);
	label->value.bytes = bytes;
}

/* Makes seq odd; formats_seq says that the v1 record itself is whole. */
static inline void weft_formats_begin(struct weft_slot *slot)
{
	uint64_t seq = (load_relaxed(&slot->ext.seq) + 1) | 1;

	store_release(&slot->ext.formats_seq, seq);
	store_release(&slot->ext.seq, seq);
}

/* A handler may have made it even meanwhile: the next even number in either case. */
static inline void weft_formats_end(struct weft_slot *slot)
{
	uint64_t seq = load_relaxed(&slot->ext.seq);

	store_release(&slot->ext.formats_seq, 0);
	store_release(&slot->ext.seq, (seq | 1) + 1);
}

/* Shows a set in which only a value has changed; the owner's words need no change. Ends with
 * weft_formats_end(), by the caller. */
static inline __attribute__((always_inline)) void
weft_store_flip(struct weft_slot *slot, struct weft_label_store *store,
		struct weft_custom_labels_set *hidden, uint64_t *cell)
{
	uint64_t set = (uint64_t)(uintptr_t)hidden, generation = store->generation + 1;

	store->generation = generation;
	*((uint64_t *)(void *)hidden - 1) = generation;
	weft_formats_begin(slot);
	store_release(&slot->ext.label_generation, (uint32_t)generation);
	store_release(&slot->ext.label_set, set);
	if (cell)
		store_release(cell, set);
}

#endif
