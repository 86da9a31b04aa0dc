/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/pid_namespace.h"

#include "proc/proc_text.h"

#include <stdlib.h>

int32_t pid_innermost(const char *status, int32_t outside)
{
	const char *at = proc_line(status, "NSpid");
	int32_t number = outside;
	char *next;

	if (!at)
		return outside;
	for (; *at == '\t' || *at == ' '; at = next) {
		long one = strtol(at, &next, 10);

		if (next == at || *at == '\n')
			break;
		number = (int32_t)one;
	}
	return number;
}
