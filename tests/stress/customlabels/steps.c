/* SPDX-License-Identifier: Apache-2.0 */
/*
 * customlabels-steps [--caught]
 *
 * Changes of a label set, instruction by instruction. A child makes each change of the table
 * between two int3; this process single-steps it and at every instruction reads the current set
 * as an outside reader does, by the rules of the ABI: a label whose key is NULL is skipped, of
 * equal keys the first counts, no value is NULL. What it finds is what was there before the
 * change or what is there after it, all of a run_with at once, and never before again.
 *
 * --caught turns it round, for a library whose stores are in a wrong order. x86-64.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <customlabels.h>
#include <weft/abi/custom_labels_v1.h>

#define KEYS 26
#define VALUE 32
#define STATES_MAX 200
#define STOPS_MAX 1000000

enum kind { SET, CAREFUL_SET, DELETE, CAREFUL_DELETE, RUN, CAREFUL_RUN, REPLACE, CLONE };
static const char *const kind_names[] = {
	"set",      "careful_set",      "delete",  "careful_delete",
	"run_with", "careful_run_with", "replace", "clone and replace"};

struct change {
	enum kind kind;
	const char *pairs; /* "a=1" or, for a run, "a=1,b=2" */
};

static const struct change changes[] = {
	{SET, "a=1"},
	{SET, "b=two"},
	{CAREFUL_SET, "a=2"},
	{CAREFUL_SET, "a=longer"},
	{SET, "a="},
	{SET, "c=3"},
	{CAREFUL_SET, "d=4"},
	{CAREFUL_SET, "e=5"},
	{DELETE, "a"},
	{CAREFUL_DELETE, "e"},
	{CAREFUL_DELETE, "b"},
	{DELETE, "z"},
	{RUN, "c=during"},
	{RUN, "x=new,c=during,y=also"},
	{CAREFUL_RUN, "x=1,x=2,d="},
	{CAREFUL_RUN, "p=1,q=2,r=3,s=4,t=5"},
	{CLONE, ""},
	{CAREFUL_SET, "a=in the clone"},
	{REPLACE, ""},
	{SET, "a=first"},
	{DELETE, "a"},
	{CAREFUL_SET, "n=one,o=two"},
};
#define CHANGES (sizeof(changes) / sizeof(changes[0]))

/* ---- both sides */

static custom_labels_label_t pairs_of(char *text, int *more)
{
	char *end = strchr(text, ','), *middle;
	custom_labels_label_t l;

	if (end)
		*end = 0;
	*more = end ? (int)(end + 1 - text) : 0;
	middle = strchr(text, '=');
	l.key.buf = (const unsigned char *)text;
	l.key.len = middle ? (size_t)(middle - text) : strlen(text);
	l.value.buf = (const unsigned char *)(middle ? middle + 1 : "");
	l.value.len = strlen((const char *)l.value.buf);
	return l;
}

static int parse(const char *pairs, char *text, custom_labels_label_t *out)
{
	int n = 0, more;

	strcpy(text, pairs);
	do {
		out[n++] = pairs_of(text, &more);
		text += more;
	} while (more);
	return n;
}

/* ---- the child */

static void trap(void)
{
	__asm__ volatile("int3" ::: "memory");
}

static void *trap_inside(void *arg)
{
	trap();
	return arg;
}

static void make(const struct change *c)
{
	custom_labels_labelset_t *ls = custom_labels_current();
	custom_labels_label_t labels[8];
	char text[100];
	int n = parse(c->pairs, text, labels);

	switch (c->kind) {
	case SET:
		custom_labels_set(ls, labels[0].key, labels[0].value, NULL);
		break;
	case CAREFUL_SET:
		custom_labels_careful_set(ls, labels[0].key, labels[0].value, NULL);
		break;
	case DELETE:
		custom_labels_delete(ls, labels[0].key);
		break;
	case CAREFUL_DELETE:
		custom_labels_careful_delete(ls, labels[0].key);
		break;
	case RUN:
		custom_labels_run_with(ls, labels, n, trap_inside, NULL, NULL);
		break;
	case CAREFUL_RUN:
		custom_labels_careful_run_with(ls, labels, n, trap_inside, NULL, NULL);
		break;
	case CLONE:
		custom_labels_free(custom_labels_replace(custom_labels_clone(ls)));
		break;
	case REPLACE:
		custom_labels_free(custom_labels_replace(custom_labels_new(0)));
		break;
	}
}

static void be_child(void)
{
	custom_labels_replace(custom_labels_new(1));
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	trap();
	for (size_t i = 0; i < CHANGES; i++) {
		make(&changes[i]);
		trap();
	}
	_exit(0);
}

/* ---- the tracer */

struct state {
	char value[KEYS][VALUE]; /* "=" and the value; "" = absent */
	char by[40];             /* what leads to it */
};

static struct state states[STATES_MAX];
static size_t state_count = 1;
static pid_t child;
static uint64_t stops, wrong, same_before, same_after;

static void put(struct state *s, const custom_labels_label_t *l, int is_deleted)
{
	char *to = s->value[l->key.buf[0] - 'a'];

	if (is_deleted)
		*to = 0;
	else
		snprintf(to, VALUE, "=%.*s", (int)l->value.len, (const char *)l->value.buf);
}

static struct state *next_state(const struct state *from, const struct change *c)
{
	struct state *s = &states[state_count++];

	*s = *from;
	snprintf(s->by, sizeof(s->by), "%s %.20s", kind_names[c->kind], c->pairs);
	return s;
}

/* What is there at each int3. */
static void foresee(void)
{
	for (size_t i = 0; i < CHANGES; i++) {
		const struct change *c = &changes[i];
		const struct state *before = &states[state_count - 1];
		custom_labels_label_t labels[8];
		char text[100];
		int n = parse(c->pairs, text, labels);
		int runs = c->kind == RUN || c->kind == CAREFUL_RUN;
		struct state *s = next_state(before, c);

		if (c->kind == REPLACE)
			memset(s->value, 0, sizeof(s->value));
		for (int k = 0; *c->pairs && k < (runs ? n : 1); k++)
			put(s, &labels[k], c->kind == DELETE || c->kind == CAREFUL_DELETE);
		if (runs)
			next_state(before, c);
	}
}

static int peek(const void *from, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};

	return !bytes || process_vm_readv(child, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

static int read_label(const struct weft_custom_labels_label *l, struct state *out)
{
	unsigned char key;
	char *to;

	if (!l->key.buf)
		return 0;
	if (!l->value.buf || l->key.bytes != 1 || l->value.bytes >= VALUE - 1 ||
	    peek(l->key.buf, &key, 1) || key < 'a' || key > 'z')
		return -1;
	to = out->value[key - 'a'];
	if (*to) /* the first counts */
		return 0;
	memset(to, 0, VALUE);
	*to = '=';
	return peek(l->value.buf, to + 1, l->value.bytes);
}

/* By the child's pointer, which is at the same address as this process's. */
static int read_set(struct state *out)
{
	struct weft_custom_labels_label labels[64];
	struct weft_custom_labels_set set, *at;

	memset(out, 0, sizeof(*out));
	if (peek(&custom_labels_current_set, &at, sizeof(at)) || !at ||
	    peek(at, &set, sizeof(set)) || set.count > 64 ||
	    peek(set.storage, labels, set.count * sizeof(labels[0])))
		return -1;
	for (uint64_t i = 0; i < set.count; i++)
		if (read_label(&labels[i], out))
			return -1;
	return 0;
}

static int is_same(const struct state *a, const struct state *b)
{
	for (int k = 0; k < KEYS; k++)
		if (strcmp(a->value[k], b->value[k]))
			return 0;
	return 1;
}

static int look(const struct state *before, const struct state *after, int phase)
{
	struct state now;
	int failed = read_set(&now);

	stops++;
	same_before += !failed && is_same(&now, before);
	same_after += !failed && is_same(&now, after);
	if (!failed && !phase && is_same(&now, before))
		return 0;
	if (!failed && is_same(&now, after))
		return 1;
	if (!wrong++)
		printf("# %s: wrong at instruction %lu\n", after->by, stops);
	return phase;
}

static int resume_and_wait(enum __ptrace_request request)
{
	int status;

	if (ptrace(request, child, NULL, NULL) || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

static int is_at_trap(void)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, child, NULL, &info) && info.si_code == SI_KERNEL;
}

static int step_through(const struct state *before, const struct state *after)
{
	int phase = 0, status;

	do {
		phase = look(before, after, phase);
		status = resume_and_wait(PTRACE_SINGLESTEP);
		if (status < 0 || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
		    stops > STOPS_MAX)
			return -1;
	} while (!is_at_trap());
	look(before, after, 1);
	return 0;
}

static int trace_all(void)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return -1;
	for (size_t i = 0; i + 1 < state_count; i++)
		if (step_through(&states[i], &states[i + 1])) {
			printf("# lost the child: %s\n", states[i + 1].by);
			return -1;
		}
	status = resume_and_wait(PTRACE_CONT);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int number_of_case;

static int check(int is_true, const char *text)
{
	printf("%sok %d - %s\n", is_true ? "" : "not ", ++number_of_case, text);
	return is_true;
}

int main(int argc, char **argv)
{
	int is_caught = argc > 1 && !strcmp(argv[1], "--caught"), status, good;

	(void)custom_labels_current(); /* its TLS is there before the fork */
	foresee();
	child = fork();
	if (!child)
		be_child();
	status = trace_all();
	if (status && child > 0 && kill(child, SIGKILL) == 0)
		waitpid(child, NULL, 0);
	good = check(status == 0, "the child was stepped through and ended well");
	printf("# %lu instructions, %lu as before, %lu as after, %lu wrong\n", stops, same_before,
	       same_after, wrong);
	good &= check(stops > 2000 && same_before > 500 && same_after > 500,
		      "it was met before and after each change");
	if (is_caught)
		good &= check(wrong > 0, "the wrong order was found out");
	else
		good &= check(wrong == 0, "each instruction shows the old set or the new");
	printf("1..%d\n", number_of_case);
	return good ? 0 : 1;
}
