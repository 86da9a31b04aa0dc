/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that somebody else would have the loader put into a program: when it is loaded, it
 * leaves the file that HOSTILE_MARK names, with the number of the user who ran it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void hostile_begin(void)
{
	const char *path = getenv("HOSTILE_MARK");
	FILE *mark = path ? fopen(path, "we") : NULL;

	if (!mark)
		return;
	fprintf(mark, "%u\n", (unsigned int)geteuid());
	fclose(mark);
}
