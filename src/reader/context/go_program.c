/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Go runtime: see go_program.h. Sources: src/runtime/runtime2.go of each release (struct g,
 * struct m), src/debug/buildinfo (.go.buildinfo). The fields up to those of the table are the same
 * on amd64 and arm64.
 */
#include "reader/context/go_program.h"

#include "reader/context/go_threads.h"
#include "reader/tls/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_SECTION ".go.buildinfo"
#define BUILD_MAGIC "\xff Go buildinf:"
#define BUILD_FLAGS 15 /* offset */
#define BUILD_INLINE 2 /* flag: the version itself follows, not a pointer to it */
#define BUILD_VERSION 32
#define BSS_SECTION ".bss" /* where that is */
#define ALL_MS "runtime.allm"

/* clang-format off */
static const struct go_layout layouts[] = {
	/* first, last, m_procid, m_curg, m_alllink, g_labels, has_map_only */
	{21, 21, 72, 192, {336}, 344, 1},
	{22, 22, 72, 192, {328}, 344, 1},
	{23, 23, 72, 192, {352, 328}, 352, 1},
	{24, 24, 72, 192, {352, 328}, 352, 0},
	{25, 25, 64, 184, {344}, 344, 0},
	{26, 26, 64, 184, {352}, 352, 0},
};
/* clang-format on */

static int ends_number(char c)
{
	return c == '\0' || c == '.' || c == ' ' || c == '-';
}

const struct go_layout *go_layout_of(const char *version)
{
	char *end = NULL;
	unsigned long minor;

	if (strncmp(version, "go1.", 4) != 0 || version[4] < '0' || version[4] > '9')
		return NULL;
	minor = strtoul(version + 4, &end, 10);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]) && ends_number(*end); i++)
		if (minor >= layouts[i].first && minor <= layouts[i].last)
			return &layouts[i];
	return NULL;
}

/* Before Go 1.18 there is a pointer. A length of more than a byte has more than a version. */
int go_build_version(const uint8_t *info, size_t bytes, char version[GO_VERSION_BYTES])
{
	size_t length, taken;

	memset(version, 0, GO_VERSION_BYTES);
	if (bytes <= BUILD_VERSION || memcmp(info, BUILD_MAGIC, strlen(BUILD_MAGIC)) != 0)
		return -ENOENT;
	length = info[BUILD_VERSION];
	if (!(info[BUILD_FLAGS] & BUILD_INLINE) || length > INT8_MAX)
		return 0;
	taken = length < GO_VERSION_BYTES - 1 ? length : GO_VERSION_BYTES - 1;
	if (taken <= bytes - BUILD_VERSION - 1)
		memcpy(version, info + BUILD_VERSION + 1, taken);
	return 0;
}

static int go_read_version(const struct elf_view *v, char version[GO_VERSION_BYTES])
{
	uint8_t info[BUILD_VERSION + 1 + GO_VERSION_BYTES];
	Elf64_Shdr where;
	uint64_t bytes;
	int rc = elf_view_section(v, BUILD_SECTION, &where);

	if (rc)
		return rc;
	bytes = where.sh_size < sizeof(info) ? where.sh_size : sizeof(info);
	rc = elf_view_read(v, where.sh_offset, info, bytes);
	return rc ? rc : go_build_version(info, bytes, version);
}

struct go_search {
	struct target *target;
	struct go_program *out;
};

/* By its symbol, or by what the memory in which it is looks like. */
static void find_lists(const struct target *t, const struct target_module *m, struct go_program *p)
{
	Elf64_Shdr bss;

	p->list_count = module_symbol(m, ALL_MS, &p->list[0]) == 0;
	if (!p->list_count && elf_view_section(m->view, BSS_SECTION, &bss) == 0)
		p->list_count = go_scan(t, p->layout, m->bias + bss.sh_addr, bss.sh_size, p->list,
					GO_LISTS);
}

static int go_look_into(void *arg, const struct target_module *m)
{
	const struct go_search *s = arg;
	struct go_program *p = s->out;
	char version[GO_VERSION_BYTES];
	Elf64_Shdr info;

	if (go_read_version(m->view, version) || elf_view_section(m->view, BUILD_SECTION, &info) ||
	    !module_is_loaded(s->target, m, info.sh_addr))
		return 0;
	memcpy(p->version, version, sizeof(version));
	memset(p->path, 0, sizeof(p->path));
	strncpy(p->path, m->first->path, sizeof(p->path) - 1);
	p->layout = go_layout_of(version);
	p->state = GO_UNKNOWN;
	if (!p->layout)
		return 0;
	find_lists(s->target, m, p);
	p->state = p->list_count ? GO_READABLE : GO_STRIPPED;
	return p->state == GO_READABLE;
}

void go_program_find(struct target *t, struct go_program *out)
{
	uint64_t digest = modules_digest(t);
	struct go_search s = {t, out};
	int missed = 0;

	if (digest == out->modules)
		return;
	memset(out, 0, sizeof(*out));
	modules_each(t, go_look_into, &s, &missed);
	if (out->state != GO_STRIPPED && !(out->state == GO_ABSENT && missed))
		out->modules = digest;
}
