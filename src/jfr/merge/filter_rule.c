/* SPDX-License-Identifier: Apache-2.0 */
/* What the settings say of a type, and where its events tell their thread. */
#include "base/map.h"
#include "base/recording.h"
#include "jfr/merge/filter_private.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <string.h>

static int has_class(const struct weft_jfr_reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->classes->count; i++)
		if (strcmp(r->classes->list[i]->name, name) == 0)
			return 1;
	return 0;
}

/* Events by which weft reports on itself do not trigger anything in the thread that they name. */
static int triggers(const struct weft_jfr_reader *r, const char *name)
{
	static const char *const own[] = {
		RECORDING_LOCK_WAIT,
		RECORDING_IO_WAIT,
		"weft.TimedSpan",
		RECORDING_INLINE_SAMPLE,
		RECORDING_INLINE_WALL_SAMPLE,
	};

	if (strncmp(name, "weft.", 5) == 0) {
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			if (strcmp(name, own[i]) == 0)
				return 1;
		return 0;
	}
	if (strcmp(name, "jdk.ThreadStart") != 0 && strcmp(name, "jdk.ThreadEnd") != 0 &&
	    strcmp(name, "jdk.Shutdown") != 0)
		return 1;
	return !has_class(r, RECORDING_RECORDING);
}

static int thread_field(const struct weft_jfr_class *class)
{
	static const char *const names[] = {"eventThread", "sampledThread"};

	for (size_t i = 0; i < 2; i++) {
		int at = weft_jfr_class_find(class, names[i]);

		if (at >= 0 && class->fields[at].pooled && !class->fields[at].array)
			return at;
	}
	return -1;
}

static struct filter_rate *rate_of(struct filter *f, const char *name)
{
	int fresh;
	uint64_t *place = map_put(f->rates, name, strlen(name), &fresh);

	if (place && !*place)
		*place = (uintptr_t)arena_zalloc(&f->memory, sizeof(struct filter_rate));
	return place ? (struct filter_rate *)(uintptr_t)*place : NULL;
}

static void set_rule(struct filter *f, const struct weft_jfr_reader *r, struct filter_rule *rule,
		     const struct weft_jfr_class *class)
{
	rule->class = class;
	rule->settings.enabled = rule->settings.stack_trace = 1;
	weft_settings_apply(&rule->settings, class->name, f->lines, f->line_bytes);
	rule->contextual = strcmp(class->name, RECORDING_SPAN) == 0 || join_is_contextual(class);
	rule->lasts = class->lasts;
	rule->triggers = (uint8_t)triggers(r, class->name);
	rule->thread = thread_field(class);
	if (weft_settings_settle(&rule->settings, rule->contextual) ||
	    (rule->settings.wrong & 1u << SETTING_SELECT))
		f->wrong_select(class->name, f->arg);
}

struct filter_rule *filter_rule(struct filter *f, const struct weft_jfr_reader *r,
				const struct weft_jfr_class *class)
{
	int fresh;
	uint64_t *place = map_put(f->rules, &class, sizeof(void *), &fresh);
	struct filter_rule *rule;

	if (!place)
		return NULL;
	if (*place)
		return (struct filter_rule *)(uintptr_t)*place;
	rule = arena_zalloc(&f->memory, sizeof(*rule));
	if (!rule)
		return NULL;
	*place = (uintptr_t)rule;
	set_rule(f, r, rule, class);
	rule->rate = rate_of(f, class->name);
	return rule->rate ? rule : NULL;
}

int filter_forget_rules(struct filter *f)
{
	map_free(f->rules);
	map_free(f->rates);
	map_free(f->threads);
	arena_free(&f->memory);
	f->rules = map_new();
	f->rates = map_new();
	f->threads = map_new();
	return f->rules && f->rates && f->threads ? 0 : -ENOMEM;
}

uint64_t filter_thread_key(const struct weft_jfr_reader *r, const struct filter_rule *rule,
			   const struct weft_jfr_event_view *view)
{
	const struct weft_jfr_class *class = rule->class;
	const uint8_t *start = r->map + view->offset;
	struct decoder d;

	if (rule->thread < 0)
		return 0;
	d = (struct decoder){.in = {.at = start, .end = start + view->bytes, .fixed = r->fixed},
			     .budget = 64 + (size_t)view->bytes};
	input_i32(&d.in); /* size */
	input_i64(&d.in); /* type */
	for (int i = 0; i < rule->thread && !d.in.failed; i++)
		skip_field(&d, &class->fields[i]);
	return d.in.failed ? 0 : (uint64_t)input_i64(&d.in);
}
