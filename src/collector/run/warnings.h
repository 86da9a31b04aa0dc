/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was not done as asked, on its way to whoever began the recording: the library prints
 * nothing. A mutex; texts in order. Each is a weft.Warning in the file, too.
 */
#ifndef WEFT_COLLECTOR_WARNINGS_H
#define WEFT_COLLECTOR_WARNINGS_H

#include <pthread.h>
#include <stddef.h>

#define WARNINGS_MAX 64 /* that wait; more are in the file alone */

struct warnings {
	pthread_mutex_t lock;
	char *text[WARNINGS_MAX];
	size_t count;
};

void warnings_init(struct warnings *w);
void warnings_free(struct warnings *w);

/* @arg: struct warnings. */
void warnings_add(void *arg, const char *text);

/* 1 and the oldest; 0: there is none. */
int warnings_take(struct warnings *w, char *out, size_t room);

#endif
