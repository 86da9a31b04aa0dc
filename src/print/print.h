/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of recordings, printed: in the order of their ends within each chunk, as the JDK's
 * `jfr print` has them.
 *
 * Protocol: printer_new, then for each recording printer_open, printer_step until it does not
 * give -EAGAIN, printer_close; then printer_end, printer_free. Memory: 16 bytes for each event
 * of a chunk (at most 64 MiB: a larger chunk is several), and what the reader needs; with
 * contexts also those of a chunk, and those that reach beyond theirs.
 *
 *   print.c       recordings, chunk by chunk
 *   select.c      which types are shown
 *   plan.c        how a class is printed
 *   form.c        the table of forms
 *   text.c        text, for eyes
 *   text_java.c   threads, classes, frames in it
 *   json.c        JSON
 *   xml.c         XML
 *   times.c       times as Java writes them
 *   decimal.c     floating-point, likewise
 *   common_time.c one clock for all chunks
 *   context.c     contextual events that are open
 */
#ifndef WEFT_PRINT_PRINT_H
#define WEFT_PRINT_PRINT_H

#include "print/select.h"

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

struct form;
struct output;
struct printer;

struct print_options {
	const struct form *form; /* print/form.h */
	uint64_t stack_depth;
	int with_context;
	struct print_select *select;
	uint64_t most_values; /* of one event; 0 = a million */
	size_t most_bytes;    /* into memory: -EFBIG once there are more; 0 = no limit */
};

/* Totals, of all recordings so far. */
struct print_totals {
	uint64_t events;
	uint64_t cut; /* events whose rest is null, or that lack a context, for it is too large */
	uint64_t contexts_left_out; /* more reached beyond their chunks than are kept */
	int output_rc;              /* of writing: 0 or -errno; nothing more is printed */
};

/* NULL: no memory. Both arguments are used until printer_free(). @out NULL: into memory. */
struct printer *printer_new(const struct print_options *options, struct output *out);
/* What was printed into memory so far; until the next step. */
const char *printer_text(const struct printer *p, size_t *bytes);
void printer_free(struct printer *p);

/*
 * @open: the same recording once more, from its start (NULL with errno), to look for contexts
 * beforehand; NULL: only those of the same chunk are shown. 0 or -errno.
 */
int printer_open(struct printer *p, struct weft_jfr_reader *r,
		 struct weft_jfr_reader *(*open)(const void *arg), const void *arg);
/*
 * Prints all there is. 0: to the end; -EAGAIN: more may come (weft_jfr_open_follow()); -EBADMSG,
 * -ENOMEM: printer_error() says where it is damaged, and what is whole was printed; or the
 * output's error.
 */
int printer_step(struct printer *p);
const char *printer_error(const struct printer *p);
void printer_close(struct printer *p);

/* What stands behind all events. 0 or -errno. */
int printer_end(struct printer *p);
void printer_totals(const struct printer *p, struct print_totals *out);
/* Offers the names of all event types of the open recording: to say what may have been meant. */
void printer_types(const struct printer *p, void (*offer)(const char *name, void *arg), void *arg);

#endif
