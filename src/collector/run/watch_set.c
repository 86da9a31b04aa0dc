/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings that change during a recording (`weft set`): a question by the socket through which
 * processes join (abi/rendezvous.h). All lines of it apply, or none. Only the recording's user and
 * root can ask there (door.h), and the text is checked all the same.
 */
#include "collector/run/watch.h"

#include "base/event_settings.h"
#include "base/recording.h"
#include "collector/write/recording_system.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct answer {
	int status; /* types that changed, or -errno */
	char text[WEFT_SET_TEXT_MAX];
};

static int watch_set_refuse(struct answer *a, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int watch_set_refuse(struct answer *a, int rc, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): begun above */
	vsnprintf(a->text, sizeof(a->text), format, list);
	va_end(list);
	a->status = rc;
	return rc;
}

static void add_name(void *arg, const char *name)
{
	struct answer *a = arg;
	size_t used = strlen(a->text), bytes = strlen(name);

	a->status++;
	if (used + bytes + 2 > sizeof(a->text))
		return;
	memcpy(a->text + used, name, bytes);
	memcpy(a->text + used + bytes, "\n", 2);
}

/* ---- what is asked */

static int is_of_samples(const struct setting_line *l)
{
	return weft_setting_glob(l->glob.at, l->glob.bytes, RECORDING_EXECUTION_SAMPLE) ||
	       weft_setting_glob(l->glob.at, l->glob.bytes, RECORDING_WALL_SAMPLE);
}

static int names_system_event(const struct setting_line *l)
{
	for (size_t i = 0; i < SYSTEM_EVENT_COUNT; i++)
		if (weft_setting_glob(l->glob.at, l->glob.bytes, system_events[i].type.name))
			return 1;
	return 0;
}

static int check_line(struct answer *a, const struct setting_line *l)
{
	struct event_settings scratch = {0};
	int which = weft_setting_find(l->name.at, l->name.bytes);

	if (which < 0)
		return watch_set_refuse(a, -EINVAL, "no such setting: %.*s", (int)l->name.bytes,
					l->name.at);
	if (weft_setting_put(&scratch, (enum event_setting)which, l->value.at, l->value.bytes))
		return watch_set_refuse(a, -EINVAL, "%s: it cannot be '%.*s'",
					weft_setting_name((enum event_setting)which),
					(int)l->value.bytes, l->value.at);
	if (which == SETTING_PERIOD && is_of_samples(l) && !names_system_event(l))
		return watch_set_refuse(
			a, -EINVAL, "period: that of samples cannot change while they are taken");
	return 0;
}

static int watch_set_check(struct answer *a, const char *text, size_t bytes)
{
	struct setting_line line;
	size_t at = 0;
	int rc;

	while ((rc = settings_line_next(text, bytes, &at, &line))) {
		if (rc < 0)
			return watch_set_refuse(a, -EINVAL, "a line is no GLOB#SETTING=VALUE");
		rc = check_line(a, &line);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- what is done */

/* The worker applies the lines to the types that it writes itself; they are in the answer. */
static void tell_recording(struct watch *w, struct answer *a, const char *text, size_t bytes)
{
	struct setting_line line;
	struct batch *b = batch_new(BATCH_SETTINGS, NULL, bytes);
	const char *name;
	uint64_t seen = 0;
	size_t at = 0;

	if (!b)
		return;
	memcpy(b->data, text, bytes);
	queue_push(w->queue, b);
	while (settings_line_next(text, bytes, &at, &line) > 0) {
		for (size_t i = 0; (name = recording_set_type(i)); i++) {
			if (seen >> i & 1 ||
			    !weft_setting_glob(line.glob.at, line.glob.bytes, name))
				continue;
			seen |= UINT64_C(1) << i;
			add_name(a, name);
		}
	}
}

static void watch_set_apply(struct watch *w, struct answer *a, pid_t pid, const char *text,
			    size_t bytes)
{
	int rc = 0;

	if (!pid)
		rc = settings_text_add(&w->text, text, bytes);
	for (struct session *s = w->first; s && rc == 0; s = s->next)
		if (!pid || s->process->pid == pid)
			rc = session_events_set(s, w->queue, text, bytes, add_name, a);
	if (rc)
		watch_set_refuse(a, rc, "%s", rc == -ENOSPC ? "too many settings" : strerror(-rc));
	else
		tell_recording(w, a, text, bytes);
}

void watch_set(struct watch *w, const struct caller *caller)
{
	const struct weft_set *question = &caller->set;
	struct answer a = {.status = 0};

	if (question->pid && !watch_session_of(w, question->pid))
		watch_set_refuse(&a, -ESRCH, "process %d is not in this recording",
				 (int)question->pid);
	else if (watch_set_check(&a, caller->text, question->text_bytes) == 0)
		watch_set_apply(w, &a, question->pid, caller->text, question->text_bytes);
	rendezvous_set_answer(caller->fd, a.status, a.text);
}
