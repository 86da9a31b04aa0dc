/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libweft.so: event functions that keep every event, whatever it took. At exit each is
 * a line of $FAKE_EVENTS: TYPE VALUE..., pooled strings spelt out. Both types are on, unless
 * $FAKE_OFF is set; so one can count what a program's waits make.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <weft/context.h>
#include <weft/event.h>

#define EVENTS_MAX 65536
#define STRINGS_MAX 128

static struct weft_event_row row;
static const char *strings[STRINGS_MAX];
static uint32_t string_count;

static struct kept {
	const struct weft_event_type *type;
	int64_t values[4];
	uint64_t ns;
} kept[EVENTS_MAX];
static uint32_t kept_count;
static pid_t pid;

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
	row.flags = getenv("FAKE_OFF") ? 0 : WEFT_EVENT_ON;
	pid = getpid();
}

WEFT_API uint32_t weft_tag_intern(const char *string)
{
	strings[++string_count % STRINGS_MAX] = string;
	return string_count % STRINGS_MAX;
}

WEFT_API const struct weft_event_row *weft_event_type_enrol(struct weft_event_type *type)
{
	type->row = &row;
	return &row;
}

WEFT_API void weft_event_begin_on(struct weft_event *event, struct weft_event_type *type)
{
	event->type = type;
	event->begin = now();
}

WEFT_API int weft_event_should_commit_on(struct weft_event *event)
{
	event->end = now();
	return 1;
}

WEFT_API int weft_event_put(struct weft_event *event, const struct weft_event_value *values,
			    size_t count)
{
	uint32_t at = __atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED);

	if (at >= EVENTS_MAX || count != 4)
		abort();
	kept[at] = (struct kept){.type = event->type, .ns = event->end - event->begin};
	for (size_t i = 0; i < count; i++)
		kept[at].values[i] = values[i].number;
	return 1;
}

static void tell(FILE *out, const struct kept *k)
{
	fprintf(out, "%s", k->type->name);
	for (uint32_t i = 0; i < k->type->field_count; i++)
		if (k->type->fields[i].kind == WEFT_EVENT_STRING_POOLED)
			fprintf(out, " %s", strings[k->values[i] % STRINGS_MAX]);
		else
			fprintf(out, " %lld", (long long)k->values[i]);
	fprintf(out, " %llu\n", (unsigned long long)k->ns);
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAKE_EVENTS");
	uint32_t count = __atomic_load_n(&kept_count, __ATOMIC_RELAXED);
	FILE *out;

	row.flags = 0;
	if (!path || pid != getpid())
		return;
	out = fopen(path, "w");
	if (!out)
		return;
	for (uint32_t i = 0; i < count; i++)
		tell(out, &kept[i]);
	fclose(out);
}
