/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of other people as JSON, and how a value is written. */
#ifndef WEFT_REPORT_JSON_VALUE_H
#define WEFT_REPORT_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* A value beyond 2^63 - 1 is given as that. */
json_t *json_number(uint64_t value);
/* A text that is no UTF-8 is read as Latin-1, byte for byte. NULL: out of memory. */
json_t *json_bytes(const char *text, size_t bytes);
/* The same up to its NUL; null for NULL. */
json_t *json_text(const char *s);

/* json_object_get() and _set_new() under a name that is out of a file, and made a key as
 * json_text() does. */
json_t *json_named(const json_t *o, const char *name);
int json_set_named(json_t *o, const char *name, json_t *value);

#define JSON_PRETTY (JSON_INDENT(2) | JSON_REAL_PRECISION(9))
/* Writes @value and a newline, and frees @value. @flags: jansson's. 0 or -errno; NULL is -ENOMEM,
 * so that the value can be made in the call. */
int json_emit(json_t *value, FILE *out, size_t flags);

#endif
