/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_value.h"

#include <stdlib.h>
#include <string.h>

json_t *json_number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_text(const char *s)
{
	json_t *j = json_string(s);
	char *clean;

	if (j)
		return j;
	clean = strdup(s);
	for (char *c = clean; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	j = clean ? json_string(clean) : NULL;
	free(clean);
	return j;
}
