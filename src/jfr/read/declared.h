/* SPDX-License-Identifier: Apache-2.0 */
/* The types that the metadata of all chunks declare, read without the events. */
#ifndef WEFT_JFR_DECLARED_H
#define WEFT_JFR_DECLARED_H

#include <weft/jfr.h>

#include <stddef.h>

struct jfr_declared {
	const struct weft_jfr_class **classes; /* one for each id and name, the first */
	size_t count;
};

/*
 * @r must not have read an event yet; it is at its end then. @out is to be freed in any case, and
 * has the types up to an error: 0, or -errno with weft_jfr_error().
 */
int jfr_declared(struct weft_jfr_reader *r, struct jfr_declared *out);
void jfr_declared_free(struct jfr_declared *d);

#endif
