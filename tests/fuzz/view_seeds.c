/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings whose events are known, for a fuzzer to start from.  usage: view_seeds DIR */
#include "recordings.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	static const char *const names[] = {"queue",      "shop",   "inline", "foreign",
					    "twice",      "labels", "waits",  "lines",
					    "weightless", "ticks",  "silent", "odd"};
	char path[4096];

	for (size_t i = 0; argc == 2 && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]);
		if (recordings_write(names[i], path))
			return 1;
	}
	return argc != 2;
}
