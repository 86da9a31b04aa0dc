/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes in the cache of unwind tables on disk. First byte even: the file
 * as it is; odd: its header and checksum are made to fit, so that the table itself is
 * judged. What is believed must be a table; what is not must be gone from the disk.
 */
#include "base/hash.h"
#include "collector/walk/table_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct table_cache cache = {.fd = -1};
static struct elf_module *module;
static char name[256];
static struct table_file sound;

/* One table saved says how the file of this module is called and begins. */
static void begin(void)
{
	const char *place = getenv("TMPDIR"); /* of run_fuzz.sh, which removes it */
	const uint8_t *id;
	char directory[256];
	size_t bytes;
	int fd;

	snprintf(directory, sizeof(directory), "%s/cache-XXXXXX", place ? place : "/tmp");
	if (!mkdtemp(directory) || elf_module_open(&module, "/proc/self/exe", -1, "self"))
		abort();
	cache.fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cache.bytes_max = TABLE_CACHE_BYTES;
	bytes = elf_module_build_id(module, &id);
	if (table_cache_save(&cache, module, elf_module_table(module)))
		abort();
	for (size_t i = 0; i < bytes; i++)
		snprintf(name + 2 * i, 3, "%02x", id[i]);
	snprintf(name + 2 * bytes, sizeof(name) - 2 * bytes, "-%016llx",
		 (unsigned long long)elf_module_fingerprint(module));
	fd = openat(cache.fd, name, O_RDONLY);
	if (fd < 0 || read(fd, &sound, sizeof(sound)) != sizeof(sound))
		abort();
	close(fd);
	/* Nobody else needs its name, and a fuzzer may end at any time. */
	unlinkat(cache.fd, name, 0);
}

static void write_file(const void *head, size_t head_bytes, const uint8_t *data, size_t size)
{
	int fd = openat(cache.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, head, head_bytes) != (ssize_t)head_bytes ||
	    write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_file head;
	struct unwind_table *table;
	struct stat st;

	if (!module)
		begin();
	if (size < 1)
		return 0;
	if (data[0] & 1) {
		head = sound;
		head.table_bytes = size - 1;
		head.checksum = 0;
		head.checksum = hash_bytes(data + 1, size - 1, hash_bytes(&head, sizeof(head), 0));
		write_file(&head, sizeof(head), data + 1, size - 1);
	} else {
		write_file(data + 1, size - 1, NULL, 0);
	}
	table = table_cache_load(&cache, module);
	if (table && (unwind_table_check(table, table->bytes) ||
		      table->machine != elf_module_machine(module)))
		abort();
	if (!table && (fstatat(cache.fd, name, &st, 0) == 0 || errno != ENOENT))
		abort();
	free(table);
	unlinkat(cache.fd, name, 0);
	return 0;
}
