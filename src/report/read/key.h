/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples are grouped and selected by. A key gives a sample one id (its span, its thread, its
 * stack, ...), or one for each of its frames (function, module, line). Ids of different keys are
 * different things, even where they are equal.
 */
#ifndef WEFT_REPORT_KEY_H
#define WEFT_REPORT_KEY_H

#include "report/read/model.h"

enum key_kind {
	KEY_FUNCTION,
	KEY_STACK,
	KEY_SPAN,
	KEY_ROOT,
	KEY_TRACE,
	KEY_THREAD,
	KEY_PROCESS,
	KEY_MODULE,
	KEY_LINE,
	KEY_STATE,
	KEY_COROUTINE,
	KEY_SITE,
	KEY_TAG,
	KEY_LABEL,
	KEY_RESOURCE,
	KEY_NO_KIND,
};

struct key {
	enum key_kind kind;
	char text[512]; /* as given: "span", "tag:route", "label:http.route" */
	uint32_t tag;   /* of what a context has: id in model.keys, of tags and labels once bound;
			 * of an attribute of a resource: id in model.resources.keys */
	uint32_t tag_type; /* KEY_TAG: only from events of this type; 0 = any */
	int unknown; /* KEY_TAG, KEY_LABEL, KEY_RESOURCE: the recording does not have it; after
			key_bind() */
};

/* "function, stack, ..., resource:KEY" for messages, without the kind @but. */
const char *key_choices(enum key_kind but);
/* Reads a key's name. NAME of a tag is a field's name, or Type.field; KEY of a label or a resource
 * is as the program gave it. 0 or -EINVAL. */
int key_parse(struct key *k, const char *text);
/* What makes a name of model.keys a key's text: "tag:", or "", for labels have their prefix. */
const char *key_prefix(const char *name);
/* What stands behind "tag:", "label:" or "resource:"; the whole of another text. */
const char *key_bare(const char *text);
/* Gives the tag, label or attribute its numbers in this model. */
void key_bind(struct key *k, struct model *m);

/* Has a sample one for each frame? */
int key_is_per_frame(const struct key *k);
/* A frame's id of a key that is per frame; never 0. */
uint32_t key_of_frame(const struct key *k, struct model *m, const struct frame *f);
/* A sample's id of another key; 0 = none. */
uint32_t key_of_sample(const struct key *k, struct model *m, const struct sample *s);

/* An id as people read it: "(none)" for 0, "root;...;leaf" for a stack. The caller frees it. */
char *key_name(const struct key *k, const struct model *m, uint32_t id);

/*
 * A line as people read it: "function file.c:42", or the file's whole path with @whole; less
 * where less is known. The caller frees it; NULL: out of memory.
 */
char *key_line_name(const struct model *m, const struct source_line *line, int whole);
/* "a.c" of "/src/a.c". */
const char *key_base_name(const char *path);

#define KEY_UNKNOWN_FUNCTION "[unknown]"
#define KEY_UNKNOWN_MODULE "[unknown]"

#endif
