/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which event types are shown: those that any glob matches, of names (whole, or without the
 * package) or of categories (also by the first letters of their words: JVM is "Java Virtual
 * Machine"). As in the JDK's tool a glob has * and ?, and case counts.
 */
#ifndef WEFT_PRINT_SELECT_H
#define WEFT_PRINT_SELECT_H

#include <weft/jfr.h>

#include <stddef.h>

struct select_glob {
	const char *text; /* as typed, without blanks around it */
	int is_category;
	int hits; /* types that it matched so far */
};

struct print_select {
	struct select_glob *globs;
	size_t count; /* 0: all types */
};

void select_free(struct print_select *s);
/* 0 or -ENOMEM. Blanks around @text do not count. */
int select_add(struct print_select *s, const char *text, int is_category);
/* Is it shown? Counts the hits. */
int select_matches(struct print_select *s, const struct weft_jfr_class *type);

#endif
