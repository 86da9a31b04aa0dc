/* SPDX-License-Identifier: Apache-2.0 */
/*
 * both [LIBRARY]
 *
 * weft and libcustomlabels-weft.so in one process: linked in, preloaded, or (LIBRARY) loaded by
 * dlopen once weft is at work. The program runs itself again; that process does what programs do
 * and says at each point what a reader outside must find on the thread; this process looks
 * (outside.h). Prints TAP.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <customlabels.h>
#include <weft/labels.h>
#include <weft/publish.h>

#include "outside.h"
#include "own_session.h"

#define NO_SET "-"

struct point {
	pid_t pid, tid;
	char what[60];
	char expected[300]; /* "" with @is_good */
	int is_claim, is_good;
};

/* ---- the process that is looked at */

static int say_to, hear_from; /* pipes */

static void tell(struct point *p)
{
	char answer;

	p->pid = getpid();
	p->tid = (pid_t)syscall(SYS_gettid);
	if (write(say_to, p, sizeof(*p)) != sizeof(*p) || read(hear_from, &answer, 1) != 1)
		_exit(9);
}

static void expect(const char *what, const char *expected)
{
	struct point p = {0};

	snprintf(p.what, sizeof(p.what), "%s", what);
	snprintf(p.expected, sizeof(p.expected), "%s", expected);
	tell(&p);
}

static void claim(const char *what, int is_true)
{
	struct point p = {.is_claim = 1, .is_good = is_true};

	snprintf(p.what, sizeof(p.what), "%s", what);
	tell(&p);
}

#define API(X)                                                                                     \
	X(clone)                                                                                   \
	X(count)                                                                                   \
	X(current) X(debug_string) X(delete) X(free) X(get) X(new) X(replace) X(run_with) X(set)
#define POINTER(name) static __typeof__(custom_labels_##name) *cl_##name;
API(POINTER)

#ifdef LINKED
const void *keeps_the_library = &custom_labels_abi_version;
#endif

static void find_library(const char *path)
{
	void *from = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : RTLD_DEFAULT;
	int all = 1;

#define FIND(name)                                                                                 \
	*(void **)(void *)&cl_##name = dlsym(from, "custom_labels_" #name);                        \
	all &= cl_##name != NULL;
	API(FIND)
	claim("the library is there", all);
	if (!all)
		_exit(8);
}

static custom_labels_string_t str(const char *s)
{
	return (custom_labels_string_t){.len = strlen(s), .buf = (const unsigned char *)s};
}

static int put(const char *key, const char *value)
{
	return cl_set(cl_current(), str(key), str(value), NULL);
}

static int weft_has(const char *key, const char *value)
{
	char got[100];
	ssize_t length = weft_label_get(key, got, sizeof(got));

	return length == (ssize_t)strlen(value) && !memcmp(got, value, (size_t)length);
}

static void session_says_so(void)
{
	const struct weft_session_header *header = own_session();

	claim("the session says that they have met",
	      header && header->custom_labels == WEFT_PUBLISHER_WEFT);
}

static uint64_t foreign(void)
{
	return weft_thread_slot->counters[WEFT_COUNTER_LABELS_FOREIGN];
}

static void weft_writes(int is_late)
{
	weft_context_set(12345, 67890);
	if (!is_late)
		expect("ids", "span-id=12345 root-span-id=67890");
	weft_label_set("route", "/checkout");
	expect("a label", "span-id=12345 root-span-id=67890 route=/checkout");
	weft_context_set(1, UINT64_MAX);
	expect("other ids", "span-id=1 root-span-id=18446744073709551615 route=/checkout");
	weft_label_set("route", "/cart/and/more");
	expect("another value", "span-id=1 root-span-id=18446744073709551615 route=/cart/and/more");
	weft_context_set(3, 4);
	weft_label_remove("route");
	expect("removed", "span-id=3 root-span-id=4");
	weft_context_clear();
	weft_label_set("route", "/");
	expect("no context", "route=/");
	weft_context_set(3, 4);
}

static void a_set_of_ones_own(void)
{
	uint64_t before = foreign();
	custom_labels_labelset_t *ls = cl_new(0), *old = cl_replace(ls);

	expect("an own set", "");
	claim("an own set is set", put("tenant", "acme") == 0);
	expect("its label", "tenant=acme");
	weft_context_set(5, 6);
	weft_label_set("other", "1");
	expect("weft leaves it alone", "tenant=acme");
	claim("and counts it, once", foreign() == before + 1);
	claim("and still keeps its own", weft_has("other", "1"));
	claim("the old set is put back", cl_replace(old) == ls);
	expect("weft's set is back, as it is now", "span-id=5 root-span-id=6 route=/ other=1");
	weft_label_set("other", "2");
	expect("and goes on", "span-id=5 root-span-id=6 route=/ other=2");
	cl_replace(ls);
	weft_context_set(7, 6);
	expect("the own set once more", "tenant=acme");
	claim("counted again", foreign() == before + 2);
	cl_free(ls);
	weft_context_set(5, 6);
	expect("freed while current", "span-id=5 root-span-id=6 route=/ other=2");
}

static void *inside(void *arg)
{
	expect("run_with on weft's set", "span-id=5 root-span-id=6 route=/in other=2 more=x");
	return arg;
}

static void weft_set_by_the_interface(void)
{
	custom_labels_label_t labels[] = {{str("route"), str("/in")}, {str("more"), str("x")}};
	custom_labels_label_t bad[] = {{str("route"), str("/bad")}, {str("span-id"), str("9")}};
	custom_labels_labelset_t *weft = cl_current(), *copy;
	custom_labels_string_t old;
	char text[130] = "";

	claim("weft's set is the current one", weft && cl_count(weft) == 4);
	claim("old value", cl_set(weft, str("route"), str("/new"), &old) == 0 && old.len == 1);
	free((void *)(uintptr_t)old.buf);
	expect("set by the interface", "span-id=5 root-span-id=6 route=/new other=2");
	claim("weft knows it", weft_has("route", "/new"));
	claim("a pointer from before does, too", cl_get(weft, str("route"))->value.len == 4);
	claim("ids are weft's", cl_set(weft, str("span-id"), str("9"), NULL) == EPERM);
	claim("a batch with one is refused",
	      cl_run_with(weft, bad, 2, inside, NULL, NULL) == EPERM);
	expect("and undone", "span-id=5 root-span-id=6 route=/new other=2");
	claim("run_with", cl_run_with(weft, labels, 2, inside, NULL, NULL) == 0);
	expect("put back", "span-id=5 root-span-id=6 route=/new other=2");
	memset(text, 'k', sizeof(text) - 1);
	claim("a key too long", put(text, "v") == ENAMETOOLONG);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "filler %d", i);
		if (put(text, "v") == ENOSPC)
			break;
	}
	claim("there is no room for more than weft has", cl_count(weft) == 10);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "filler %d", i);
		cl_delete(weft, str(text));
	}
	expect("deleted", "span-id=5 root-span-id=6 route=/new other=2");
	cl_free(weft);
	expect("weft's set cannot be freed", "span-id=5 root-span-id=6 route=/new other=2");
	copy = cl_clone(weft);
	claim("a clone is without ids", cl_count(copy) == 2);
	cl_replace(copy);
	expect("a clone", "route=/new other=2");
	cl_replace(NULL);
	expect("none", NO_SET);
	weft_context_set(5, 6);
	expect("until weft's next write", "span-id=5 root-span-id=6 route=/new other=2");
	cl_free(copy);
}

/* ---- threads */

static pthread_key_t key;
static char rounds[4];
static void *set_in_round[4];

static void at_end(void *value)
{
	int round = (int)((char *)value - rounds);

	set_in_round[round] = cl_current();
	if (round < 3)
		pthread_setspecific(key, &rounds[round + 1]);
}

static void *thread(void *arg)
{
	expect("a thread at first", NO_SET);
	weft_context_set(77, 78);
	weft_label_set("thread", "yes");
	expect("a thread's own", "span-id=77 root-span-id=78 thread=yes");
	pthread_setspecific(key, rounds);
	return arg;
}

static void threads(void)
{
	pthread_t t;

	pthread_key_create(&key, at_end);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	claim("a thread's last destructors find its set", set_in_round[0] != NULL);
	claim("until weft lets go of the thread", set_in_round[3] == NULL);
	expect("not the thread that waited", "span-id=5 root-span-id=6 route=/new other=2");
}

static void forks(void)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		expect("a forked child's", "span-id=5 root-span-id=6 route=/new other=2");
		weft_label_set("child", "1");
		weft_context_set(8, 9);
		expect("changes in it", "span-id=8 root-span-id=9 route=/new other=2 child=1");
		_exit(0);
	}
	waitpid(child, &status, 0);
	claim("the child ended well", WIFEXITED(status) && !WEXITSTATUS(status));
	expect("its parent's are as they were", "span-id=5 root-span-id=6 route=/new other=2");
}

static void formats(void)
{
	weft_publish_select(WEFT_FORMAT_V1);
	expect("switched off", NO_SET);
	weft_context_set(1, 1);
	expect("and stays so", NO_SET);
	weft_publish_select(WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS);
	expect("switched on", "span-id=1 root-span-id=1 route=/new other=2");
}

static int be_looked_at(const char *library)
{
	if (library) {
		weft_context_set(1, 2); /* weft is at work, and nobody reads it */
		find_library(library);
		weft_context_set(12345, 67890);
	} else {
		find_library(NULL);
		expect("at first", NO_SET);
	}
	session_says_so();
	weft_writes(library != NULL);
	a_set_of_ones_own();
	weft_set_by_the_interface();
	threads();
	forks();
	formats();
	return 0;
}

/* ---- the process that looks */

static int number, failures;

static void judge(const struct point *p)
{
	char found[1000] = "";
	int good = p->is_good;

	if (!p->is_claim)
		good = !outside_read(p->pid, p->tid, found, sizeof(found)) &&
		       !strcmp(found, p->expected);
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", ++number, p->what);
	if (!good && !p->is_claim)
		printf("# expected: %s\n# found:    %s\n", p->expected, found);
}

static void start(char **argv, int say, int hear)
{
	char numbers[40];

	snprintf(numbers, sizeof(numbers), "%d %d", say, hear);
	setenv("BOTH_PIPES", numbers, 1);
	execv("/proc/self/exe", argv);
	_exit(7);
}

int main(int argc, char **argv)
{
	const char *pipes = getenv("BOTH_PIPES");
	int there[2], back[2], status = -1;
	struct point p;
	pid_t child;

	if (pipes && sscanf(pipes, "%d %d", &say_to, &hear_from) == 2)
		return be_looked_at(argc > 1 ? argv[1] : NULL);
	if (pipe(there) || pipe(back))
		return 9;
	child = fork();
	if (!child)
		start(argv, there[1], back[0]);
	close(there[1]);
	close(back[0]);
	while (read(there[0], &p, sizeof(p)) == sizeof(p)) {
		judge(&p);
		if (write(back[1], "", 1) != 1)
			break;
	}
	waitpid(child, &status, 0);
	p = (struct point){.is_claim = 1, .is_good = WIFEXITED(status) && !WEXITSTATUS(status)};
	snprintf(p.what, sizeof(p.what), "the program ended well");
	judge(&p);
	printf("1..%d\n", number);
	return failures != 0;
}
