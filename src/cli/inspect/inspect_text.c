/* SPDX-License-Identifier: Apache-2.0 */
/* weft inspect for people: what the process publishes, and a line per context. */
#include "base/text/hex.h"
#include "base/text/visible.h"
#include "cli/frame/term.h"
#include "cli/inspect/inspect_show.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void inspect_text_put_value(FILE *out, const char *text, size_t bytes)
{
	int quote = bytes == 0 || memchr(text, ' ', bytes) || memchr(text, '"', bytes);

	if (quote)
		fputc('"', out);
	visible_print(out, text, bytes);
	if (quote)
		fputc('"', out);
}

static void put_attributes(FILE *out, const struct live_context *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct live_attribute *a = &c->attribute[i];

		fputs(i ? " " : "", out);
		visible_print(out, live_text(c, a->key_at), a->key_bytes);
		fputc('=', out);
		inspect_text_put_value(out, live_text(c, a->value_at), a->value_bytes);
	}
}

/* ---- the process */

static void put_weft(const struct inspect *i, FILE *out)
{
	static const char *const formats[] = {"v1", "labels", "otel"};
	const struct weft_session_header *h = i->session ? weft_session_header(i->session) : NULL;
	const char *comma = "";

	if (!h && i->session_error == -EXDEV)
		fputs("  weft: the session of the process that it was forked from, none of its "
		      "own\n",
		      out);
	else if (!h && i->session_error != -ENOENT)
		fputs("  weft: a session that this weft cannot read (another version?)\n", out);
	if (!h)
		return;
	fprintf(out, "  weft %u.%u.%u: publishes ", h->runtime_version >> 16 & 0xFFFF,
		h->runtime_version >> 8 & 0xFF, h->runtime_version & 0xFF);
	for (unsigned int k = 0; k < 3; k++)
		if (h->formats & 1U << k || (k == 0 && weft_session_shows_v1(i->session))) {
			fprintf(out, "%s%s", comma, formats[k]);
			comma = ", ";
		}
	fprintf(out, "%s", *comma ? "" : "nothing");
	if (h->run_state == WEFT_RUN_RECORDING && h->collector_pid > 0)
		fprintf(out, "; recorded by %d", (int)h->collector_pid);
	fputc('\n', out);
}

/* Who publishes by a thread-local variable, if anybody does. */
static void inspect_text_put_variable(const struct inspect *i, FILE *out,
				      enum inspect_format format, const char *title,
				      const struct published_variable *v)
{
	const char *who = inspect_publisher(i, format);

	if (!who)
		return;
	fprintf(out, "  %s: by %s", title, who);
	for (int k = 0; k < v->count; k++) {
		fputs(k ? ", " : "; defined by ", out);
		visible_print(out, v->place[k].path, strlen(v->place[k].path));
	}
	fputc('\n', out);
}

static void put_otel_process(const struct inspect *i, FILE *out)
{
	const struct live_context *resource = &i->otel.payload.resource;
	const char *who = inspect_publisher(i, INSPECT_OTEL_PROCESS);

	if (!who)
		return;
	fprintf(out, "  OpenTelemetry process context: by %s; %zu keys", who,
		i->otel.payload.keys.count);
	if (i->otel.error)
		fprintf(out, "; could not be read (%s)", strerror(-i->otel.error));
	if (resource->count)
		fputs("; ", out);
	put_attributes(out, resource);
	fputc('\n', out);
}

static void put_variables(const struct inspect *i, FILE *out)
{
	inspect_text_put_variable(i, out, INSPECT_OTEL_THREAD, "OpenTelemetry thread context",
				  &i->otel_thread);
	inspect_text_put_variable(i, out, INSPECT_NODEJS, "OpenTelemetry thread context (Node.js)",
				  &i->nodejs);
	if (i->nodejs.count && i->nodejs_error)
		fputs("  OpenTelemetry thread context (Node.js): not read, for its heap is laid "
		      "out in a way that is not known\n",
		      out);
	inspect_text_put_variable(i, out, INSPECT_LABELS, "Custom Labels v1", &i->labels);
	if (i->labels.refused && i->labels.abi_version)
		fprintf(out, "  Custom Labels of version %u: not read\n", i->labels.abi_version);
	else if (i->labels.refused)
		fputs("  Custom Labels without custom_labels_abi_version: not read\n", out);
}

static void put_go(const struct inspect *i, FILE *out)
{
	const char *why = inspect_go_trouble(i);

	if (i->go.state == GO_ABSENT)
		return;
	fputs("  Labels of goroutines: ", out);
	if (*i->go.version)
		visible_print(out, i->go.version, strlen(i->go.version));
	else
		fputs("Go of an unknown version", out);
	fputs(" in ", out);
	visible_print(out, i->go.path, strlen(i->go.path));
	if (why)
		fprintf(out, "; not read: %s", why);
	fputc('\n', out);
}

/* ---- the threads */

static void inspect_text_put_id(FILE *out, int is_there, uint64_t id)
{
	if (is_there)
		fprintf(out, " %016" PRIx64, id);
	else
		fprintf(out, " %-16s", "-");
}

static void inspect_text_put_context(FILE *out, const struct live_context *c)
{
	char trace[2 * sizeof(c->trace_id) + 1];

	fprintf(out, " %-13s ", inspect_abi_text[c->abi]);
	*hex_put(trace, c->trace_id, sizeof(c->trace_id)) = '\0';
	fprintf(out, "%-32s", c->flags & LIVE_TRACE ? trace : "-");
	inspect_text_put_id(out, (c->flags & LIVE_SPAN) != 0, c->span_id);
	inspect_text_put_id(out, (c->flags & LIVE_ROOT) != 0, c->root_span_id);
	fputc(' ', out);
	if (c->flags & LIVE_TORN)
		fputs("(torn: it changed while it was read)", out);
	else if (c->flags & LIVE_UNREADABLE)
		fputs("(unreadable: it leads to no context)", out);
	else
		put_attributes(out, c);
	if (c->flags & LIVE_CUT)
		fputs(" ...", out);
}

static void inspect_text_put_head(FILE *out, const struct inspect_thread *t)
{
	int columns, room = sizeof(t->name) - 1;

	fprintf(out, "%7d ", (int)t->tid);
	columns = (int)visible_print(out, t->name, strlen(t->name));
	fprintf(out, "%*s", columns < room ? room - columns : 0, "");
}

static size_t inspect_text_put_thread(const struct inspect_show *show,
				      const struct inspect_thread *t, FILE *out)
{
	size_t shown = 0;

	for (size_t k = 0; k < t->count; k++) {
		if (!inspect_shows_context(show, &t->context[k]))
			continue;
		inspect_text_put_head(out, t);
		inspect_text_put_context(out, &t->context[k]);
		fputc('\n', out);
		shown++;
	}
	if (shown)
		return shown;
	inspect_text_put_head(out, t);
	fprintf(out, " %-13s %-32s %-16s %-16s\n", "-", "-", "-", "-");
	return 0;
}

static void put_troubles(const struct inspect_show *show, FILE *out)
{
	size_t count[INSPECT_NOT_STOPPED + 1] = {0};

	for (size_t k = 0; k < show->inspect->count; k++)
		if (inspect_shows_thread(show, &show->inspect->thread[k]))
			count[show->inspect->thread[k].trouble]++;
	for (int k = INSPECT_NONE + 1; k <= INSPECT_NOT_STOPPED; k++)
		if (count[k])
			fprintf(out, "%zu %s: %s\n", count[k], count[k] == 1 ? "thread" : "threads",
				inspect_trouble_text((enum inspect_trouble)k));
}

int inspect_text(const struct inspect_show *show, FILE *out)
{
	const struct inspect *i = show->inspect;
	size_t contexts = 0, threads = 0;

	fprintf(out, "%d ", (int)i->pid);
	visible_print(out, i->name, strlen(i->name));
	fputs(": ", out);
	visible_print(out, i->command ? i->command : "", i->command ? strlen(i->command) : 0);
	fputc('\n', out);
	put_weft(i, out);
	put_otel_process(i, out);
	put_variables(i, out);
	put_go(i, out);
	fprintf(out, "%s%7s %-15s %-13s %-32s %-16s %-16s %s%s\n", term_colour(stdout, TERM_BOLD),
		"TID", "NAME", "FORMAT", "TRACE", "SPAN", "ROOT", "LABELS",
		term_colour(stdout, TERM_PLAIN));
	for (size_t k = 0; k < i->count; k++)
		if (inspect_shows_thread(show, &i->thread[k])) {
			contexts += inspect_text_put_thread(show, &i->thread[k], out);
			threads++;
		}
	put_troubles(show, out);
	if (!i->session && !i->otel_thread.count && !i->nodejs.count && !i->labels.count &&
	    !i->go_threads.count)
		fputs("It publishes no contexts: no weft, no OpenTelemetry thread context, no "
		      "Custom Labels v1, no labels of goroutines.\n",
		      out);
	else if (!contexts && threads)
		fputs("None of these threads has a context now.\n", out);
	else if (!threads)
		fputs("No thread of that name or number.\n", out);
	return ferror(out) ? -EIO : 0;
}
