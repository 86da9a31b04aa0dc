/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that publishes what it is told to: reads commands, a line each, and answers each
 * with a line.
 *
 *   select BITS        weft_publish_select(); what is on, who has the process, who the threads
 *   label KEY VALUE    key KEY    resource KEY VALUE    context (fixed ids)
 *   record             the thread's OpenTelemetry record in hexadecimal, or "none"
 *   counters           left_out foreign
 *   fork, _Fork, clone, silent, exec   go on in a child, or as a new program
 *                      (clone: by a raw system call; silent: and without a context so far)
 *   thread             one begins and ends     fill   the key map is full then
 *   open PATH          dlopen, RTLD_LOCAL
 *   call FUNCTION      of whatever library has it
 *   quiet              writes labels and contexts between two marks for strace
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/abi/otel_thread_context.h>
#include <weft/labels.h>
#include <weft/publish.h>

#include "../own_session.h"

static void write_context(uint64_t n)
{
	struct weft_context c = {
		.span_id = 0x1000 + n, .root_span_id = 0x2000 + n / 2, .trace_flags = 1};

	memset(c.trace_id, 0xAB, sizeof(c.trace_id));
	weft_context_write(&c);
}

static void select_formats(const char *bits)
{
	int on = weft_publish_select((unsigned int)strtoul(bits, NULL, 0));
	const struct weft_session_header *h = own_session();

	printf("on %d process %u thread %u\n", on, h ? h->otel_process : 99,
	       h ? h->otel_thread : 99);
}

/* By the variable that others would reach, or that of libweft-otel.so, in a scope of its own. */
static const struct weft_otel_record *own_record(void)
{
	void *library = dlopen("libweft-otel.so", RTLD_NOW | RTLD_NOLOAD);
	struct weft_otel_record **place = dlsym(RTLD_DEFAULT, WEFT_OTEL_THREAD_SYMBOL);

	if (!place && library)
		place = dlsym(library, WEFT_OTEL_THREAD_SYMBOL);
	return place ? *place : NULL;
}

static void print_record(void)
{
	const struct weft_otel_record *r = own_record();
	const uint8_t *bytes = (const uint8_t *)r;

	if (!r)
		printf("none");
	for (size_t i = 0; r && i < (size_t)WEFT_OTEL_ATTRIBUTES_AT + r->attributes_bytes; i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

static void print_counters(void)
{
	const struct weft_slot *slot = weft_thread_own_slot();

	printf("left_out %llu full %llu foreign %llu\n",
	       (unsigned long long)slot->counters[WEFT_COUNTER_OTEL_LEFT_OUT],
	       (unsigned long long)slot->counters[WEFT_COUNTER_OTEL_KEYS_FULL],
	       (unsigned long long)slot->counters[WEFT_COUNTER_OTEL_FOREIGN]);
}

static long raw_fork(void)
{
	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Not every libc has it. */
static long bare_fork(void)
{
	pid_t (*f)(void);

	*(void **)(void *)&f = dlsym(RTLD_DEFAULT, "_Fork");
	return f ? f() : raw_fork();
}

static void go_on_in_a_child(const char *how)
{
	long pid;

	fflush(stdout);
	pid = !strcmp(how, "fork") ? fork() : !strcmp(how, "_Fork") ? bare_fork() : raw_fork();
	if (pid > 0) {
		waitpid((pid_t)pid, NULL, 0);
		_exit(0);
	}
	if (!strcmp(how, "clone")) /* who was told nothing finds out when it writes */
		write_context(1);
	printf("child %d\n", (int)getpid());
}

static void *come_and_go(void *arg)
{
	weft_context_set(1, 1);
	return arg;
}

static void begin_and_end_a_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, come_and_go, NULL) && !pthread_join(thread, NULL))
		printf("gone\n");
}

static void fill(void)
{
	char key[16];
	int last = 0;

	for (int i = 0; i < 300 && last >= 0; i++) {
		snprintf(key, sizeof(key), "fill-%d", i);
		last = weft_label_key(key);
	}
	printf("%d\n", last);
}

/* Old labels and new ones, so that keys are appended, too. */
static void be_quiet(void)
{
	static char keys[100][16];

	for (int i = 0; i < 100; i++)
		snprintf(keys[i], sizeof(keys[i]), "quiet-%d", i);
	if (write(-1, "mark", 4) != -1)
		return;
	for (int i = 0; i < 100; i++) {
		weft_label_set("tenant", i % 2 ? "acme" : "other");
		weft_label_set(keys[i], "x");
		write_context((uint64_t)i);
		weft_context_set(7, 8);
		weft_label_remove(keys[i]);
	}
	if (write(-1, "mark", 4) == -1)
		printf("quiet\n");
}

static void call(const char *name)
{
	void (*function)(void);

	*(void **)(void *)&function = dlsym(RTLD_DEFAULT, name);
	if (function)
		function();
	printf("%s\n", function ? "called" : "not there");
}

static int run(char *line, char **argv)
{
	char *word = strtok(line, " \n"), *a = strtok(NULL, " \n"), *b = strtok(NULL, "\n");

	if (!word || !strcmp(word, "quit"))
		return 0;
	if (!strcmp(word, "select"))
		select_formats(a);
	else if (!strcmp(word, "label"))
		printf("%d\n", (int)weft_label_set(a, b));
	else if (!strcmp(word, "key"))
		printf("%d\n", weft_label_key(a));
	else if (!strcmp(word, "resource"))
		printf("%d\n", weft_otel_resource(a, b));
	else if (!strcmp(word, "context"))
		write_context(0), printf("written\n");
	else if (!strcmp(word, "record"))
		print_record();
	else if (!strcmp(word, "counters"))
		print_counters();
	else if (!strcmp(word, "fork") || !strcmp(word, "_Fork") || !strcmp(word, "clone") ||
		 !strcmp(word, "silent"))
		go_on_in_a_child(word);
	else if (!strcmp(word, "thread"))
		begin_and_end_a_thread();
	else if (!strcmp(word, "fill"))
		fill();
	else if (!strcmp(word, "exec"))
		execv("/proc/self/exe", argv);
	else if (!strcmp(word, "open"))
		printf("%s\n", dlopen(a, RTLD_NOW | RTLD_LOCAL) ? "opened" : dlerror());
	else if (!strcmp(word, "call"))
		call(a);
	else if (!strcmp(word, "quiet"))
		be_quiet();
	fflush(stdout);
	return 1;
}

/* Unbuffered: after exec nothing of the input is lost. */
static int read_line(char *line, size_t room)
{
	size_t n = 0;

	while (n + 1 < room && read(0, line + n, 1) == 1)
		if (line[n++] == '\n')
			break;
	line[n] = 0;
	return n > 0;
}

int main(int argc, char **argv)
{
	char line[8192];

	(void)argc;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (read_line(line, sizeof(line)) && run(line, argv))
		;
	return 0;
}
