/* SPDX-License-Identifier: Apache-2.0 */
/* What was not done as asked: see warnings.h. */
#include "collector/run/warnings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void warnings_init(struct warnings *w)
{
	pthread_mutex_init(&w->lock, NULL);
	w->count = 0;
}

void warnings_free(struct warnings *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->text[i]);
	w->count = 0;
	pthread_mutex_destroy(&w->lock);
}

void warnings_add(void *arg, const char *text)
{
	struct warnings *w = arg;
	char *copy;

	pthread_mutex_lock(&w->lock);
	copy = w->count < WARNINGS_MAX ? strdup(text) : NULL;
	if (copy)
		w->text[w->count++] = copy;
	pthread_mutex_unlock(&w->lock);
}

int warnings_take(struct warnings *w, char *out, size_t room)
{
	char *first = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->count) {
		first = w->text[0];
		w->count--;
		memmove(&w->text[0], &w->text[1], w->count * sizeof(w->text[0]));
	}
	pthread_mutex_unlock(&w->lock);
	if (!first)
		return 0;
	snprintf(out, room, "%s", first);
	free(first);
	return 1;
}
