/* SPDX-License-Identifier: Apache-2.0 */
#include "export/export.h"

#include <string.h>

#define DECLARE(name, binary, help) extern const struct export_ops export_##name;
EXPORT_FORMATS(DECLARE)
#undef DECLARE

static const struct export_format formats[] = {
#define ROW(name, binary, help) {#name, help, binary, &export_##name},
	EXPORT_FORMATS(ROW)
#undef ROW
};

const struct export_format *export_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

struct run {
	const struct export_ops *ops;
	struct export_job *job;
};

static int each(const struct sample *s, void *arg)
{
	const struct run *run = arg;
	struct export_job *job = run->job;

	for (size_t i = 0; i < job->where_count; i++)
		if (!where_holds(&job->wheres[i], source_model(job->source), s))
			return 0;
	job->samples++;
	return run->ops->sample(job, s);
}

/* Lines make many more stacks distinct: only when asked for. */
static unsigned int export_detail_of(const struct export_format *format,
				     const struct export_job *job)
{
	int lines = job->lines || format->ops->has_lines;

	for (size_t i = 0; i < job->where_count; i++)
		lines |= job->wheres[i].key.kind == KEY_LINE;
	return (lines ? DECODE_LINES : 0u) | (job->no_inlines ? DECODE_NO_INLINES : 0u);
}

int export_run(const struct export_format *format, struct export_job *job)
{
	struct run run = {format->ops, job};
	int rc = format->ops->begin(job);

	source_set_detail(job->source, export_detail_of(format, job));
	if (!rc)
		rc = source_read(job->source, each, &run);
	if (!rc)
		rc = format->ops->finish(job);
	if (!rc)
		rc = model_error(source_model(job->source));
	format->ops->end(job);
	return rc;
}
