/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata event: a tree of elements with attributes, all of whose texts are indices
 * into one string table that precedes the tree.
 *
 *	root > metadata > class*  > field* , annotation*
 *	     > region
 */
#ifndef WEFT_JFR_METADATA_H
#define WEFT_JFR_METADATA_H

#include "base/buf.h"

#include <stdint.h>

struct type_list; /* declare.h */

/*
 * String table and tree for the built-in types and @declared, without the event's header.
 * The same declarations give the same bytes. 0 or -ENOMEM.
 */
int metadata_build(struct buf *out, const struct type_list *declared, long gmt_offset_s);

#endif
