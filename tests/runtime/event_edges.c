/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events where a program's life has its edges, for typed.sh: in constructors and destructors, at
 * exit, in a vfork child, at a thread's very end, in a handler on an alternate stack, in children
 * that are mostly gone before they have a session. Prints how many were kept before main's end.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/event.h>

static struct weft_event_type edge = {
	.name = "victim.Edge",
	.flags = WEFT_EVENT_STACK,
	WEFT_EVENT_FIELDS({.name = "where", .kind = WEFT_EVENT_STRING}),
};

static pthread_key_t key;
static long kept;

static int emit(const char *where)
{
	return weft_event_emit(&edge, WEFT_STRING(where));
}

__attribute__((constructor(102))) static void begin(void)
{
	kept += emit("constructor");
}

__attribute__((destructor(102))) static void end(void)
{
	emit("destructor");
}

static void at_exit(void)
{
	emit("exit");
}

/* Again and again: after libweft's own key has given the slot back, too. */
static void at_thread_end(void *arg)
{
	static __thread int times;

	kept += emit("thread");
	if (times++ < 2)
		pthread_setspecific(key, arg);
}

static void *be_thread(void *arg)
{
	pthread_setspecific(key, &key);
	return arg;
}

static void handle(int signo)
{
	(void)signo;
	kept += emit("handler");
}

static void on_another_stack(void)
{
	static char stack[64 * 1024];
	const stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	sigaltstack(&alt, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static int children(void)
{
	int status = 0, wrong = 0;
	pid_t child;

	for (int i = 0; i < 3; i++) {
		child = fork();
		if (child == 0) {
			emit("child"); /* kept only if it lives long enough for a session */
			exit(0);
		}
		wrong |= waitpid(child, &status, 0) != child || status;
	}
	child = vfork(); /* NOLINT: a guest in its parent's memory */
	if (child == 0)
		_exit(!emit("vfork"));
	wrong |= waitpid(child, &status, 0) != child || status;
	kept += !wrong;
	return wrong;
}

int main(void)
{
	pthread_t thread;
	int wrong = children();

	atexit(at_exit);
	if (pthread_key_create(&key, at_thread_end) ||
	    pthread_create(&thread, NULL, be_thread, NULL))
		return 2;
	pthread_join(thread, NULL);
	on_another_stack();
	printf("%ld\n", kept);
	return wrong;
}
