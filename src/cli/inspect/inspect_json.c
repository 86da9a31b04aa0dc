/* SPDX-License-Identifier: Apache-2.0 */
/* weft inspect as JSON: members as in docs/inspect.md. Ids in hex; one that is absent is null. */
#include "cli/inspect/inspect_show.h"

#include "base/text/hex.h"
#include "report/show/json_value.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* A key may hold any bytes, but in JSON it ends at the first NUL. */
static void set_attribute(json_t *o, const struct live_context *c, const struct live_attribute *a)
{
	json_t *key = json_bytes(live_text(c, a->key_at), a->key_bytes);

	json_object_set_new(o, json_string_value(key) ? json_string_value(key) : "",
			    json_bytes(live_text(c, a->value_at), a->value_bytes));
	json_decref(key);
}

static json_t *attributes(const struct live_context *c)
{
	json_t *o = json_object();

	for (size_t i = 0; i < c->count; i++)
		set_attribute(o, c, &c->attribute[i]);
	return o;
}

static json_t *id(int is_there, uint64_t value)
{
	return is_there ? json_sprintf("%016" PRIx64, value) : json_null();
}

static json_t *trace_id(const struct live_context *c)
{
	char text[2 * sizeof(c->trace_id) + 1];

	*hex_put(text, c->trace_id, sizeof(c->trace_id)) = '\0';
	return c->flags & LIVE_TRACE ? json_string(text) : json_null();
}

static json_t *inspect_json_context(const struct live_context *c)
{
	json_t *o = json_pack(
		"{s:s, s:o, s:o, s:o, s:o}", "abi", inspect_abi_text[c->abi], "trace_id",
		trace_id(c), "span_id", id((c->flags & LIVE_SPAN) != 0, c->span_id), "root_span_id",
		id((c->flags & LIVE_ROOT) != 0, c->root_span_id), "attributes", attributes(c));

	if (c->flags & LIVE_TRACE)
		json_object_set_new(o, "trace_flags", json_integer(c->trace_flags));
	if (c->flags & LIVE_TORN)
		json_object_set_new(o, "torn", json_true());
	if (c->flags & LIVE_UNREADABLE)
		json_object_set_new(o, "unreadable", json_true());
	if (c->flags & LIVE_CUT)
		json_object_set_new(o, "cut", json_true());
	return o;
}

static json_t *thread(const struct inspect_show *show, const struct inspect_thread *t)
{
	json_t *list = json_array(), *o;

	for (size_t k = 0; k < t->count; k++)
		if (inspect_shows_context(show, &t->context[k]))
			json_array_append_new(list, inspect_json_context(&t->context[k]));
	o = json_pack("{s:i, s:o, s:o}", "tid", (int)t->tid, "name",
		      json_bytes(t->name, strlen(t->name)), "contexts", list);
	if (t->trouble)
		json_object_set_new(o, "trouble", json_string(inspect_trouble_text(t->trouble)));
	return o;
}

static json_t *inspect_json_weft(const struct inspect *i)
{
	static const char *const formats[] = {"v1", "labels", "otel"};
	const struct weft_session_header *h;
	json_t *list;

	if (!i->session)
		return json_null();
	h = weft_session_header(i->session);
	list = json_array();
	for (unsigned int k = 0; k < 3; k++)
		if (h->formats & 1U << k || (k == 0 && weft_session_shows_v1(i->session)))
			json_array_append_new(list, json_string(formats[k]));
	return json_pack("{s:o, s:o, s:o}", "version",
			 json_sprintf("%u.%u.%u", h->runtime_version >> 16 & 0xFFFF,
				      h->runtime_version >> 8 & 0xFF, h->runtime_version & 0xFF),
			 "formats", list, "recorded_by",
			 h->run_state == WEFT_RUN_RECORDING && h->collector_pid > 0
				 ? json_integer(h->collector_pid)
				 : json_null());
}

static json_t *keys(const struct otel_payload *p)
{
	json_t *list = json_array();

	for (unsigned int k = 0; k < p->keys.count; k++) {
		size_t bytes = 0;
		const char *key = otel_payload_key(p, k, &bytes);

		json_array_append_new(list, json_bytes(key, bytes));
	}
	return list;
}

static json_t *otel_process(const struct inspect *i)
{
	const char *who = inspect_publisher(i, INSPECT_OTEL_PROCESS);
	json_t *o;

	if (!who)
		return json_null();
	o = json_pack("{s:s, s:o, s:o, s:o}", "publisher", who, "resource",
		      attributes(&i->otel.payload.resource), "attributes",
		      attributes(&i->otel.payload.attributes), "keys", keys(&i->otel.payload));
	if (i->otel.error)
		json_object_set_new(o, "error", json_string(strerror(-i->otel.error)));
	return o;
}

static json_t *variable(const struct inspect *i, enum inspect_format format,
			const struct published_variable *v)
{
	const char *who = inspect_publisher(i, format);
	json_t *modules;

	if (!who)
		return json_null();
	modules = json_array();
	for (int k = 0; k < v->count; k++)
		json_array_append_new(modules, json_text(v->place[k].path));
	return json_pack("{s:s, s:o}", "publisher", who, "modules", modules);
}

static json_t *inspect_json_go(const struct inspect *i)
{
	const char *why = inspect_go_trouble(i);
	json_t *o;

	if (i->go.state == GO_ABSENT)
		return json_null();
	o = json_pack("{s:o, s:o}", "version", json_text(i->go.version), "module",
		      json_text(i->go.path));
	if (why)
		json_object_set_new(o, "trouble", json_string(why));
	return o;
}

static json_t *process(const struct inspect *i)
{
	return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 json_text(i->name), "command", json_text(i->command), "stopped",
			 (i->flags & INSPECT_STOP) != 0, "weft", inspect_json_weft(i),
			 "otel_process", otel_process(i), "otel_thread",
			 variable(i, INSPECT_OTEL_THREAD, &i->otel_thread), "nodejs",
			 variable(i, INSPECT_NODEJS, &i->nodejs), "custom_labels",
			 variable(i, INSPECT_LABELS, &i->labels), "go", inspect_json_go(i));
}

int inspect_json(const struct inspect_show *show, FILE *out)
{
	const struct inspect *i = show->inspect;
	json_t *list = json_array(), *all;

	for (size_t k = 0; k < i->count; k++)
		if (inspect_shows_thread(show, &i->thread[k]))
			json_array_append_new(list, thread(show, &i->thread[k]));
	all = json_pack("{s:i, s:o, s:o}", "pid", (int)i->pid, "process", process(i), "threads",
			list);
	return json_emit(all, out, show->is_line ? JSON_COMPACT : JSON_INDENT(2));
}
