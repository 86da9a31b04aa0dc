/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of other people as JSON. */
#ifndef WEFT_REPORT_JSON_VALUE_H
#define WEFT_REPORT_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>

/* A value beyond 2^63 - 1 is given as that. */
json_t *json_number(uint64_t value);
/* What is no UTF-8 is shown as such bytes are: '?'. */
json_t *json_text(const char *s);

#endif
