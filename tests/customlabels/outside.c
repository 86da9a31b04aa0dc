/* SPDX-License-Identifier: Apache-2.0 */
/* outside.h: a library by its name in the maps, the variable by its TLS descriptor. */
#include "outside.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABELS_READ 10 /* readers in kernels look at so many */

#ifdef __x86_64__
#define DESCRIPTOR R_X86_64_TLSDESC
#else
#define DESCRIPTOR R_AARCH64_TLSDESC
#endif

static int peek(pid_t pid, uint64_t from, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};

	return !bytes || process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

/* libcustomlabels*.so: where its first byte is mapped, and its path. */
static uint64_t find_library(pid_t pid, char *path, size_t room)
{
	char maps[40], line[4200], *name;
	uint64_t base = 0, at, offset;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "re");
	while (f && !base && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		name = strrchr(line, '/');
		if (!name || strncmp(name, "/libcustomlabels", 16) || !strstr(name, ".so") ||
		    sscanf(line, "%lx-%*x %*s %lx", &at, &offset) != 2 || offset)
			continue;
		base = at;
		snprintf(path, room, "%s", strchr(line, '/'));
	}
	if (f)
		fclose(f);
	return base;
}

struct file {
	const char *bytes;
	size_t size;
};

static struct file map_file(const char *path)
{
	struct file f = {NULL, 0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && !fstat(fd, &st)) {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (at != MAP_FAILED)
			f = (struct file){at, (size_t)st.st_size};
	}
	if (fd >= 0)
		close(fd);
	return f;
}

static const Elf64_Shdr *section_of(struct file f, uint32_t type, unsigned int nth)
{
	const Elf64_Ehdr *e = (const void *)f.bytes;
	const Elf64_Shdr *s = (const void *)(f.bytes + e->e_shoff);

	for (int i = 0; i < e->e_shnum; i++)
		if (s[i].sh_type == type && !nth--)
			return &s[i];
	return NULL;
}

/* The symbol's number in .dynsym; 0 = none. */
static uint32_t symbol_of(struct file f, const char *name, const Elf64_Sym **out)
{
	const Elf64_Shdr *table = section_of(f, SHT_DYNSYM, 0);
	const Elf64_Ehdr *e = (const void *)f.bytes;
	const Elf64_Shdr *all = (const void *)(f.bytes + e->e_shoff);
	const Elf64_Sym *symbols;
	const char *names;

	if (!table)
		return 0;
	symbols = (const void *)(f.bytes + table->sh_offset);
	names = f.bytes + all[table->sh_link].sh_offset;
	for (uint32_t i = 1; i < table->sh_size / sizeof(*symbols); i++)
		if (symbols[i].st_shndx && !strcmp(names + symbols[i].st_name, name)) {
			*out = &symbols[i];
			return i;
		}
	return 0;
}

static uint64_t descriptor_of(struct file f, uint32_t symbol)
{
	const Elf64_Shdr *s;

	for (unsigned int nth = 0; (s = section_of(f, SHT_RELA, nth)); nth++) {
		const Elf64_Rela *r = (const void *)(f.bytes + s->sh_offset);

		for (uint64_t i = 0; i < s->sh_size / sizeof(*r); i++)
			if (ELF64_R_TYPE(r[i].r_info) == DESCRIPTOR &&
			    ELF64_R_SYM(r[i].r_info) == symbol && !r[i].r_addend)
				return r[i].r_offset;
	}
	return 0;
}

/* Static TLS alone: what is loaded at start has it. */
static int offset_of(pid_t pid, int64_t *offset)
{
	char path[4200];
	uint64_t base = find_library(pid, path, sizeof(path)), slot = 0;
	struct file f = base ? map_file(path) : (struct file){NULL, 0};
	const Elf64_Sym *version, *current;
	uint32_t value = 0, symbol;

	if (!f.bytes)
		return -1;
	symbol = symbol_of(f, "custom_labels_abi_version", &version);
	if (symbol && version->st_size == 4 && !peek(pid, base + version->st_value, &value, 4) &&
	    value == 1)
		symbol = symbol_of(f, "custom_labels_current_set", &current);
	if (symbol && value == 1 && current->st_size == 8)
		slot = descriptor_of(f, symbol);
	munmap((void *)(uintptr_t)f.bytes, f.size);
	if (!slot || peek(pid, base + slot + 8, offset, sizeof(*offset)))
		return -1;
#ifdef __x86_64__
	return *offset < 0 ? 0 : -1;
#else
	return *offset > 0 && *offset < 65536 ? 0 : -1;
#endif
}

static int thread_pointer(pid_t tid, uint64_t *out)
{
#ifdef __x86_64__
	struct user_regs_struct regs;
	struct iovec part = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &part))
		return -1;
	*out = regs.fs_base;
	return 0;
#else
	struct iovec part = {out, sizeof(*out)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_ARM_TLS, &part) ? -1 : 0;
#endif
}

struct label {
	uint64_t key_bytes, key, value_bytes, value;
};

static int print_label(pid_t pid, const struct label *l, char *out, size_t room)
{
	char key[200], value[300];
	int length;

	if (!l->key)
		return 0;
	if (!l->value || l->key_bytes >= sizeof(key) || l->value_bytes >= sizeof(value) ||
	    peek(pid, l->key, key, l->key_bytes) || peek(pid, l->value, value, l->value_bytes))
		return -1;
	length = snprintf(out, room, "%.*s=%.*s ", (int)l->key_bytes, key, (int)l->value_bytes,
			  value);
	return length < (int)room ? length : -1;
}

static int print_set(pid_t pid, uint64_t pointer_at, char *out, size_t room)
{
	struct label labels[LABELS_READ];
	uint64_t set, head[2];
	size_t used = 0;

	if (peek(pid, pointer_at, &set, sizeof(set)))
		return -1;
	snprintf(out, room, set ? "" : "-");
	if (!set)
		return 0;
	if (peek(pid, set, head, sizeof(head)))
		return -1;
	head[1] = head[1] < LABELS_READ ? head[1] : LABELS_READ;
	if (peek(pid, head[0], labels, head[1] * sizeof(labels[0])))
		return -1;
	for (uint64_t i = 0; i < head[1]; i++) {
		int length = print_label(pid, &labels[i], out + used, room - used);

		if (length < 0)
			return -1;
		used += (size_t)length;
	}
	if (used)
		out[used - 1] = 0;
	return 0;
}

int outside_read(pid_t pid, pid_t tid, char *out, size_t room)
{
	uint64_t pointer;
	int64_t offset;
	int status, failed;

	if (offset_of(pid, &offset) || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -1;
	failed = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
		 waitpid(tid, &status, __WALL) != tid || thread_pointer(tid, &pointer) ||
		 print_set(pid, pointer + (uint64_t)offset, out, room);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return failed ? -1 : 0;
}
