/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer with a thread (SIGEV_THREAD) as before glibc 2.3.3, by the functions of that version that
 * x86-64's glibc still has: the identifier is an int.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int old_create(clockid_t clock, struct sigevent *event, int *timer);
int old_settime(int timer, int flags, const struct itimerspec *to, struct itimerspec *was);
int old_delete(int timer);
__asm__(".symver old_create, timer_create@GLIBC_2.2.5\n"
	".symver old_settime, timer_settime@GLIBC_2.2.5\n"
	".symver old_delete, timer_delete@GLIBC_2.2.5\n");

static sem_t done;

static void notified(union sigval value)
{
	printf("value %d\n", value.sival_int);
	sem_post(&done);
}

int main(void)
{
	const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
	int timer[2] = {-1, -1};
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD;
	event.sigev_notify_function = notified;
	event.sigev_value.sival_int = 7;
	sem_init(&done, 0, 0);
	for (int i = 0; i < 3; i++) {
		printf("created %d", old_create(CLOCK_MONOTONIC, &event, timer));
		printf(" small %d, beside it %d\n", timer[0] >= 0 && timer[0] < 1000, timer[1]);
		old_settime(timer[0], 0, &soon, NULL);
		while (sem_wait(&done))
			continue;
		printf("deleted %d\n", old_delete(timer[0]));
	}
	return 0;
}
