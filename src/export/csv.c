/* SPDX-License-Identifier: Apache-2.0 */
/* CSV (RFC 4180): the six fields that every trace has, and with `extended` what else is known. */
#include "base/output.h"
#include "export/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SIX "probe_id,tid,addr,seq,is_active,ts"
#define MORE "pid,station,generation,birth,dead,trace_id,span_id,payload"

struct coro_sink {
	struct output *output;
	int extended;
};

static void csv_close(struct coro_sink *sink)
{
	output_abandon(sink->output);
	free(sink);
}

static int csv_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	static const char six[] = SIX "\n", all[] = SIX "," MORE "\n";
	struct coro_sink *sink = calloc(1, sizeof(*sink));
	int rc;

	if (!sink)
		return -ENOMEM;
	sink->extended = options->extended;
	rc = sink_output(&sink->output, options);
	if (!rc && options->extended)
		rc = output_write(sink->output, all, sizeof(all) - 1);
	else if (!rc)
		rc = output_write(sink->output, six, sizeof(six) - 1);
	if (rc) {
		csv_close(sink);
		return rc;
	}
	*out = sink;
	return 0;
}

static int csv_put_hex(char *to, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sprintf(to + 2 * i, "%02x", bytes[i]);
	return (int)(2 * count);
}

/* What is not known is an empty field. */
static int put_more(char *to, const struct coro_event *e)
{
	int n = 0;

	if (e->known & CORO_KNOWS_IDENTITY)
		n += sprintf(to + n, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, e->pid, e->station,
			     e->generation);
	else
		n += sprintf(to + n, ",,,");
	to[n++] = ',';
	if (e->known & CORO_KNOWS_BIRTH)
		n += sprintf(to + n, "%" PRIu64, e->birth_ts);
	n += sprintf(to + n, ",%s,", e->known & CORO_KNOWS_DEATH ? "true" : "");
	if (e->known & CORO_KNOWS_CONTEXT)
		n += csv_put_hex(to + n, e->context.trace_id, sizeof(e->context.trace_id));
	to[n++] = ',';
	if (e->known & CORO_KNOWS_CONTEXT)
		n += csv_put_hex(to + n, e->context.span_id, sizeof(e->context.span_id));
	to[n++] = ',';
	if (e->known & CORO_KNOWS_PAYLOAD && e->payload_bytes <= WEFT_CTP_PAYLOAD_MAX)
		n += csv_put_hex(to + n, e->payload, e->payload_bytes);
	return n;
}

static int csv_put(struct coro_sink *sink, const struct coro_event *e)
{
	char line[512];
	int n = sprintf(line, "%" PRIu64 ",%" PRIu64 ",0x%016" PRIx64 ",%" PRIu64 ",%s,%" PRIu64,
			e->probe_id, e->tid, e->addr, e->seq, e->is_active ? "true" : "false",
			e->ts);

	if (sink->extended)
		n += put_more(line + n, e);
	line[n++] = '\n';
	return output_write(sink->output, line, (size_t)n);
}

static int csv_finish(struct coro_sink *sink, const struct coro_books *books)
{
	struct output *output = sink->output;

	(void)books;
	sink->output = NULL;
	return output_commit(output);
}

const struct coro_sink_ops coro_sink_csv = {
	.open = csv_open,
	.put = csv_put,
	.finish = csv_finish,
	.close = csv_close,
};
