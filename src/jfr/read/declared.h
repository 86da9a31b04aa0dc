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
 * Reads @r, which gave no event yet, to its end. 0, or -errno with weft_jfr_error(): then @out has
 * the types of the chunks before. It has to be freed in either case.
 */
int jfr_declared(struct weft_jfr_reader *r, struct jfr_declared *out);
void jfr_declared_free(struct jfr_declared *d);

#endif
