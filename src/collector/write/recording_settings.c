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

static const char *const switch_names[] = {RECORDING_COROUTINE_RUN, RECORDING_COROUTINE_WAIT, NULL};

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
	struct event_settings *known = &r->sample_settings[word->number];
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
			 session_sample_names[word->number]);
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
	for (int i = 0; i < 2; i++)
		put_switch_type(r, r->type[TYPE_RUN + i], &r->switch_settings[i]);
}

static void settle_switches(struct recording *r)
{
	int wrong = 0;

	for (int i = 0; i < 2; i++) {
		r->switch_settings[i] = settings_for(&r->text, switch_names[i]);
		wrong |= weft_settings_settle(&r->switch_settings[i], 0);
	}
	if (wrong)
		recording_put_warning(
			r, "event types weft.CoroutineRun, weft.CoroutineWait: their setting "
			   "select is none that they can have (all, if-context): taken as "
			   "all");
}

void recording_begin_settings(struct recording *r, const struct settings_text *text)
{
	if (text && text->text && settings_text_add(&r->text, text->text, text->bytes))
		r->error = -ENOMEM;
	for (unsigned int i = 0; r->text.text && i < SYSTEM_EVENT_COUNT; i++)
		recording_system_apply(r, (enum system_event)i, &r->text);
	for (unsigned int row = WEFT_EVENT_ROW_CPU; row <= WEFT_EVENT_ROW_WALL; row++) {
		r->sample_settings[row] = settings_for(&r->text, session_sample_names[row]);
		weft_settings_settle(&r->sample_settings[row], 0);
	}
	settle_switches(r);
}

void recording_set(struct recording *r, const char *lines, size_t bytes)
{
	struct event_settings before[2];

	memcpy(before, r->switch_settings, sizeof(before));
	if (settings_text_add(&r->text, lines, bytes))
		return;
	for (unsigned int i = 0; i < SYSTEM_EVENT_COUNT; i++)
		if (recording_system_apply(r, (enum system_event)i, &r->text))
			recording_system_put_settings(r, (enum system_event)i);
	settle_switches(r);
	for (int i = 0; i < 2; i++)
		if (is_other(&before[i], &r->switch_settings[i]) ||
		    before[i].threshold_ns != r->switch_settings[i].threshold_ns)
			put_switch_type(r, r->type[TYPE_RUN + i], &r->switch_settings[i]);
}

/* At the beginning of each chunk: each can be read by itself. */
void recording_put_settings(struct recording *r)
{
	put_sample(r, r->sample, &r->sample_settings[WEFT_EVENT_ROW_CPU], r->o.period_ns,
		   RECORDING_ENGINE_CPU);
	put_sample(r, r->wall, &r->sample_settings[WEFT_EVENT_ROW_WALL], r->o.wall_period_ns,
		   RECORDING_ENGINE_WALL);
	for (unsigned int i = 0; i < SYSTEM_EVENT_COUNT; i++)
		recording_system_put_settings(r, (enum system_event)i);
	recording_put_switch_settings(r);
	for (const struct event_class *c = r->classes; c; c = c->next)
		recording_put_class_settings(r, c);
}

const char *recording_set_type(size_t i)
{
	return i < SYSTEM_EVENT_COUNT ? system_events[i].type.name
				      : switch_names[i - SYSTEM_EVENT_COUNT];
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
