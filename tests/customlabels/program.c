/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program as one writes it for the Custom Labels library, with every function of it: nothing
 * here knows of weft. Compiled as C and as C++, linked with libcustomlabels-weft.so, alone and
 * with weft in the process. Requests are worked on by threads, each with a set of its own; a task
 * moves from thread to thread with its set. Prints TAP.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "customlabels.h"

#define THREADS 8
#define TASKS 40

static int number, failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void check(int is_true, const char *text)
{
	pthread_mutex_lock(&lock);
	failures += !is_true;
	printf("%sok %d - %s\n", is_true ? "" : "not ", ++number, text);
	pthread_mutex_unlock(&lock);
}

static custom_labels_string_t str(const char *s)
{
	custom_labels_string_t out;

	out.len = strlen(s);
	out.buf = (const unsigned char *)s;
	return out;
}

static int is_value(const custom_labels_label_t *l, const char *value)
{
	return l && l->value.len == strlen(value) && !memcmp(l->value.buf, value, l->value.len);
}

static int has(const char *key, const char *value)
{
	return is_value(custom_labels_get(custom_labels_current(), str(key)), value);
}

static int is_debug(const custom_labels_labelset_t *ls, const char *text)
{
	custom_labels_string_t out;
	int same;

	if (custom_labels_debug_string(ls, &out))
		return 0;
	same = out.len == strlen(text) && !memcmp(out.buf, text, out.len);
	free((void *)out.buf);
	return same;
}

static void *inside(void *data)
{
	int *good = (int *)data;

	*good = has("customer", "42") && has("route", "/cart") && has("user", "ann");
	return data;
}

static int run_both(custom_labels_labelset_t *ls)
{
	custom_labels_label_t labels[2];
	int good = 0, good_too = 0;
	void *out = NULL;

	labels[0].key = str("customer");
	labels[0].value = str("42");
	labels[1].key = str("route");
	labels[1].value = str("/cart");
	if (custom_labels_run_with(ls, labels, 2, inside, &good, &out) || out != &good)
		return 0;
	if (custom_labels_careful_run_with(ls, labels, 2, inside, &good_too, NULL))
		return 0;
	return good && good_too && !custom_labels_get(ls, str("customer")) &&
	       !custom_labels_get(ls, str("route"));
}

static void use_one_set(void)
{
	custom_labels_labelset_t *ls = custom_labels_new(2), *copy, *old;
	custom_labels_string_t before;

	check(ls && custom_labels_count(ls) == 0, "a new set is empty");
	old = custom_labels_replace(ls);
	check(custom_labels_current() == ls && custom_labels_current_set == ls, "is current");
	check(!custom_labels_set(ls, str("user"), str("bob"), NULL) && has("user", "bob"), "set");
	check(!custom_labels_careful_set(ls, str("user"), str("ann"), &before) && before.len == 3 &&
		      !memcmp(before.buf, "bob", 3) && has("user", "ann"),
	      "set anew, and told what was");
	free((void *)before.buf);
	check(!custom_labels_set(ls, str("tenant"), str("acme"), &before) && !before.buf,
	      "nothing was");
	check(custom_labels_count(ls) == 2, "counted");
	check(run_both(ls), "run with labels, which then are gone");
	copy = custom_labels_clone(ls);
	check(copy && is_debug(copy, "{user: ann, tenant: acme}"), "a clone, in words");
	custom_labels_delete(ls, str("user"));
	custom_labels_careful_delete(ls, str("tenant"));
	check(custom_labels_count(ls) == 0 && custom_labels_count(copy) == 2, "deleted");
	check(custom_labels_replace(old) == ls, "put aside");
	custom_labels_free(ls);
	ls = custom_labels_clone_with_capacity(copy, 10);
	check(is_value(custom_labels_get(ls, str("tenant")), "acme"), "a clone with room");
	custom_labels_free(copy);
	custom_labels_free(ls);
}

/* A task's labels go where it goes. */
struct task {
	custom_labels_labelset_t *ls;
	int steps, is_bad;
	char name[16];
};

static struct task tasks[TASKS];
static int taken;

static struct task *take(void)
{
	struct task *t = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < TASKS && !t; i++, taken++)
		if (tasks[taken % TASKS].ls && tasks[taken % TASKS].steps < 20)
			t = &tasks[taken % TASKS];
	if (t)
		t->steps += 100; /* nobody else has it now */
	pthread_mutex_unlock(&lock);
	return t;
}

static void give_back(struct task *t)
{
	pthread_mutex_lock(&lock);
	t->steps -= 99;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	struct task *t;

	while ((t = take())) {
		custom_labels_labelset_t *old = custom_labels_replace(t->ls);
		char step[16];

		snprintf(step, sizeof(step), "%d", t->steps % 100);
		t->is_bad |= custom_labels_set(custom_labels_current(), str("step"), str(step),
					       NULL) != 0;
		t->is_bad |= !has("task", t->name) || !has("step", step);
		t->is_bad |= custom_labels_replace(old) != t->ls;
		give_back(t);
	}
	return arg;
}

static void use_tasks(void)
{
	pthread_t threads[THREADS];
	int bad = 0;

	for (int i = 0; i < TASKS; i++) {
		snprintf(tasks[i].name, sizeof(tasks[i].name), "task %d", i);
		tasks[i].ls = custom_labels_new(0);
		bad |= custom_labels_set(tasks[i].ls, str("task"), str(tasks[i].name), NULL);
	}
	for (int i = 0; i < THREADS; i++)
		bad |= pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		bad |= pthread_join(threads[i], NULL);
	for (int i = 0; i < TASKS; i++) {
		bad |= tasks[i].is_bad || tasks[i].steps != 20;
		custom_labels_free(tasks[i].ls);
	}
	check(!bad, "each task had its labels, on whichever thread");
}

struct visit {
	int n;
	custom_labels_labelset_t *left; /* by a thread that cleans up nothing */
};

static void *come_and_go(void *arg)
{
	struct visit *visit = (struct visit *)arg;
	custom_labels_labelset_t *ls = custom_labels_new(1);
	char number_of[16];

	snprintf(number_of, sizeof(number_of), "%d", visit->n);
	custom_labels_replace(ls);
	if (custom_labels_set(ls, str("thread"), str(number_of), NULL) || !has("thread", number_of))
		return NULL;
	if (visit->n % 2) {
		custom_labels_replace(NULL);
		custom_labels_free(ls);
		return arg;
	}
	visit->left = ls;
	return arg;
}

static void churn(void)
{
	struct visit args[16];
	pthread_t threads[16];
	int bad = custom_labels_abi_version != 1;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 16; i++) {
			args[i].n = round * 16 + i;
			args[i].left = NULL;
			bad |= pthread_create(&threads[i], NULL, come_and_go, &args[i]);
		}
		for (int i = 0; i < 16; i++) {
			void *out;

			bad |= pthread_join(threads[i], &out) || !out;
			custom_labels_free(args[i].left);
		}
	}
	check(!bad, "threads come and go");
}

int main(void)
{
	use_one_set();
	use_tasks();
	churn();
	printf("1..%d\n", number);
	return failures != 0;
}
