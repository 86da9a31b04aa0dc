/* SPDX-License-Identifier: Apache-2.0 */
/* Text of /proc/PID/task/TID: see wall_text.h. */
#include "collector/look/wall_text.h"
#include "proc/process_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CALL_ARGUMENTS 6
#define FIELD_CPU 39

/* A number up to a space, a newline or the end, and what follows it; NULL: there is none. */
static const char *wall_text_take_number(const char *at, int base, uint64_t *out)
{
	char *end;

	while (*at == ' ' || *at == '\t')
		at++;
	if (!isxdigit((unsigned char)*at))
		return NULL;
	errno = 0;
	*out = strtoull(at, &end, base);
	if (end == at || errno || (*end && !isspace((unsigned char)*end)))
		return NULL;
	return end;
}

int wall_parse_schedstat(const char *text, struct wall_runs *out)
{
	struct wall_runs runs = {.has_times = 1};
	const char *at = wall_text_take_number(text, 10, &runs.cpu_ns);

	at = at ? wall_text_take_number(at, 10, &runs.delay_ns) : NULL;
	at = at ? wall_text_take_number(at, 10, &runs.count) : NULL;
	if (!at)
		return -EPROTO;
	*out = runs;
	return 0;
}

int wall_parse_status(const char *text, struct wall_runs *out)
{
	const char *state = proc_line(text, "State");
	const char *own = proc_line(text, "voluntary_ctxt_switches");
	const char *other = proc_line(text, "nonvoluntary_ctxt_switches");
	uint64_t a = 0, b = 0;

	if (!state || !own || !other || !wall_text_take_number(own, 10, &a) ||
	    !wall_text_take_number(other, 10, &b))
		return -EPROTO;
	*out = (struct wall_runs){.count = a + b, .is_running = state[strspn(state, "\t")] == 'R'};
	return 0;
}

int wall_parse_syscall(const char *text, struct wall_call *out)
{
	struct wall_call call = {0, 0};
	uint64_t argument;
	const char *at = text;

	if (strncmp(text, "running", 7) == 0)
		return -EAGAIN;
	if (strncmp(text, "-1 ", 3) == 0) {
		at += 2;
	} else {
		at = wall_text_take_number(at, 10, &argument);
		for (int i = 0; at && i < CALL_ARGUMENTS; i++)
			at = wall_text_take_number(at, 16, &argument);
	}
	at = at ? wall_text_take_number(at, 16, &call.sp) : NULL;
	at = at ? wall_text_take_number(at, 16, &call.pc) : NULL;
	if (!at)
		return -EPROTO;
	*out = call;
	return 0;
}

/* The command in field 2 may hold anything: fields are counted from its last bracket. */
int wall_parse_stat(const char *text, struct wall_stat *out)
{
	const char *open = strchr(text, '('), *at = strrchr(text, ')');
	struct wall_stat stat = {.cpu = -1};
	uint64_t cpu;
	size_t bytes;

	if (!open || !at || at < open || at[1] != ' ' || !isalpha((unsigned char)at[2]))
		return -EPROTO;
	bytes = (size_t)(at - open - 1);
	memcpy(stat.name, open + 1, bytes < sizeof(stat.name) ? bytes : sizeof(stat.name) - 1);
	stat.state = at[2];
	at = proc_stat_field(text, STAT_STACK_START);
	if (!at || !wall_text_take_number(at, 10, &stat.stack_start))
		return -EPROTO;
	at = proc_stat_field(text, FIELD_CPU);
	if (at && wall_text_take_number(at, 10, &cpu) && cpu <= INT_MAX)
		stat.cpu = (int)cpu;
	*out = stat;
	return 0;
}
