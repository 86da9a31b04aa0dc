/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables on disk: see table_cache.h. */
#include "collector/walk/table_cache.h"

#include "base/array.h"
#include "base/cache_place.h"
#include "base/hash.h"
#include "base/output.h"
#include "base/text/hex.h"
#include "jfr/common/file.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES (2 * TABLE_BUILD_ID_MAX + 1 + 16 + 1)
#define TABLE_BYTES_MAX (UINT64_C(1) << 29)
#define TEMPORARY ".new-"
#define TEMPORARY_SECONDS 3600 /* what a collector that was killed left behind */
#define TOUCH_SECONDS 3600
#define KEEP_PERCENT 75 /* of the limit, when it was passed */

int table_cache_open(struct table_cache *c, int make)
{
	*c = (struct table_cache){.fd = cache_open(TABLE_CACHE_DIRECTORY, make),
				  .bytes_max = TABLE_CACHE_BYTES,
				  /* look through it at the first table that is saved */
				  .written = TABLE_CACHE_BYTES};
	return c->fd < 0 ? c->fd : 0;
}

void table_cache_close(struct table_cache *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* Header as it must be, but for checksum and table_bytes; 0 when @m has no build-id. */
static int table_cache_describe(struct elf_module *m, struct table_file *out, char name[NAME_BYTES])
{
	const uint8_t *id;
	size_t bytes = elf_module_build_id(m, &id);

	if (bytes == 0 || bytes > TABLE_BUILD_ID_MAX)
		return 0;
	*out = (struct table_file){
		.magic = TABLE_FILE_MAGIC,
		.builder = elf_table_builder(),
		.machine = (uint32_t)elf_module_machine(m),
		.fingerprint = elf_module_fingerprint(m),
		.build_id_bytes = bytes,
	};
	memcpy(out->build_id, id, bytes);
	hex_put(name, id, bytes);
	snprintf(name + 2 * bytes, NAME_BYTES - 2 * bytes, "-%016llx",
		 (unsigned long long)out->fingerprint);
	return 1;
}

static uint64_t checksum_of(const struct table_file *file, const struct unwind_table *table)
{
	struct table_file head = *file;

	head.checksum = 0;
	return hash_bytes(table, file->table_bytes, hash_bytes(&head, sizeof(head), 0));
}

/* ---- reading */

static int table_cache_is_ours(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* @wanted: as table_cache_describe() made it. */
static struct unwind_table *table_cache_read_table(int fd, const struct stat *st,
						   const struct table_file *wanted)
{
	struct unwind_table *table;
	struct table_file head, same;

	if (fd_read_at(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return NULL;
	same = *wanted;
	same.table_bytes = head.table_bytes;
	same.checksum = head.checksum;
	if (memcmp(&head, &same, sizeof(head)) != 0 || head.table_bytes > TABLE_BYTES_MAX ||
	    (uint64_t)st->st_size != sizeof(head) + head.table_bytes)
		return NULL;
	table = malloc(head.table_bytes);
	if (table &&
	    fd_read_at(fd, table, head.table_bytes, sizeof(head)) == (ssize_t)head.table_bytes &&
	    checksum_of(&head, table) == head.checksum &&
	    unwind_table_check(table, head.table_bytes) == 0 && table->bytes == head.table_bytes &&
	    table->machine == head.machine)
		return table;
	free(table);
	return NULL;
}

/* Notes the use, by which the oldest files are found; once an hour, to write little to the disk. */
static void table_cache_touch(int fd, const struct stat *st)
{
	if (time(NULL) - st->st_mtime > TOUCH_SECONDS)
		futimens(fd, NULL);
}

struct unwind_table *table_cache_load(struct table_cache *c, struct elf_module *m)
{
	struct unwind_table *table = NULL;
	struct table_file wanted;
	char name[NAME_BYTES];
	struct stat st;
	int fd;

	if (c->fd < 0 || !table_cache_describe(m, &wanted, name))
		return NULL;
	fd = openat(c->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (table_cache_is_ours(fd, &st))
		table = table_cache_read_table(fd, &st, &wanted);
	if (table)
		table_cache_touch(fd, &st);
	else
		unlinkat(c->fd, name, 0);
	close(fd);
	return table;
}

/* ---- keeping it small */

struct entry {
	char name[NAME_BYTES];
	time_t used;
	uint64_t bytes;
};

struct listing {
	struct entry *entry;
	size_t count, room;
	uint64_t bytes;
};

static void list_one(struct listing *l, const char *name, const struct stat *st)
{
	struct entry *e = array_add(&l->entry, &l->count, &l->room, sizeof(*e));

	if (!e)
		return;
	snprintf(e->name, NAME_BYTES, "%s", name);
	e->used = st->st_mtime;
	e->bytes = (uint64_t)st->st_size;
	l->bytes += e->bytes;
}

static int is_left_behind(const char *name, const struct stat *st)
{
	return strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 &&
	       time(NULL) - st->st_mtime > TEMPORARY_SECONDS;
}

/* Tables; temporary files of long ago are removed on the way. */
static void table_cache_list_all(const struct table_cache *c, struct listing *l)
{
	DIR *directory = proc_directory(c->fd, ".");
	const struct dirent *e;
	struct stat st;

	*l = (struct listing){0};
	while (directory && (e = readdir(directory))) {
		if (fstatat(c->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (is_left_behind(e->d_name, &st))
			unlinkat(c->fd, e->d_name, 0);
		else if (e->d_name[0] != '.' && strlen(e->d_name) < NAME_BYTES)
			list_one(l, e->d_name, &st);
	}
	if (directory)
		closedir(directory);
}

static int compare_age(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

/* Other collectors may be doing the same: a file that is gone already is no error. */
static void trim(struct table_cache *c)
{
	struct listing l;

	table_cache_list_all(c, &l);
	if (l.bytes > c->bytes_max) {
		qsort(l.entry, l.count, sizeof(*l.entry), compare_age);
		for (size_t i = 0; i < l.count && l.bytes > c->bytes_max / 100 * KEEP_PERCENT;
		     i++) {
			unlinkat(c->fd, l.entry[i].name, 0);
			l.bytes -= l.entry[i].bytes;
		}
	}
	free(l.entry);
	c->written = 0;
}

struct table_cache_size table_cache_size(const struct table_cache *c)
{
	struct table_cache_size size = {0};
	struct listing l;

	if (c->fd < 0)
		return size;
	table_cache_list_all(c, &l);
	size.files = l.count;
	size.bytes = l.bytes;
	free(l.entry);
	return size;
}

/* ---- writing */

static int write_file(int fd, struct table_file *head, const struct unwind_table *table)
{
	struct iovec part[] = {{head, sizeof(*head)},
			       {(void *)(uintptr_t)table, head->table_bytes}};
	uint64_t written = 0;
	int rc = file_write_all(fd, part, 2, &written);

	return close(fd) && rc == 0 ? -errno : rc;
}

int table_cache_save(struct table_cache *c, struct elf_module *m, const struct unwind_table *table)
{
	char name[NAME_BYTES], temporary[32];
	struct table_file head;
	int fd, rc;

	if (c->fd < 0 || !table_cache_describe(m, &head, name))
		return -ENOENT;
	head.table_bytes = table->bytes;
	head.checksum = checksum_of(&head, table);
	snprintf(temporary, sizeof(temporary), TEMPORARY "%d", (int)getpid());
	unlinkat(c->fd, temporary, 0);
	fd = openat(c->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = write_file(fd, &head, table);
	if (rc == 0 && renameat(c->fd, temporary, c->fd, name))
		rc = -errno;
	if (rc) {
		unlinkat(c->fd, temporary, 0);
		return rc;
	}
	c->written += sizeof(head) + table->bytes;
	if (c->written > c->bytes_max / 4)
		trim(c);
	return 0;
}
