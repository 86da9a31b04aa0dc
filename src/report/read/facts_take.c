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

static uint32_t text_of(const struct taking *s, const struct weft_jfr_event_view *e,
			const char *field)
{
	return decode_text(s->decoder, weft_jfr_event_get(e, field));
}

static int64_t number_of(const struct weft_jfr_event_view *e, const char *field)
{
	return decode_number(weft_jfr_event_get(e, field), 0);
}

static double real_of(const struct weft_jfr_event_view *e, const char *field)
{
	const struct weft_jfr_node *n = weft_jfr_event_get(e, field);

	return n && n->shape == WEFT_JFR_V_REAL && isfinite(n->real) ? n->real : 0;
}

static int is(struct weft_jfr_string s, const char *text)
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
	int of_wall = is(name, "wall");
	uint32_t wall = names_find(&s->model->names, WALL_CLOCK_SAMPLE);
	int64_t id = number_of(e, "id");

	if (!period_ns || !(of_wall || is(name, RECORDING_SETTING_PERIOD) || is(name, "interval")))
		return;
	for (uint32_t i = 0; i < s->facts->type_count; i++) {
		struct fact_type *t = &s->facts->types[i];

		if (of_wall ? wall && t->name == wall : t->type_id == id)
			t->period_ns = period_ns;
	}
}

static void take_process(const struct taking *s, const struct weft_jfr_event_view *e)
{
	facts_process(s->facts, &(struct fact_process){
					.id = text_of(s, e, RECORDING_FIELD_ID),
					.name = text_of(s, e, RECORDING_FIELD_PROCESS),
					.command_line = text_of(s, e, RECORDING_FIELD_COMMAND_LINE),
					.end = text_of(s, e, RECORDING_FIELD_END),
					.duration_ns = e->duration_ns,
				});
}

static void take_clock(const struct taking *s, const struct weft_jfr_event_view *e)
{
	int64_t period_ns = number_of(e, RECORDING_FIELD_PERIOD);
	int64_t tick_ns = number_of(e, RECORDING_FIELD_TICK);
	struct fact_clock clock = {
		.process = text_of(s, e, RECORDING_FIELD_PROCESS),
		.clock = text_of(s, e, RECORDING_FIELD_CLOCK),
		.reason = text_of(s, e, RECORDING_FIELD_REASON),
		.misjudged = text_of(s, e, RECORDING_FIELD_MISJUDGED),
		.period_ns = period_ns > 0 ? (uint64_t)period_ns : 0,
		.tick_ns = tick_ns > 0 ? (uint64_t)tick_ns : 0,
		.looks = number_of(e, RECORDING_FIELD_LOOKS),
		.clocked_ns = number_of(e, RECORDING_FIELD_CLOCKED),
		.ticked_ns = number_of(e, RECORDING_FIELD_TICKED),
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
				    .process = text_of(s, e, RECORDING_FIELD_PROCESS),
				    .thread = decode_thread(s->decoder, thread),
				    .used_ns = number_of(e, RECORDING_FIELD_USED),
				    .seen_ns = number_of(e, RECORDING_FIELD_SEEN),
				    .samples = number_of(e, RECORDING_FIELD_SAMPLES),
			    });
}

static void take_time(const struct taking *s, const struct weft_jfr_event_view *e)
{
	const struct weft_jfr_node *thread = weft_jfr_event_get(e, "eventThread");

	facts_time(s->facts, &(struct fact_time){
				     .process = text_of(s, e, RECORDING_FIELD_PROCESS),
				     .thread = decode_thread(s->decoder, thread),
				     .due_ns = {number_of(e, RECORDING_FIELD_RUNNING),
						number_of(e, RECORDING_FIELD_WAITING),
						number_of(e, RECORDING_FIELD_BLOCKED)},
				     .seen_ns = {number_of(e, RECORDING_FIELD_RUNNING_SEEN),
						 number_of(e, RECORDING_FIELD_WAITING_SEEN),
						 number_of(e, RECORDING_FIELD_BLOCKED_SEEN)},
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
		facts_count(s->facts, text_of(s, e, RECORDING_FIELD_NAME),
			    text_of(s, e, RECORDING_FIELD_KIND),
			    number_of(e, RECORDING_FIELD_VALUE));
		break;
	case ROLE_HISTOGRAM:
		facts_bucket(s->facts, text_of(s, e, RECORDING_FIELD_NAME),
			     number_of(e, RECORDING_FIELD_UP_TO),
			     number_of(e, RECORDING_FIELD_VALUE));
		break;
	case ROLE_PROCESS:
		take_process(s, e);
		break;
	case ROLE_MODULE:
		facts_module(s->facts, &(struct fact_module){
					       .name = text_of(s, e, RECORDING_FIELD_NAME),
					       .path = text_of(s, e, RECORDING_FIELD_PATH),
					       .build_id = text_of(s, e, RECORDING_FIELD_BUILD_ID),
				       });
		break;
	case ROLE_CLOCK:
		take_clock(s, e);
		break;
	case ROLE_THREAD_CPU:
		take_cpu(s, e);
		break;
	case ROLE_THREAD_TIME:
		take_time(s, e);
		break;
	case ROLE_JVM:
		if (number_of(e, "pid") > 0)
			s->facts->jvm = names_id_format(&s->model->names, "java [%lld]",
							(long long)number_of(e, "pid"));
		break;
	default:
		break;
	}
}
