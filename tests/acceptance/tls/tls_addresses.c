/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread-local variable is in each thread of a process: lines of "TID ADDRESS", or of
 * "TID errno NAME" with the reason; or how a file reaches it.
 * usage: tls-addresses [--stop] [--places] PID NAME
 *        tls-addresses --file FILE NAME
 */
#include "reader/target/thread_stop.h"
#include "reader/tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 8

struct request {
	struct target *target;
	struct tls_place place;
	int may_stop;
};

static int print_thread(void *arg, int32_t tid)
{
	const struct request *r = arg;
	uint64_t pointer, address;
	int rc = thread_pointer_find(r->target, tid, &pointer);
	struct stopped_thread stopped;

	if (rc == -ENOTSUP && r->may_stop && (rc = thread_stop(tid, &stopped)) == 0) {
		rc = thread_pointer_of_stopped(tid, &pointer);
		thread_let_go(&stopped);
	}
	if (rc == 0)
		rc = tls_address(r->target, &r->place, pointer, &address);
	if (rc == 0)
		printf("%d 0x%" PRIx64 "\n", (int)tid, address);
	else if (rc != -ESRCH)
		printf("%d errno %s\n", (int)tid, strerrorname_np(-rc));
	return 0;
}

static const char *const models[] = {"local-exec", "initial-exec", "descriptor", "general-dynamic",
				     "local-dynamic"};

static int print_file(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tls_symbol s;
	int rc = fd < 0 ? -errno : tls_elf_find(fd, name, 0, &s);

	if (rc)
		printf("errno %s\n", strerrorname_np(-rc));
	else
		printf("%s %s %s\n", models[s.model], s.is_named ? "named" : "unnamed",
		       s.from_symtab ? "symtab" : "dynsym");
	return rc != 0;
}

static void print_places(const struct tls_place *places, int count)
{
	for (int i = 0; i < count; i++)
		printf("%s %s %s\n", models[places[i].model],
		       places[i].is_dynamic ? "dynamic" : "static", places[i].path);
}

static int run(struct request *r, const char *name, int only_places)
{
	struct tls_place places[PLACES_MAX];
	int count = tls_place_find(r->target, name, places, PLACES_MAX);

	if (count <= 0) {
		fprintf(stderr, "tls-addresses: %s: %s\n", name,
			count ? strerrorname_np(-count) : "not defined");
		return 1;
	}
	if (only_places) {
		print_places(places, count);
		return 0;
	}
	r->place = places[0];
	return target_threads(r->target, print_thread, r) < 0;
}

int main(int argc, char **argv)
{
	struct request r = {0};
	int only_places = 0, only_file = 0, rc;

	for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
		r.may_stop |= strcmp(argv[1], "--stop") == 0;
		only_places |= strcmp(argv[1], "--places") == 0;
		only_file |= strcmp(argv[1], "--file") == 0;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: tls-addresses [--stop] [--places] PID NAME\n");
		return 2;
	}
	if (only_file)
		return print_file(argv[1], argv[2]);
	rc = target_open(&r.target, (int32_t)strtol(argv[1], NULL, 10));
	if (rc) {
		fprintf(stderr, "tls-addresses: %s: %s\n", argv[1], strerrorname_np(-rc));
		return 1;
	}
	rc = run(&r, argv[2], only_places);
	target_close(r.target);
	return rc;
}
