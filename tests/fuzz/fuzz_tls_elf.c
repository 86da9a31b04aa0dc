/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as an ELF file that is asked how its thread-local variables are
 * reached, as a program and as a library. What it answers must be of use: a
 * model that there is, an alignment that can be counted with.
 */
#include "reader/tls/tls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"custom_labels_current_set", "otel_thread_ctx_v1",
				    "weft_thread_slot", ""};

static void ask(int fd, const char *name, int is_program)
{
	struct tls_symbol found;
	int rc;

	memset(&found, 0xA5, sizeof(found));
	rc = tls_elf_find(fd, name, is_program, &found);
	if (rc > 0)
		abort();
	if (rc)
		return;
	if (found.model > TLS_LOCAL_DYNAMIC || (found.alignment & (found.alignment - 1)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask(fd, names[i], 0);
		ask(fd, names[i], 1);
	}
	return 0;
}
