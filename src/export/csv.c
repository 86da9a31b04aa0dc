/* SPDX-License-Identifier: Apache-2.0 */
/* CSV (RFC 4180): the six fields that every trace has, and with `extended` what else is known. */
#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SIX "probe_id,tid,addr,seq,is_active,ts"
#define MORE "pid,station,generation,birth,dead,trace_id,span_id,payload"

static int csv_begin(struct export_job *x)
{
	const char *head = x->sink.extended ? SIX "," MORE "\n" : SIX "\n";

	return output_write(x->output, head, strlen(head));
}

/* What is not known is an empty field. */
static int csv_put_more(char *to, const struct coro_event *e)
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
		n += export_hex(to + n, e->context.trace_id, sizeof(e->context.trace_id));
	to[n++] = ',';
	if (e->known & CORO_KNOWS_CONTEXT)
		n += export_hex(to + n, e->context.span_id, sizeof(e->context.span_id));
	to[n++] = ',';
	if (e->known & CORO_KNOWS_PAYLOAD && e->payload_bytes <= WEFT_CTP_PAYLOAD_MAX)
		n += export_hex(to + n, e->payload, e->payload_bytes);
	return n;
}

static int csv_event(struct export_job *x, const struct coro_event *e)
{
	char line[512];
	int n = sprintf(line, "%" PRIu64 ",%" PRIu64 ",0x%016" PRIx64 ",%" PRIu64 ",%s,%" PRIu64,
			e->probe_id, e->tid, e->addr, e->seq, e->is_active ? "true" : "false",
			e->ts);

	if (x->sink.extended)
		n += csv_put_more(line + n, e);
	line[n++] = '\n';
	return output_write(x->output, line, (size_t)n);
}

const struct exporter_ops exporter_csv = {.begin = csv_begin, .event = csv_event};
