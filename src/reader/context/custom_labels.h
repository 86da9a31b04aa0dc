/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label sets of Custom Labels ABI v1 (abi/custom_labels_v1.h) in another process, whoever made
 * them. A set is a chain of addresses, lengths and a count, all of them possibly lies: each is
 * bounded here, and what is longer is cut (LIVE_CUT).
 */
#ifndef WEFT_READER_CUSTOM_LABELS_H
#define WEFT_READER_CUSTOM_LABELS_H

#include "reader/target/live.h"
#include "reader/target/settle.h"
#include "reader/target/target.h"

#include <weft/abi/custom_labels_v1.h>

#define CUSTOM_LABELS_READ 256 /* labels of a set that are read, at most */
#define CUSTOM_LABELS_KEY 1024 /* bytes of a key, at most */
#define CUSTOM_LABELS_VALUE 4096
#define CUSTOM_LABELS_TEXT (64 * 1024) /* bytes of all keys and values */

/* A set as it stood there; count: labels that were read. */
struct custom_labels_copy {
	uint64_t address, count;
	struct weft_custom_labels_label label[CUSTOM_LABELS_READ];
	int is_cut;
	size_t text_bytes;
	uint8_t text[CUSTOM_LABELS_TEXT]; /* key, value, key, ... of labels whose key is not NULL */
};

/* Copy the set at @address (0: no labels), as it is right now. 0, -EFAULT, -ESRCH, -EPERM. */
int custom_labels_copy(const struct target *t, uint64_t address, struct custom_labels_copy *out);
/* For other formats that are told as such a set: an empty one; and the texts of the labels that
 * have been put into @copy, with their bounds: what is longer is cut. 0 or -errno. */
void custom_labels_empty(struct custom_labels_copy *copy, uint64_t address);
int custom_labels_copy_texts(const struct target *t, struct custom_labels_copy *copy);
uint64_t custom_labels_digest(const struct custom_labels_copy *copy);

/* Adds the labels to @out: of equal keys the first counts. @without_ids: all but the two that
 * only repeat weft's ids. */
void custom_labels_put(const struct custom_labels_copy *copy, int without_ids,
		       struct live_context *out);

/* Labels of @c that are ids by weft's convention, span-id and root-span-id in decimal, as its ids,
 * too. */
void custom_labels_parse_ids(struct live_context *c);

/*
 * custom_labels_read() - the set that the pointer at @variable leads to, in thread @tid, into
 * @out, with span-id and root-span-id as its ids, too. @seq_of: the address of the
 * sequence number that covers a set of weft's own, by the set's address; NULL = there are none. 0,
 * also with LIVE_TORN; -ENODATA: the pointer is NULL; -errno.
 */
int custom_labels_read(struct settle *s, int32_t tid, uint64_t variable,
		       uint64_t (*seq_of)(void *arg, uint64_t set), void *arg,
		       struct custom_labels_copy *room, struct live_context *out);

#endif
