/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events make no system call under an engine that comes by itself: a filter kills whoever makes
 * one. Under another, all that is made is a look at the socket and one byte to it.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "probe.h"

#define EVENTS 100000

static struct probe_file file;

/* From now on only the end, and @allowed more (0 = none). */
static void forbid(const int *allowed, int count)
{
	struct sock_filter filter[16];
	struct sock_fprog program = {.filter = filter};
	int i, n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	for (i = 0; i < count; i++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned)allowed[i], 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

static void events(struct weft_coro *c)
{
	int i;

	for (i = 0; i < EVENTS; i++) {
		weft_coro_payload(c, &i, sizeof(i));
		weft_coro_resume(c, NULL);
		weft_coro_suspend(c, NULL);
		weft_coro_wake(c);
	}
}

static void no_call(void *arg)
{
	const int allowed[] = {SYS_exit_group};
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	weft_coro_resume(&c, NULL); /* the thread's first: gettid */
	weft_coro_suspend(&c, NULL);
	forbid(allowed, 1);
	events(&c);
	_exit(c.station->totals.resumes == EVENTS + 1 ? 0 : 2);
}

static void only_the_byte(void *arg)
{
	const int allowed[] = {SYS_exit_group, SYS_sendto, SYS_newfstatat, SYS_fstat};
	struct weft_coro c;
	int i;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	CHECK(weft_probe_process.socket, >, 2);
	weft_coro_resume(&c, NULL);
	forbid(allowed, 4);
	for (i = 0; i < 10; i++) {
		file.header->tracer_sleeping = 1;
		weft_coro_suspend(&c, NULL);
		weft_coro_resume(&c, NULL);
	}
	_exit(file.header->tracer_sleeping ? 2 : 0);
}

static void clock_is_a_call(void *arg)
{
	const int allowed[] = {SYS_exit_group};

	(void)arg;
	forbid(allowed, 1);
	weft_probe_kernel_ns();
	_exit(0);
}

static int can_tell(void)
{
	int status = status_of(clock_is_a_call, NULL);

	if (status)
		print_message("no filters here, or no vDSO clock (status %d)\n", status);
	return status == 0;
}

static void under_ours(void **state)
{
	(void)state;
	if (!can_tell())
		skip();
	file = probe_file(2, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE | WEFT_CTP_DIRTY);
	in_child(no_call, NULL);
	probe_file_gone(&file);
}

static void under_the_peer(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char bytes[32];
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), engine;

	(void)state;
	if (!can_tell())
		skip();
	file = probe_file(2, PEER, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s.sock", file.path);
	assert_true(!bind(listener, (struct sockaddr *)&address, sizeof(address)) &&
		    !listen(listener, 1));
	setenv("CTP_SOCK_PATH", address.sun_path, 1);
	in_child(only_the_byte, NULL);
	engine = accept(listener, NULL, NULL);
	assert_int_equal(recv(engine, bytes, sizeof(bytes), MSG_DONTWAIT), 10);
	close(engine);
	close(listener);
	unlink(address.sun_path);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_ours),
		cmocka_unit_test(under_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
