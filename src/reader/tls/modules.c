/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded modules: see modules.h. A module begins where a private mapping of a file begins with
 * what an ELF file begins with; its bias follows from the first segment of the file.
 */
#include "reader/tls/modules.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MODULES_MAX 65536
/* CPU time of ours: there may be thousands of files of any size. */
#define WORK_SECONDS_MAX 10
#define LINKS_MAX 16384
#define DYNAMIC_ENTRIES_MAX 4096

struct walk {
	struct target *t;
	struct stat program;
	int has_program;
	int missed;
	int (*f)(void *arg, const struct target_module *m);
	void *arg;
};

static int modules_same_file(const struct proc_map *a, const struct proc_map *b)
{
	return a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor;
}

static int may_begin_module(const struct target *t, size_t i)
{
	const struct proc_map *m = &t->mappings[i], *before = i ? m - 1 : NULL;
	char magic[SELFMAG];

	if (!m->inode || m->path[0] != '/' || m->permissions[3] != 'p')
		return 0;
	if (before && modules_same_file(before, m) && before->offset < m->offset)
		return 0;
	return target_read(t, m->start, magic, sizeof(magic)) == 0 &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static int is_program(const struct walk *w, int fd)
{
	struct stat st;

	return w->has_program && fstat(fd, &st) == 0 && st.st_ino == w->program.st_ino &&
	       st.st_dev == w->program.st_dev;
}

/* 0 or -ENOEXEC. */
static int modules_find_bias(const struct elf_view *v, const struct proc_map *first, uint64_t *bias)
{
	const Elf64_Phdr *load = elf_view_segment(v, PT_LOAD);

	if (!load || first->offset > load->p_offset ||
	    load->p_offset - first->offset >= first->end - first->start)
		return -ENOEXEC;
	*bias = first->start - load->p_vaddr + (load->p_offset - first->offset);
	return 0;
}

static int modules_visit(struct walk *w, const struct proc_map *m, int fd)
{
	struct elf_view view;
	struct target_module module = {.first = m, .view = &view};

	if (elf_view_open(fd, &view) || modules_find_bias(&view, m, &module.bias))
		return 0;
	module.is_program = is_program(w, fd);
	return w->f(w->arg, &module);
}

static time_t worked_seconds(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec;
}

static int visit_all(struct walk *w)
{
	time_t began = worked_seconds();
	int modules = 0, rc = 0;

	for (size_t i = 0; i < w->t->mapping_count && modules < MODULES_MAX && rc == 0; i++) {
		int fd;

		if (!may_begin_module(w->t, i))
			continue;
		if (worked_seconds() - began > WORK_SECONDS_MAX) {
			w->missed = -ETIMEDOUT;
			return rc;
		}
		modules++;
		fd = w->t->source->open_file(w->t, &w->t->mappings[i]);
		if (fd < 0) {
			w->missed = fd;
			continue;
		}
		rc = modules_visit(w, &w->t->mappings[i], fd);
		close(fd);
	}
	return rc;
}

int modules_each(struct target *t, int (*f)(void *arg, const struct target_module *m), void *arg,
		 int *missed)
{
	struct walk w = {.t = t, .f = f, .arg = arg};
	int fd = t->source->open_program(t), rc;

	if (fd >= 0) {
		w.has_program = fstat(fd, &w.program) == 0;
		close(fd);
	}
	rc = visit_all(&w);
	*missed = w.missed;
	return rc;
}

/*
 * A file may be mapped once more, only to be read. There the address is in the mapping that begins
 * it, which no loader could have written to; or in no mapping of this file.
 */
int module_is_loaded(const struct target *t, const struct target_module *m, uint64_t at)
{
	const struct proc_map *holds = target_mapping_at(t, m->bias + at);

	if (!holds || (holds->inode && !modules_same_file(holds, m->first)))
		return 0;
	return holds != m->first || holds->permissions[1] == 'w';
}

uint64_t modules_digest(const struct target *t)
{
	uint64_t digest = 1;

	for (size_t k = 0; k < t->mapping_count; k++) {
		const struct proc_map *m = &t->mappings[k];
		uint64_t what[] = {m->start, m->end, m->inode, m->device_major, m->device_minor};

		if (m->inode)
			digest = hash_bytes(what, sizeof(what), digest);
	}
	return digest;
}

int module_symbol(const struct target_module *m, const char *name, uint64_t *address)
{
	Elf64_Sym symbol;
	uint64_t index;
	int rc = elf_view_find(m->view, name, STT_OBJECT, &symbol, &index);

	if (rc == 0)
		*address = m->bias + symbol.st_value;
	return rc;
}

static int read_u32(const struct target *t, const struct proc_map *m, const char *name,
		    uint32_t *out)
{
	int fd = t->source->open_file(t, m), rc;
	struct elf_view view;
	Elf64_Sym symbol;
	uint64_t index, bias = 0;

	if (fd < 0)
		return fd;
	rc = elf_view_open(fd, &view);
	if (rc == 0)
		rc = elf_view_find(&view, name, STT_OBJECT, &symbol, &index);
	if (rc == 0)
		rc = symbol.st_size == sizeof(*out) ? modules_find_bias(&view, m, &bias) : -ENOEXEC;
	close(fd);
	return rc ? rc : target_read(t, bias + symbol.st_value, out, sizeof(*out));
}

int module_u32(const struct target *t, const char *path, const char *name, uint32_t *out)
{
	int rc = -ENOENT;

	for (size_t i = 0; i < t->mapping_count && rc; i++) {
		const struct proc_map *m = &t->mappings[i];

		if (m->inode && m->offset == 0 && strcmp(m->path, path) == 0)
			rc = read_u32(t, m, name, out);
	}
	return rc;
}

/* The word that the loader puts into the program's dynamic table. */
static int debug_word(const struct target *t, const struct target_module *program, uint64_t *at)
{
	const Elf64_Phdr *dynamic = elf_view_segment(program->view, PT_DYNAMIC);
	uint64_t count = dynamic ? dynamic->p_memsz / sizeof(Elf64_Dyn) : 0;

	for (uint64_t i = 0; i < count && i < DYNAMIC_ENTRIES_MAX; i++) {
		Elf64_Dyn d;
		int rc = target_read(t, program->bias + dynamic->p_vaddr + i * sizeof(d), &d,
				     sizeof(d));

		if (rc)
			return rc;
		if (d.d_tag == DT_DEBUG) {
			*at = d.d_un.d_ptr;
			return *at ? 0 : -EAGAIN;
		}
	}
	return -ENOENT;
}

int link_map_read(const struct target *t, const struct target_module *program, uint64_t *biases,
		  int room)
{
	/* struct r_debug: version, first; struct link_map: bias, name, dynamic table, next */
	uint64_t debug[2], link[4], at = 0;
	int rc = debug_word(t, program, &at), count = 0;

	if (rc || (rc = target_read(t, at, debug, sizeof(debug))))
		return rc;
	at = debug[1];
	for (int i = 0; at && i < LINKS_MAX && count < room; i++) {
		if (target_read(t, at, link, sizeof(link)))
			break; /* it changes right now: what has been seen is right */
		biases[count++] = link[0];
		at = link[3];
	}
	return count;
}
