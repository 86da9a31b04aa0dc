/* SPDX-License-Identifier: Apache-2.0 */
/* See modules.h. */
#include "modules.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULES_MAX 128

struct mapped {
	uint64_t start, end, bias;
	struct elf_module *elf;
	int is_shared; /* elf belongs to an earlier one */
};

struct modules {
	struct mapped mapped[MODULES_MAX];
	size_t count;
	pid_t pid;
};

static void add_image(struct modules *m, struct mapped *added)
{
	size_t bytes = added->end - added->start;
	char path[64], *image = malloc(bytes);
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)m->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !image || pread(fd, image, bytes, (off_t)added->start) != (ssize_t)bytes)
		abort();
	close(fd);
	if (elf_module_open_image(&added->elf, image, bytes, "[vdso]") != 0)
		abort();
	added->bias = added->start;
	free(image);
}

static struct elf_module *find_opened(const struct modules *m, const char *path)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(elf_module_name(m->mapped[i].elf), path) == 0)
			return m->mapped[i].elf;
	return NULL;
}

static int add_file(struct modules *m, struct mapped *added, const char *path, uint64_t offset)
{
	uint64_t address;

	added->elf = find_opened(m, path);
	added->is_shared = added->elf != NULL;
	if (!added->elf && elf_module_open(&added->elf, path, -1, path) != 0)
		return 0;
	if (elf_module_address(added->elf, offset, &address) != 0)
		abort();
	added->bias = added->start - address;
	return 1;
}

struct modules *modules_of(pid_t pid)
{
	struct modules *m = calloc(1, sizeof(*m));
	char line[4096], path[4096], flags[8];
	FILE *maps;

	m->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		abort();
	while (m->count < MODULES_MAX && fgets(line, sizeof(line), maps)) {
		struct mapped added = {.start = 0};
		uint64_t offset;

		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s",
			   &added.start, &added.end, flags, &offset, path) < 4 ||
		    flags[2] != 'x')
			continue;
		if (strcmp(path, "[vdso]") == 0)
			add_image(m, &added);
		else if (path[0] != '/' || !add_file(m, &added, path, offset))
			continue;
		m->mapped[m->count++] = added;
	}
	fclose(maps);
	return m;
}

void modules_free(struct modules *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->mapped[i].is_shared)
			elf_module_free(m->mapped[i].elf);
	free(m);
}

static struct mapped *find_mapped(struct modules *m, uint64_t pc)
{
	for (size_t i = 0; i < m->count; i++)
		if (pc >= m->mapped[i].start && pc < m->mapped[i].end)
			return &m->mapped[i];
	return NULL;
}

int modules_find(void *modules, uint64_t pc, struct unwind_module *out)
{
	struct mapped *found = find_mapped(modules, pc);

	if (!found)
		return -1;
	out->start = found->start;
	out->end = found->end;
	out->bias = found->bias;
	out->table = elf_module_table(found->elf);
	return 0;
}

const char *modules_file(struct modules *m, uint64_t pc)
{
	struct mapped *found = find_mapped(m, pc);
	const char *slash = found ? strrchr(elf_module_name(found->elf), '/') : NULL;

	return !found ? "" : slash ? slash + 1 : elf_module_name(found->elf);
}

const char *modules_name(struct modules *m, uint64_t pc, char *text, size_t bytes)
{
	struct mapped *found = find_mapped(m, pc);
	struct elf_symbol symbol;

	if (found && elf_module_symbol(found->elf, pc - found->bias, &symbol) == 0)
		snprintf(text, bytes, "%s", symbol.name);
	else
		snprintf(text, bytes, "%s+0x%" PRIx64, modules_file(m, pc),
			 found ? pc - found->bias : pc);
	return text;
}
