/* SPDX-License-Identifier: Apache-2.0 */
/* table_seeds DIRECTORY: inputs for fuzz_table: this program's own table, and material. */
#include "elf/module.h"

#include <stdio.h>

static FILE *seed(const char *directory, const char *name, int kind)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "wb");
	if (f)
		fputc(kind, f);
	return f;
}

int main(int argc, char **argv)
{
	const struct unwind_table *table;
	struct elf_module *m = NULL;
	unsigned int number = 1;
	FILE *f;

	if (argc != 2 || elf_module_open(&m, "/proc/self/exe", -1, "self"))
		return 1;
	table = elf_module_table(m);
	f = seed(argv[1], "own", 0);
	if (!table || !f)
		return 1;
	fwrite(table, 1, table->bytes, f);
	fclose(f);
	elf_module_free(m);
	f = seed(argv[1], "recipe", 1);
	if (!f)
		return 1;
	for (int i = 0; i < 4000; i++) {
		number = number * 1103515245 + 12345;
		fputc((int)(number >> 16 & 0xff), f);
	}
	return fclose(f) != 0;
}
