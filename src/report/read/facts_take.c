/* SPDX-License-Identifier: Apache-2.0 */
/* Events that are facts, field by field: see facts_take.h. */
#include "report/read/facts_take.h"

#include "base/recording.h"
#include "report/read/types.h"

#include <math.h>
#include <string.h>

struct taking {
	struct facts *facts;
	struct model *model;
	struct decoder *decoder;
};

static uint32_t facts_take_text_of(const struct taking *s, const struct weft_jfr_event_view *e,
				   const char *field)
{
	return decode_text(s->decoder, weft_jfr_event_get(e, field));
}

static int64_t facts_take_number_of(const struct weft_jfr_event_view *e, const char *field)
{
	return decode_number(weft_jfr_event_get(e, field), 0);
}

static double real_of(const struct weft_jfr_event_view *e, const char *field)
{
	const struct weft_jfr_node *n = weft_jfr_event_get(e, field);

	return n && n->shape == WEFT_JFR_V_REAL && isfinite(n->real) ? n->real : 0;
}

static int facts_take_is(struct weft_jfr_string s, const char *text)
{
	return s.bytes == strlen(text) && memcmp(s.data, text, s.bytes) == 0;
}

/* Rows of one name follow each other in time: the newest stands until the next. */
static void take_setting(const struct taking *s, const struct weft_jfr_event_view *e)
{
	struct weft_jfr_string name = decode_string(weft_jfr_event_get(e, "name"));
	struct weft_jfr_string value = decode_string(weft_jfr_event_get(e, "value"));
	uint64_t period_ns = period_parse(value.data, value.bytes);
	/* async-profiler's words: one type's rows speak of both. */
	int of_wall = facts_take_is(name, "wall");
	uint32_t wall = names_find(&s->model->names, WALL_CLOCK_SAMPLE);
	int64_t id = facts_take_number_of(e, "id");

	if (!period_ns || !(of_wall || facts_take_is(name, RECORDING_SETTING_PERIOD) ||
			    facts_take_is(name, "interval")))
		return;
	for (uint32_t i = 0; i < s->facts->type_count; i++) {
		struct fact_type *t = &s->facts->types[i];

		if (of_wall ? wall && t->name == wall : t->type_id == id)
			t->period_ns = period_ns;
	}
}

static void facts_take_process(const struct taking *s, const struct weft_jfr_event_view *e)
{
	facts_process(s->facts, &(struct fact_process){
					.id = facts_take_text_of(s, e, RECORDING_FIELD_ID),
					.name = facts_take_text_of(s, e, RECORDING_FIELD_PROCESS),
					.command_line = facts_take_text_of(
						s, e, RECORDING_FIELD_COMMAND_LINE),
					.end = facts_take_text_of(s, e, RECORDING_FIELD_END),
					.duration_ns = e->duration_ns,
				});
}

static void facts_take_clock(const struct taking *s, const struct weft_jfr_event_view *e)
{
	int64_t period_ns = facts_take_number_of(e, RECORDING_FIELD_PERIOD);
	int64_t tick_ns = facts_take_number_of(e, RECORDING_FIELD_TICK);
	struct fact_clock clock = {
		.process = facts_take_text_of(s, e, RECORDING_FIELD_PROCESS),
		.clock = facts_take_text_of(s, e, RECORDING_FIELD_CLOCK),
		.reason = facts_take_text_of(s, e, RECORDING_FIELD_REASON),
		.misjudged = facts_take_text_of(s, e, RECORDING_FIELD_MISJUDGED),
		.period_ns = period_ns > 0 ? (uint64_t)period_ns : 0,
		.tick_ns = tick_ns > 0 ? (uint64_t)tick_ns : 0,
		.looks = facts_take_number_of(e, RECORDING_FIELD_LOOKS),
		.clocked_ns = facts_take_number_of(e, RECORDING_FIELD_CLOCKED),
		.ticked_ns = facts_take_number_of(e, RECORDING_FIELD_TICKED),
		.tick_share = real_of(e, RECORDING_FIELD_TICK_SHARE),
		.look_share = real_of(e, RECORDING_FIELD_LOOK_SHARE),
		.chance = real_of(e, RECORDING_FIELD_CHANCE),
	};

	facts_clock(s->facts, &clock);
}

static void take_cpu(const struct taking *s, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");

	facts_cpu(s->facts, &(struct fact_cpu){
				    .process = facts_take_text_of(s, e, RECORDING_FIELD_PROCESS),
				    .thread = decode_thread(s->decoder, thread),
				    .used_ns = facts_take_number_of(e, RECORDING_FIELD_USED),
				    .seen_ns = facts_take_number_of(e, RECORDING_FIELD_SEEN),
				    .samples = facts_take_number_of(e, RECORDING_FIELD_SAMPLES),
			    });
}

static void take_time(const struct taking *s, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");

	facts_time(s->facts,
		   &(struct fact_time){
			   .process = facts_take_text_of(s, e, RECORDING_FIELD_PROCESS),
			   .thread = decode_thread(s->decoder, thread),
			   .due_ns = {facts_take_number_of(e, RECORDING_FIELD_RUNNING),
				      facts_take_number_of(e, RECORDING_FIELD_WAITING),
				      facts_take_number_of(e, RECORDING_FIELD_BLOCKED)},
			   .seen_ns = {facts_take_number_of(e, RECORDING_FIELD_RUNNING_SEEN),
				       facts_take_number_of(e, RECORDING_FIELD_WAITING_SEEN),
				       facts_take_number_of(e, RECORDING_FIELD_BLOCKED_SEEN)},
		   });
}

void facts_take(struct facts *facts, struct model *model, struct decoder *decoder, enum role role,
		const struct weft_jfr_event_view *e)
{
	struct taking taking = {facts, model, decoder}, *s = &taking;

	switch (role) {
	case ROLE_SETTING:
		take_setting(s, e);
		break;
	case ROLE_COUNTER:
		facts_count(s->facts, facts_take_text_of(s, e, RECORDING_FIELD_NAME),
			    facts_take_text_of(s, e, RECORDING_FIELD_KIND),
			    facts_take_number_of(e, RECORDING_FIELD_VALUE));
		break;
	case ROLE_HISTOGRAM:
		facts_bucket(s->facts, facts_take_text_of(s, e, RECORDING_FIELD_NAME),
			     facts_take_number_of(e, RECORDING_FIELD_UP_TO),
			     facts_take_number_of(e, RECORDING_FIELD_VALUE));
		break;
	case ROLE_PROCESS:
		facts_take_process(s, e);
		break;
	case ROLE_MODULE:
		facts_module(s->facts,
			     &(struct fact_module){
				     .name = facts_take_text_of(s, e, RECORDING_FIELD_NAME),
				     .path = facts_take_text_of(s, e, RECORDING_FIELD_PATH),
				     .build_id = facts_take_text_of(s, e, RECORDING_FIELD_BUILD_ID),
			     });
		break;
	case ROLE_CLOCK:
		facts_take_clock(s, e);
		break;
	case ROLE_THREAD_CPU:
		take_cpu(s, e);
		break;
	case ROLE_THREAD_TIME:
		take_time(s, e);
		break;
	case ROLE_JVM:
		if (facts_take_number_of(e, "pid") > 0)
			s->facts->jvm = names_id_format(&s->model->names, "java [%lld]",
							(long long)facts_take_number_of(e, "pid"));
		break;
	default:
		break;
	}
}
