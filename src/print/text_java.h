/* SPDX-License-Identifier: Apache-2.0 */
/* What Java has names for, each in a line of the text form: threads, classes, methods, frames. */
#ifndef WEFT_PRINT_TEXT_JAVA_H
#define WEFT_PRINT_TEXT_JAVA_H

#include "print/form.h"

/*
 * Writes a text from a recording as a terminal may see it: control characters (also those of 8
 * bits, but not line feed and tab) as \u001b, what is not UTF-8 as U+FFFD.
 */
void text_clean(struct sink *s, const char *data, size_t bytes);

/* Nodes are STRUCT; what they lack is "null". None writes a line feed. */
void text_thread(struct sink *s, const struct weft_jfr_node *n); /* "main" (javaThreadId = 1) */
void text_class(struct sink *s, const struct weft_jfr_node *n);
void text_loader(struct sink *s, const struct weft_jfr_node *n);
void text_method(struct sink *s, const struct weft_jfr_node *n); /* java.lang.String.length() */
void text_frame(struct sink *s, const struct weft_jfr_node *n);
int text_frame_is_shown(const struct weft_jfr_node *n); /* not if it is hidden */

/* jdk.types.OldObject and who refers to it, lines of their own between brackets. */
void text_old_object(struct walk *w, const struct weft_jfr_node *n, size_t indent);

#endif
