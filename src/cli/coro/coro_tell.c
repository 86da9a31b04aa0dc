/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a trace, if it cannot begin and at its end, to people and to programs. */
#include "base/output.h"
#include "base/text/json_write.h"
#include "cli/coro/coro_target.h"
#include "cli/frame/cli.h"
#include "cli/frame/leave.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int coro_tell_refused(const char *path, int rc)
{
	if (rc == -ELOOP)
		return cli_error("%s: a symbolic link, which is not followed here", path);
	if (rc == -ENAMETOOLONG)
		return cli_error("%s: a socket's path has 107 characters at the most", path);
	return cli_error("%s: %s", path, strerror(-rc));
}

static const char *s(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void tell_lost(const struct coro_books *b)
{
	static const char *const text[] = {
		"overwritten before they were read", "of a station that was used again first",
		"whose writer died in mid-write", "that were not written"};
	const uint64_t count[] = {b->lost_lapped, b->lost_recycled, b->lost_mid_write,
				  b->lost_unwritten};
	const char *comma = ": ";

	fprintf(stderr, "  lost %" PRIu64 " of %" PRIu64, b->lost, b->written);
	for (int i = 0; i < 4; i++)
		if (count[i]) {
			fprintf(stderr, "%s%" PRIu64 " %s", comma, count[i], text[i]);
			comma = ", ";
		}
	fputc('\n', stderr);
}

void coro_tell(const struct coro_engine_result *r, uint32_t stations)
{
	const struct coro_books *b = &r->books;

	fprintf(stderr,
		"%" PRIu64 " event%s of %" PRIu64 " coroutine%s in %" PRIu64
		" process%s, on %" PRIu64 " of %u stations\n",
		b->harvested, s(b->harvested), b->coroutines, s(b->coroutines), b->processes,
		b->processes == 1 ? "" : "es", b->stations, stations);
	if (b->lost)
		tell_lost(b);
	if (b->pending)
		fprintf(stderr, "  pending %" PRIu64 ": processes go on\n", b->pending);
	if (r->died)
		fprintf(stderr, "  died with their process: %lld\n", (long long)r->died);
	if (b->refused)
		fprintf(stderr,
			"  refused %" PRIu64 " coroutine%s: more than %u stations at once (-n)\n",
			b->refused, s(b->refused), stations);
}

static int coro_books_json(struct sink *text, const struct coro_books *b)
{
	const struct {
		const char *name;
		uint64_t value;
	} number[] = {
		{"written", b->written},
		{"harvested", b->harvested},
		{"lost", b->lost},
		{"pending", b->pending},
		{"lost_lapped", b->lost_lapped},
		{"lost_recycled", b->lost_recycled},
		{"lost_mid_write", b->lost_mid_write},
		{"lost_unwritten", b->lost_unwritten},
		{"refused", b->refused},
		{"stations", b->stations},
		{"coroutines", b->coroutines},
		{"live", b->live},
		{"dead", b->dead},
		{"legacy", b->legacy},
		{"processes", b->processes},
		{"sweeps", b->sweeps},
		{"sweeping_ns", b->sweeping_ns},
		{"sweep_ns", b->sweep_ns},
	};

	struct json_writer w = {.s = text, .object = &json_shape_flat, .is_placed = 1};
	int rc = sink_open(text, NULL);

	if (rc)
		return rc;
	json_write_object(&w, NULL);
	json_write_uint(&w, "version", 1);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		json_write_uint(&w, number[i].name, number[i].value);
	json_write_object_end(&w);
	sink_char(text, '\n');
	return text->rc;
}

int coro_put_books(FILE *out, const struct coro_books *b)
{
	struct sink text;
	int rc = coro_books_json(&text, b);

	errno = 0;
	if (!rc && fwrite(text.data, 1, text.used, out) != text.used)
		rc = errno ? -errno : -EIO;
	sink_close(&text);
	return rc;
}

int coro_tell_check(const char *path, const char *trace)
{
	int rc = output_check(path);

	if (rc)
		return cli_error("%s: %s", path, output_why(rc));
	if (!output_is_standard(path) && !output_is_standard(trace) &&
	    would_take_place(trace, path))
		return cli_usage("%s: is the trace, too: name another file", path);
	return CLI_DONE;
}

int coro_tell_json(const struct coro_books *books, const char *path)
{
	struct output *out;
	struct sink text;
	int rc;

	fflush(stdout);
	rc = output_open(&out, path);
	if (rc)
		return cli_error("%s: %s", path, output_why(rc));
	rc = coro_books_json(&text, books);
	if (!rc)
		rc = output_write(out, text.data, text.used);
	sink_close(&text);
	if (rc)
		output_abandon(out);
	else
		rc = output_commit(out);
	return rc ? cli_error("%s: %s", path, output_why(rc)) : CLI_DONE;
}
