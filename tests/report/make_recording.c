/* SPDX-License-Identifier: Apache-2.0 */
/* make_recording NAME FILE: writes one of the recordings of recordings.c. */
#include "recordings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rc = argc == 3 ? recordings_write(argv[1], argv[2]) : -1;

	if (rc)
		fprintf(stderr, "make_recording: %s\n", rc == -1 ? "NAME FILE" : strerror(-rc));
	return rc != 0;
}
