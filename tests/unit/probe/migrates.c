/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coroutine that suspends and resumes itself, in one function, and comes back on the other of two
 * threads each time: its events name the thread that it runs on, and that thread alone knows it as
 * running. Optimisers keep the address of thread state over such a switch; built by header.sh with
 * many compilers and flags. Prints what is wrong, and fails then.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft/coro.h>

#define ROUNDS 1000

struct place {
	void *sp;
};

/* Pushes what a callee keeps, and goes on where @to was left. */
void migrates_switch(struct place *from, struct place *to);
#if defined(__x86_64__)
#define FRAME 8 /* words, and which of them is the return address */
#define RETURNS 6
__asm__(".text\n.globl migrates_switch\n.hidden migrates_switch\nmigrates_switch:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov (%rsi),%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#else
#define FRAME 12
#define RETURNS 11
__asm__(".text\n.globl migrates_switch\n.hidden migrates_switch\nmigrates_switch:\n"
	"stp x19,x20,[sp,#-96]!\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\n"
	"stp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
	"mov x9,sp\nstr x9,[x0]\nldr x9,[x1]\nmov sp,x9\n"
	"ldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
	"ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp x19,x20,[sp],#96\nret\n");
#endif

static struct place of_coro, of_thread[2];
static struct weft_coro self;
static volatile int turn, is_over;
static sem_t turns[2];
static unsigned int wrong_tid, not_running, still_running;

static __attribute__((noinline)) void look(void)
{
	const struct weft_ctp_epoch *slot =
		&self.station->slots[(self.next_event - 1) % WEFT_CTP_SLOTS];

	wrong_tid += slot->tid != (uint64_t)weft_probe_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
	not_running += weft_coro_running() != &self;
}

/* One function, whatever an optimiser thinks of the sizes. */
static __attribute__((flatten)) void body(void)
{
	int i;

	weft_coro_resume(&self, NULL);
	for (i = 0; i < ROUNDS; i++) {
		weft_coro_suspend(&self, NULL);
		migrates_switch(&of_coro, &of_thread[turn]);
		weft_coro_resume(&self, NULL);
		look();
	}
	weft_coro_suspend(&self, NULL);
	is_over = 1;
	migrates_switch(&of_coro, &of_thread[turn]);
	abort();
}

static void *worker(void *arg)
{
	int me = arg != NULL;

	for (;;) {
		sem_wait(&turns[me]);
		if (is_over)
			break;
		turn = me;
		migrates_switch(&of_thread[me], &of_coro);
		still_running += weft_coro_running() != NULL;
		sem_post(&turns[!me]);
	}
	sem_post(&turns[!me]);
	return NULL;
}

static int trace(void)
{
	char path[] = "/tmp/weft-migrates-XXXXXX";
	struct weft_ctp_header header;
	int fd = mkstemp(path), traced;

	memset(&header, 0, sizeof(header));
	header.magic = WEFT_CTP_MAGIC;
	header.version = WEFT_CTP_VERSION;
	header.max_stations = 1;
	if (fd < 0 || write(fd, &header, sizeof(header)) != (ssize_t)sizeof(header) ||
	    ftruncate(fd, (off_t)WEFT_CTP_FILE_BYTES(1)))
		return 0;
	setenv("CTP_SHM_PATH", path, 1);
	unsetenv("CTP_SOCK_PATH");
	unsetenv("CTP_MAX_STATIONS");
	traced = weft_coro_create(&self, NULL);
	unlink(path);
	close(fd);
	return traced;
}

int main(void)
{
	static void *stack[8192] __attribute__((aligned(16)));
	void **frame = stack + 8192 - 2 - FRAME;
	void (*begin)(void) = body;
	pthread_t threads[2];

	memcpy(&frame[RETURNS], &begin, sizeof(begin));
	of_coro.sp = frame;
	if (!trace() || sem_init(&turns[0], 0, 1) || sem_init(&turns[1], 0, 0) ||
	    pthread_create(&threads[0], NULL, worker, NULL) ||
	    pthread_create(&threads[1], NULL, worker, &self))
		return 2;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (wrong_tid || not_running || still_running)
		fprintf(stderr,
			"of %d: %u with a wrong tid, %u not running, %u running elsewhere\n",
			ROUNDS, wrong_tid, not_running, still_running);
	return wrong_tid || not_running || still_running;
}
