/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of the formats in which contexts are published: in the child of doctor_hooks.c,
 * which runs under libweft.so, those that are on by themselves are listed; then OpenTelemetry's
 * is switched on, and the mapping of its process context looked for as its readers do.
 */
#include "cli/doctor/doctor.h"

#include "proc/proc_maps.h"
#include "proc/proc_text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/abi/otel_process_context.h>
#include <weft/publish.h>

static const char *const publishers[] = {
	[WEFT_PUBLISHER_NONE] = "nobody",
	[WEFT_PUBLISHER_WEFT] = "weft",
	[WEFT_PUBLISHER_ANOTHER] = "another library",
	[WEFT_PUBLISHER_FAILED] = "failed",
};

/* ---- the child */

static const char *publisher(uint32_t who)
{
	return who < sizeof(publishers) / sizeof(publishers[0]) ? publishers[who] : "unknown";
}

#define NAME_BYTES 256

static int doctor_formats_take_name(void *arg, struct proc_map *map)
{
	int is = strstr(map->path, WEFT_OTEL_PROCESS_SIGNATURE) != NULL;

	if (is)
		snprintf(arg, NAME_BYTES, "%s", map->path);
	return is;
}

/* The name of the process context's mapping; "" = there is none. By /proc/self: /proc may be of
 * an outer PID namespace, where our number is another process's. */
static void doctor_formats_mapping_name(char name[NAME_BYTES])
{
	size_t bytes = 0;
	char *maps = proc_read_all(AT_FDCWD, "/proc/self/maps", &bytes);

	name[0] = '\0';
	if (maps)
		(void)proc_maps_parse(maps, bytes, doctor_formats_take_name, name);
	free(maps);
}

static void format_names(unsigned int formats, char *text, size_t room)
{
	snprintf(text, room, "%s%s%s%s", formats ? "" : "none",
		 formats & WEFT_FORMAT_V1 ? "v1 " : "",
		 formats & WEFT_FORMAT_LABELS ? "labels " : "",
		 formats & WEFT_FORMAT_OTEL ? "otel " : "");
}

void doctor_list_formats(const struct weft_session_header *header)
{
	int (*select_formats)(unsigned int);
	char first[64], name[NAME_BYTES];

	format_names(header->formats, first, sizeof(first));
	*(void **)(void *)&select_formats = dlsym(RTLD_DEFAULT, "weft_publish_select");
	if (select_formats)
		select_formats(header->formats | WEFT_FORMAT_OTEL);
	doctor_formats_mapping_name(name);
	printf("%s(otel when on: process context by %s%s%s, thread context by %s)\n", first,
	       publisher(header->otel_process), name[0] ? " as " : "", name,
	       publisher(header->otel_thread));
}

/* ---- the parent */

void doctor_formats(struct finding *out)
{
	char text[512] = "", *line = text;
	int works;

	if (doctor_run_preloaded(text, sizeof(text))) {
		finding_set(out, FINDING_MISSING, "a program cannot be run under libweft.so");
		return;
	}
	for (int i = 0; i < 2; i++)
		line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
	line[strcspn(line, "\n")] = '\0';
	works = strstr(line, "process context by weft as") &&
		strstr(line, "thread context by weft");
	finding_set(out, works ? FINDING_OK : FINDING_LIMITED, "%s", line);
	if (strstr(line, "process context by failed"))
		finding_choose(out, "OpenTelemetry's process context needs memfd_create, or a "
				    "kernel that names memory (CONFIG_ANON_VMA_NAME), and the "
				    "thread's libweft-otel.so beside libweft.so");
	else if (!works)
		finding_choose(out, "what another library of a process publishes is left alone");
	else
		finding_choose(out,
			       "WEFT_PUBLISH=v1,labels,otel says which are on; labels are seen "
			       "with libcustomlabels-weft.so");
}
