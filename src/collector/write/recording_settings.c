/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings in the file: jdk.ActiveSetting tells what applies to each type, at the beginning of each
 * chunk and when it changes. The recording applies settings itself to system events, and to runs
 * and waits of coroutines.
 */
#include "collector/session/session_events.h"
#include "collector/write/recording_private.h"

#include "base/recording.h"

#include <errno.h>
#include <stdio.h>

/* ---- samples */

static void put_sample(struct recording *r, const struct weft_jfr_type *type,
		       const struct event_settings *s, uint64_t period_ns, const char *engine)
{
	char period[32];

	if (!type)
		return;
	snprintf(period, sizeof(period), "%llu ns", (unsigned long long)period_ns);
	recording_put_one_setting(r, type, s, SETTING_ENABLED);
	recording_put_setting(r, type, RECORDING_SETTING_PERIOD, period);
	recording_put_setting(r, type, RECORDING_SETTING_ENGINE, engine);
	recording_put_setting(r, type, RECORDING_SETTING_STACK, r->o.stack_mode);
	recording_put_one_setting(r, type, s, SETTING_SELECT);
}

static int is_other(const struct event_settings *a, const struct event_settings *b)
{
	return a->enabled != b->enabled || a->select != b->select;
}

void recording_sample_settings(struct recording *r, struct process *p, const struct type_word *word)
{
	int is_wall = word->number == WEFT_EVENT_ROW_WALL;
	struct event_settings *known = is_wall ? &r->wall_settings : &r->cpu_settings;
	const struct weft_jfr_type *type = is_wall ? r->wall : r->sample;
	char text[128];

	*(is_wall ? &p->work->wall_choice : &p->work->cpu_choice) =
		samples_choice_of(&word->settings);
	if (type && is_other(known, &word->settings)) {
		recording_put_one_setting(r, type, &word->settings, SETTING_ENABLED);
		recording_put_one_setting(r, type, &word->settings, SETTING_SELECT);
	}
	*known = word->settings;
	if (type && word->wrong_select) {
		snprintf(text, sizeof(text),
			 "event type %s: its setting select is none that samples can have (all, "
			 "if-context): taken as all",
			 is_wall ? RECORDING_WALL_SAMPLE : RECORDING_EXECUTION_SAMPLE);
		recording_put_warning(r, text);
	}
}

/* ---- the recording's own */

static struct event_settings settings_for(const struct settings_text *text, const char *name)
{
	struct event_settings s = {.enabled = 1, .stack_trace = 1};

	if (text->text)
		weft_settings_apply(&s, name, text->text, text->bytes);
	return s;
}

static void put_switch_type(struct recording *r, const struct weft_jfr_type *type,
			    const struct event_settings *s)
{
	if (!type)
		return;
	recording_put_one_setting(r, type, s, SETTING_ENABLED);
	recording_put_one_setting(r, type, s, SETTING_THRESHOLD);
	recording_put_one_setting(r, type, s, SETTING_SELECT);
}

void recording_put_switch_settings(struct recording *r)
{
	put_switch_type(r, r->type[TYPE_RUN], &r->run_settings);
	put_switch_type(r, r->type[TYPE_WAIT], &r->wait_settings);
}

static void settle_switches(struct recording *r)
{
	r->run_settings = settings_for(&r->text, RECORDING_COROUTINE_RUN);
	r->wait_settings = settings_for(&r->text, RECORDING_COROUTINE_WAIT);
	if (weft_settings_settle(&r->run_settings, 0) | weft_settings_settle(&r->wait_settings, 0))
		recording_put_warning(
			r, "event types weft.CoroutineRun, weft.CoroutineWait: their setting "
			   "select is none that they can have (all, if-context): taken as "
			   "all");
}

void recording_begin_settings(struct recording *r, const struct settings_text *text)
{
	r->cpu_settings = r->wall_settings = (struct event_settings){.enabled = 1};
	if (text && text->text) {
		if (settings_text_add(&r->text, text->text, text->bytes))
			r->error = -ENOMEM;
		for (unsigned int i = 0; i < SYSTEM_EVENT_COUNT; i++)
			recording_system_apply(r, (enum system_event)i, &r->text);
		r->cpu_settings = settings_for(&r->text, RECORDING_EXECUTION_SAMPLE);
		r->wall_settings = settings_for(&r->text, RECORDING_WALL_SAMPLE);
		weft_settings_settle(&r->cpu_settings, 0);
		weft_settings_settle(&r->wall_settings, 0);
	}
	settle_switches(r);
}

void recording_set(struct recording *r, const char *lines, size_t bytes)
{
	struct event_settings run = r->run_settings, wait = r->wait_settings;

	if (settings_text_add(&r->text, lines, bytes))
		return;
	for (unsigned int i = 0; i < SYSTEM_EVENT_COUNT; i++)
		if (recording_system_apply(r, (enum system_event)i, &r->text))
			recording_system_put_settings(r, (enum system_event)i);
	settle_switches(r);
	if (is_other(&run, &r->run_settings) || run.threshold_ns != r->run_settings.threshold_ns)
		put_switch_type(r, r->type[TYPE_RUN], &r->run_settings);
	if (is_other(&wait, &r->wait_settings) ||
	    wait.threshold_ns != r->wait_settings.threshold_ns)
		put_switch_type(r, r->type[TYPE_WAIT], &r->wait_settings);
}

/* At the beginning of each chunk: each can be read by itself. */
void recording_put_settings(struct recording *r)
{
	put_sample(r, r->sample, &r->cpu_settings, r->o.period_ns, RECORDING_ENGINE_CPU);
	put_sample(r, r->wall, &r->wall_settings, r->o.wall_period_ns, RECORDING_ENGINE_WALL);
	for (unsigned int i = 0; i < SYSTEM_EVENT_COUNT; i++)
		recording_system_put_settings(r, (enum system_event)i);
	recording_put_switch_settings(r);
	for (const struct event_class *c = r->classes; c; c = c->next)
		recording_put_class_settings(r, c);
}

const char *recording_set_type(size_t i)
{
	static const char *const others[] = {RECORDING_COROUTINE_RUN, RECORDING_COROUTINE_WAIT,
					     NULL};

	return i < SYSTEM_EVENT_COUNT ? system_events[i].type.name : others[i - SYSTEM_EVENT_COUNT];
}

int recording_has_types(const struct recording *r, const char *glob, size_t bytes)
{
	const char *const names[] = {
		r->o.engines & WEFT_ENGINE_CPU ? RECORDING_EXECUTION_SAMPLE : "",
		r->o.engines & WEFT_ENGINE_WALL ? RECORDING_WALL_SAMPLE : "",
	};
	const char *own;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (*names[i] && weft_setting_glob(glob, bytes, names[i]))
			return 1;
	for (size_t i = 0; (own = recording_set_type(i)); i++)
		if (weft_setting_glob(glob, bytes, own))
			return 1;
	for (const struct event_class *c = r->classes; c; c = c->next)
		if (weft_setting_glob(glob, bytes, c->def->name))
			return 1;
	return 0;
}
