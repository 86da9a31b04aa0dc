/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is opened behind the runtime, and begins a thread of its own. */
#include <pthread.h>
#include <stddef.h>

#include "latecomer.h"

struct job {
	long ms;
	void (*set_span)(uint64_t span);
};

int run_plugin(long ms, void (*set_span)(uint64_t span));

static void *run(void *arg)
{
	struct job *job = arg;

	job->set_span(0x900);
	burn_ms(job->ms);
	return NULL;
}

int run_plugin(long ms, void (*set_span)(uint64_t span))
{
	struct job job = {ms, set_span};
	pthread_t thread;

	return pthread_create(&thread, NULL, run, &job) || pthread_join(thread, NULL);
}
