/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and freeing a module. It begins with its file alone; with it goes all that was made of it
 * since: table, names, debugging information.
 */
#include "elf/image/internal.h"

#include <errno.h>
#include <stdlib.h>

static struct elf_module *module_new(void)
{
	struct elf_module *m = calloc(1, sizeof(*m));

	elf_version(EV_CURRENT);
	if (m)
		m->fd = m->debug.root_fd = -1;
	return m;
}

static int module_finish(struct elf_module **out, struct elf_module *m, const char *name, int err)
{
	if (!err)
		err = elf_image_load(m, name);
	if (err) {
		elf_module_free(m);
		return err;
	}
	*out = m;
	return 0;
}

int elf_module_open(struct elf_module **out, const char *path, int fd, const char *name)
{
	struct elf_module *m = module_new();

	return m ? module_finish(out, m, name, elf_image_open(m, path, fd)) : -ENOMEM;
}

int elf_module_open_image(struct elf_module **out, const void *image, size_t bytes,
			  const char *name)
{
	struct elf_module *m = module_new();

	return m ? module_finish(out, m, name, elf_image_copy(m, image, bytes)) : -ENOMEM;
}

void elf_module_free(struct elf_module *m)
{
	if (!m)
		return;
	elf_names_free(m->names);
	dwread_free(m->dwarf);
	elf_debug_free(m);
	free(m->table);
	buf_free(&m->entries);
	elf_image_close(m);
	free(m);
}
