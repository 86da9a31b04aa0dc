/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of loaded modules: see module_symbol.h. */
#include "reader/tls/module_symbol.h"

#include "reader/tls/elf_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_MASK (~UINT64_C(4095))

/* What a program does not export, static ones do not, is in .symtab. */
static int find_object(const struct elf_view *v, const char *name, Elf64_Sym *out)
{
	struct elf_symbols symtab = {0};
	uint64_t index;
	int rc = elf_view_find(v, &v->dynamic, name, STT_OBJECT, out, &index);

	if (rc != -ENOENT || elf_view_symtab(v, &symtab))
		return rc;
	return elf_view_find(v, &symtab, name, STT_OBJECT, out, &index);
}

static int find_value(int fd, const char *name, uint64_t *first_load, uint64_t *value)
{
	struct elf_view *v = malloc(sizeof(*v));
	const Elf64_Phdr *load;
	Elf64_Sym symbol;
	int rc = v ? elf_view_open(fd, v) : -ENOMEM;

	if (rc == 0)
		rc = find_object(v, name, &symbol);
	if (rc == 0 && symbol.st_size != sizeof(uint32_t))
		rc = -ENOEXEC;
	load = rc == 0 ? elf_view_segment(v, PT_LOAD) : NULL;
	if (rc == 0 && (!load || load->p_offset & PAGE_MASK))
		rc = -ENOEXEC;
	if (rc == 0) {
		*first_load = load->p_vaddr & PAGE_MASK;
		*value = symbol.st_value;
	}
	free(v);
	return rc;
}

static int read_symbol(const struct target *t, const struct target_mapping *m, const char *name,
		       uint32_t *out)
{
	uint64_t first_load = 0, value = 0;
	int fd = target_open_file(t, m), rc;

	if (fd < 0)
		return fd;
	rc = find_value(fd, name, &first_load, &value);
	close(fd);
	return rc ? rc : target_read(t, m->start - first_load + value, out, sizeof(*out));
}

int module_u32(const struct target *t, const char *path, const char *name, uint32_t *out)
{
	int rc = -ENOENT;

	for (size_t i = 0; i < t->mapping_count && rc; i++) {
		const struct target_mapping *m = &t->mappings[i];

		if (m->inode && m->offset == 0 && strcmp(m->path, path) == 0)
			rc = read_symbol(t, m, name, out);
	}
	return rc;
}
