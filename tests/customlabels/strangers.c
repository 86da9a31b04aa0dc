/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strangers place|tenants|library: a program with Custom Labels of its own, to be recorded with
 * libcustomlabels-weft.so preloaded. It exports the two symbols of the ABI, so that the library
 * reaches its variable, and knows nothing of weft.
 *
 *   place    its set is the first thing on a page, before which nothing is mapped
 *   tenants  one set for two tenants in turn, changed as the ABI allows: another array stored. The
 *            word before it, which is no generation, stays as it is
 *   library  two sets of the preloaded library's functions in turn
 *
 * Uses CPU time, the same for both tenants; `library` says on stderr if the functions fail.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/custom_labels_v1.h>

#define TURNS 400
#define TURN_NS 2000000

#define EXPORTED __attribute__((visibility("default"), used))
extern const uint32_t custom_labels_abi_version;
extern __thread struct weft_custom_labels_set *volatile custom_labels_current_set;
EXPORTED const uint32_t custom_labels_abi_version = 1;
EXPORTED __thread struct weft_custom_labels_set *volatile custom_labels_current_set;

typedef struct weft_custom_labels_string string;

#define TEXT(text)                                                                                 \
	{                                                                                          \
		sizeof(text) - 1, (const unsigned char *)(text)                                    \
	}
static struct weft_custom_labels_label tenant[2] = {
	{TEXT("tenant"), TEXT("acme")},
	{TEXT("tenant"), TEXT("zeta")},
};

static void burn(void)
{
	struct timespec now, until;
	volatile unsigned int x = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &until);
	until.tv_nsec += TURN_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	do {
		for (int i = 0; i < 1000; i++)
			x = x * 3 + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec < until.tv_sec ||
		 (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
}

/* A whole number of pages; the page before it cannot be touched. */
static struct weft_custom_labels_set *set_behind_nothing(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || munmap(at, page))
		return NULL;
	return (struct weft_custom_labels_set *)(void *)(at + page);
}

static int take_turns(struct weft_custom_labels_set *set)
{
	if (!set)
		return 2;
	set->storage = &tenant[0];
	set->count = set->capacity = 1;
	custom_labels_current_set = set;
	for (int i = 0; i < TURNS; i++) {
		__atomic_store_n(&set->storage, &tenant[i & 1], __ATOMIC_SEQ_CST);
		burn();
	}
	custom_labels_current_set = NULL;
	return 0;
}

typedef struct weft_custom_labels_set *make_set(size_t capacity);
typedef int put_label(struct weft_custom_labels_set *set, string key, string value, string *old);

static int take_turns_with_library(void)
{
	struct weft_custom_labels_set *sets[2];
	make_set *make;
	put_label *put;

	*(void **)(void *)&make = dlsym(RTLD_DEFAULT, "custom_labels_new");
	*(void **)(void *)&put = dlsym(RTLD_DEFAULT, "custom_labels_set");
	for (int i = 0; i < 2; i++) {
		sets[i] = make && put ? make(0) : NULL;
		if (!sets[i] || put(sets[i], tenant[i].key, tenant[i].value, NULL)) {
			fprintf(stderr, "strangers: the library's functions fail\n");
			return 2;
		}
	}
	for (int i = 0; i < TURNS; i++) {
		custom_labels_current_set = sets[i & 1];
		burn();
	}
	custom_labels_current_set = NULL;
	return 0;
}

int main(int argc, char **argv)
{
	static uint64_t block[1 + sizeof(struct weft_custom_labels_set) / 8] = {4711};

	if (argc == 2 && !strcmp(argv[1], "place"))
		return take_turns(set_behind_nothing());
	if (argc == 2 && !strcmp(argv[1], "tenants"))
		return take_turns((struct weft_custom_labels_set *)(void *)&block[1]);
	return argc == 2 && !strcmp(argv[1], "library") ? take_turns_with_library() : 2;
}
