/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_json.h"

#include "base/output.h"
#include "coro/look/source.h"

int coro_json_open(struct coro_json *j, const struct json_shape *shape)
{
	int rc = output_open(&j->out, NULL);

	if (rc)
		return rc;
	rc = sink_open(&j->sink, j->out);
	if (rc) {
		output_abandon(j->out);
		return rc;
	}
	j->w = (struct json_writer){
		.s = &j->sink, .object = shape, .array = shape, .step = 2, .is_placed = 1};
	json_write_object(&j->w, NULL);
	json_write_uint(&j->w, "version", 1);
	return 0;
}

int coro_json_close(struct coro_json *j)
{
	int rc, committed;

	json_write_object_end(&j->w);
	sink_char(&j->sink, '\n');
	rc = sink_flush(&j->sink);
	sink_close(&j->sink);
	committed = output_commit(j->out);
	return rc ? rc : committed;
}

void coro_json_number(struct json_writer *w, const char *key, uint64_t number)
{
	json_write_uint(w, key, number > INT64_MAX ? INT64_MAX : number);
}

void coro_json_address(struct json_writer *w, const char *key, uint64_t address)
{
	json_write_plain(w, key, "0x%016llx", (unsigned long long)address);
}

void coro_json_place(struct json_writer *w, const char *key, uint64_t address, const char *name)
{
	if (!address) {
		json_write_null(w, key);
		return;
	}
	json_write_object(w, key);
	coro_json_address(w, "addr", address);
	json_write_text(w, "name", name);
	json_write_object_end(w);
}

void coro_json_context(struct json_writer *w, const struct weft_ctp_context_prefix *prefix,
		       const struct weft_ctp_context *labels)
{
	char text[CORO_CONTEXT_BYTES];

	json_write_hex(w, "trace_id", "", prefix->trace_id, sizeof(prefix->trace_id));
	json_write_hex(w, "span_id", "", prefix->span_id, sizeof(prefix->span_id));
	json_write_text(w, "context", coro_context_text(prefix, labels, text));
}
