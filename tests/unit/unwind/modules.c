/* SPDX-License-Identifier: Apache-2.0 */
/* See modules.h. */
#include "modules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 128
#define PAGE_BYTES 4096

struct mapped {
	uint64_t start, end, bias;
	struct elf_module *elf; /* NULL: unnamed code */
};

struct modules {
	struct mapped mapped[MODULES_MAX];
	size_t count;
	struct elf_module *opened[MODULES_MAX], *vdso;
	size_t opened_count;
};

static struct elf_module *find_opened(const struct modules *m, const char *path)
{
	for (size_t i = 0; i < m->opened_count; i++)
		if (strcmp(elf_module_name(m->opened[i]), path) == 0)
			return m->opened[i];
	return NULL;
}

static int add_file(struct modules *m, struct mapped *added, const char *path, uint64_t offset)
{
	uint64_t address;

	added->elf = find_opened(m, path);
	if (!added->elf) {
		if (m->opened_count == MODULES_MAX ||
		    elf_module_open(&added->elf, path, -1, path) != 0)
			return 0;
		m->opened[m->opened_count++] = added->elf;
	}
	if (elf_module_address(added->elf, offset, &address) != 0)
		abort();
	added->bias = added->start - address;
	return 1;
}

static void add_line(struct modules *m, const char *line)
{
	struct mapped added = {.start = 0};
	char flags[8] = "", path[4096] = "";
	uint64_t offset = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s%4095[^\n]", &added.start,
		   &added.end, flags, &offset, path) < 4 ||
	    flags[2] != 'x' || m->count == MODULES_MAX)
		return;
	memmove(path, path + strspn(path, " "), strlen(path + strspn(path, " ")) + 1);
	if (strcmp(path, "[vdso]") == 0 && m->vdso) {
		added.elf = m->vdso;
		added.bias = added.start;
	} else if (path[0] == '/' && !add_file(m, &added, path, offset)) {
		return;
	}
	if (!added.elf)
		added.start--; /* where a look-up for the first byte as return address lands */
	m->mapped[m->count++] = added;
}

struct modules *modules_new(const char *maps, const void *vdso, size_t vdso_bytes)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m || (vdso && elf_module_open_image(&m->vdso, vdso, vdso_bytes, "[vdso]") != 0))
		abort();
	modules_update(m, maps);
	return m;
}

void modules_update(struct modules *m, const char *maps)
{
	m->count = 0;
	for (const char *line = maps; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		add_line(m, line);
	}
}

void modules_free(struct modules *m)
{
	for (size_t i = 0; i < m->opened_count; i++)
		elf_module_free(m->opened[i]);
	elf_module_free(m->vdso);
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
	static const struct unwind_rule trampoline = {.cfa = UNWIND_CFA_SIGNAL};
	struct mapped *found = find_mapped(modules, pc);

	if (!found)
		return -1;
	out->start = found->start;
	out->end = found->end;
	out->bias = found->bias;
	if (found->elf)
		out->table = elf_module_table(found->elf);
	else if (found->end - found->start <= PAGE_BYTES + 1)
		out->rule = &trampoline;
	return 0;
}

const char *modules_file(struct modules *m, uint64_t pc)
{
	struct mapped *found = find_mapped(m, pc);
	const char *name = found && found->elf ? elf_module_name(found->elf) : "";
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

const char *modules_name(struct modules *m, uint64_t pc, char *text, size_t bytes)
{
	struct mapped *found = find_mapped(m, pc);
	struct elf_symbol symbol;

	if (found && found->elf && elf_module_symbol(found->elf, pc - found->bias, &symbol) == 0)
		snprintf(text, bytes, "%s", symbol.name);
	else
		snprintf(text, bytes, "%s+0x%" PRIx64, modules_file(m, pc),
			 found ? pc - found->bias : pc);
	return text;
}
