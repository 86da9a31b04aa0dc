/* SPDX-License-Identifier: Apache-2.0 */
/* A label's value in the calling thread, as text: valid until the thread asks again. */
#ifndef WEFT_TESTS_LABEL_VALUE_H
#define WEFT_TESTS_LABEL_VALUE_H

#include <sys/types.h>

#include <weft/labels.h>

static inline const char *value_of(const char *key)
{
	static __thread char value[512];
	ssize_t bytes = weft_label_get(key, value, sizeof(value) - 1);

	value[bytes < 0 ? 0 : bytes] = '\0';
	return bytes < 0 ? "(none)" : value;
}

#endif
