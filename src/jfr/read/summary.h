/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many events of each type a recording holds, and how many bytes: counted by walking from
 * size to size, without looking at what the events say.
 */
#ifndef WEFT_JFR_SUMMARY_H
#define WEFT_JFR_SUMMARY_H

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

struct jfr_row {
	const char *name; /* of the type; lives as long as the reader */
	uint64_t count, bytes;
};

struct jfr_summary {
	struct jfr_row *rows; /* a name each, most events first, then by name */
	size_t count;
	uint64_t chunks, bytes;        /* that are whole */
	unsigned int major, minor;     /* of the first chunk */
	int64_t start_ns, duration_ns; /* of the first chunk; of all together */
	struct jfr_row undeclared;     /* events of types that no metadata has */
};

/*
 * Reads @r, which gave no event yet, to its end. 0, or -errno with weft_jfr_error(): then @out says
 * what came before the damage. It has to be freed in either case.
 */
int jfr_summarize(struct weft_jfr_reader *r, struct jfr_summary *out);
void jfr_summary_free(struct jfr_summary *s);

#endif
