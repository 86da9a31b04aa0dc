/* SPDX-License-Identifier: Apache-2.0 */
/* From events of a file to what facts.h keeps of them, field by field. */
#include "report/read/plan.h"

#include "base/recording.h"

#include <math.h>
#include <string.h>

static uint32_t fact_text(const struct fact_event *e, const char *field)
{
	return decode_text(e->decoder, weft_jfr_event_get(e->event, field));
}

static int64_t fact_number(const struct fact_event *e, const char *field)
{
	return decode_number(weft_jfr_event_get(e->event, field), 0);
}

static uint64_t fact_positive(const struct fact_event *e, const char *field)
{
	int64_t number = fact_number(e, field);

	return number > 0 ? (uint64_t)number : 0;
}

static double fact_real(const struct fact_event *e, const char *field)
{
	const struct weft_jfr_node *n = weft_jfr_event_get(e->event, field);

	return n && n->shape == WEFT_JFR_V_REAL && isfinite(n->real) ? n->real : 0;
}

static int fact_is(struct weft_jfr_string s, const char *text)
{
	return s.bytes == strlen(text) && memcmp(s.data, text, s.bytes) == 0;
}

/* The name of the event type that a setting is of; NULL: the chunk does not declare it. */
static const char *fact_setting_type(const struct weft_jfr_reader *r, int64_t id)
{
	const struct weft_jfr_class *const *types;
	size_t count = weft_jfr_event_types(r, &types);

	for (size_t i = 0; i < count; i++)
		if (weft_jfr_class_id(types[i]) == id)
			return weft_jfr_class_name(types[i]);
	return NULL;
}

static void fact_take_period(const struct fact_event *e, int64_t id, struct weft_jfr_string name,
			     uint64_t period_ns)
{
	/* async-profiler writes settings of both engines under one type's id. */
	int of_wall = fact_is(name, "wall");
	uint32_t wall = names_find(&e->decoder->model->names, WALL_CLOCK_SAMPLE);

	if (!of_wall && !fact_is(name, RECORDING_SETTING_PERIOD) && !fact_is(name, "interval"))
		return;
	for (uint32_t i = 0; i < e->facts->type_count; i++) {
		struct fact_type *t = &e->facts->types[i];

		if (of_wall ? wall && t->name == wall : t->type_id == id)
			t->now_ns = period_ns;
	}
}

void facts_take_setting(const struct fact_event *e)
{
	struct weft_jfr_string name = decode_string(weft_jfr_event_get(e->event, "name"));
	struct weft_jfr_string value = decode_string(weft_jfr_event_get(e->event, "value"));
	int64_t id = fact_number(e, "id");
	const char *type = fact_setting_type(e->reader, id);
	struct names *names = &e->decoder->model->names;
	uint64_t period_ns = period_parse(value.data, value.bytes);

	if (type && name.bytes)
		facts_setting(e->facts,
			      names_id_format(names, "%s#%.*s", type, (int)name.bytes, name.data),
			      names_id_bytes(names, value.data, value.bytes));
	if (period_ns)
		fact_take_period(e, id, name, period_ns);
}

static void fact_take_counter(const struct fact_event *e)
{
	uint32_t name = fact_text(e, RECORDING_FIELD_NAME);
	uint32_t kind = fact_text(e, RECORDING_FIELD_KIND);
	struct fact_level level = {e->event->start_ns, fact_number(e, RECORDING_FIELD_VALUE)};

	if (strcmp(facts_name(e->facts, kind), RECORDING_KIND_LEVEL) == 0)
		facts_level(e->facts, name, kind, fact_text(e, RECORDING_FIELD_PROCESS), &level);
	else
		facts_count(e->facts, name, kind, level.value);
}

static void fact_take_bucket(const struct fact_event *e)
{
	facts_bucket(e->facts, fact_text(e, RECORDING_FIELD_NAME),
		     fact_number(e, RECORDING_FIELD_UP_TO), fact_number(e, RECORDING_FIELD_VALUE));
}

static void fact_take_process(const struct fact_event *e)
{
	facts_process(e->facts, &(struct fact_process){
					.id = fact_text(e, RECORDING_FIELD_ID),
					.name = fact_text(e, RECORDING_FIELD_PROCESS),
					.command_line = fact_text(e, RECORDING_FIELD_COMMAND_LINE),
					.end = fact_text(e, RECORDING_FIELD_END),
					.duration_ns = e->event->duration_ns,
				});
}

static void fact_take_module(const struct fact_event *e)
{
	facts_module(e->facts, &(struct fact_module){
				       .name = fact_text(e, RECORDING_FIELD_NAME),
				       .path = fact_text(e, RECORDING_FIELD_PATH),
				       .build_id = fact_text(e, RECORDING_FIELD_BUILD_ID),
			       });
}

static void fact_take_resource(const struct fact_event *e)
{
	struct model *m = e->decoder->model;
	uint32_t process = fact_text(e, RECORDING_FIELD_PROCESS);
	uint32_t key = fact_text(e, RECORDING_FIELD_KEY);
	const struct resource_value value = {.since_ns = e->event->start_ns,
					     .value = fact_text(e, RECORDING_FIELD_VALUE)};

	if (process && key)
		resources_put(&m->resources, process, names_text(&m->names, key), &value);
}

static void fact_take_jvm(const struct fact_event *e)
{
	int64_t pid = fact_number(e, "pid");

	if (pid > 0)
		e->facts->jvm =
			names_id_format(&e->decoder->model->names, "java [%lld]", (long long)pid);
}

static void fact_take_clock(const struct fact_event *e)
{
	facts_clock(e->facts, &(struct fact_clock){
				      .process = fact_text(e, RECORDING_FIELD_PROCESS),
				      .clock = fact_text(e, RECORDING_FIELD_CLOCK),
				      .reason = fact_text(e, RECORDING_FIELD_REASON),
				      .misjudged = fact_text(e, RECORDING_FIELD_MISJUDGED),
				      .period_ns = fact_positive(e, RECORDING_FIELD_PERIOD),
				      .tick_ns = fact_positive(e, RECORDING_FIELD_TICK),
				      .looks = fact_number(e, RECORDING_FIELD_LOOKS),
				      .clocked_ns = fact_number(e, RECORDING_FIELD_CLOCKED),
				      .ticked_ns = fact_number(e, RECORDING_FIELD_TICKED),
				      .tick_share = fact_real(e, RECORDING_FIELD_TICK_SHARE),
				      .look_share = fact_real(e, RECORDING_FIELD_LOOK_SHARE),
				      .chance = fact_real(e, RECORDING_FIELD_CHANCE),
			      });
}

static uint32_t fact_thread(const struct fact_event *e)
{
	return decode_thread(e->decoder, weft_jfr_event_get(e->event, "eventThread"));
}

static void fact_take_cpu(const struct fact_event *e)
{
	facts_cpu(e->facts, &(struct fact_cpu){
				    .process = fact_text(e, RECORDING_FIELD_PROCESS),
				    .thread = fact_thread(e),
				    .used_ns = fact_number(e, RECORDING_FIELD_USED),
				    .seen_ns = fact_number(e, RECORDING_FIELD_SEEN),
				    .samples = fact_number(e, RECORDING_FIELD_SAMPLES),
			    });
}

static void fact_take_time(const struct fact_event *e)
{
	facts_time(e->facts, &(struct fact_time){
				     .process = fact_text(e, RECORDING_FIELD_PROCESS),
				     .thread = fact_thread(e),
				     .due_ns = {fact_number(e, RECORDING_FIELD_RUNNING),
						fact_number(e, RECORDING_FIELD_WAITING),
						fact_number(e, RECORDING_FIELD_BLOCKED)},
				     .seen_ns = {fact_number(e, RECORDING_FIELD_RUNNING_SEEN),
						 fact_number(e, RECORDING_FIELD_WAITING_SEEN),
						 fact_number(e, RECORDING_FIELD_BLOCKED_SEEN)},
			     });
}

fact_taker *facts_taker(const char *type)
{
	static const struct {
		const char *type;
		fact_taker *taker;
	} takers[] = {
		{"jdk.ActiveSetting", facts_take_setting}, {RECORDING_COUNTER, fact_take_counter},
		{RECORDING_HISTOGRAM, fact_take_bucket},   {RECORDING_PROCESS, fact_take_process},
		{RECORDING_MODULE, fact_take_module},      {"jdk.JVMInformation", fact_take_jvm},
		{RECORDING_CLOCK, fact_take_clock},        {RECORDING_THREAD_CPU, fact_take_cpu},
		{RECORDING_THREAD_TIME, fact_take_time},   {RECORDING_RESOURCE, fact_take_resource},
	};

	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++)
		if (strcmp(takers[i].type, type) == 0)
			return takers[i].taker;
	return NULL;
}
