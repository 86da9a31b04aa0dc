/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of formats that take samples: opens the output, reads the recording, commits. */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

static int samples_each(const struct sample *s, void *arg)
{
	struct export_job *x = arg;

	if (!where_all_hold(x->wheres, x->where_count, source_model(x->source), s))
		return 0;
	x->samples++;
	return x->format->ops->sample(x, s);
}

/* Lines make many more stacks distinct: only when asked for. */
static unsigned int samples_detail(const struct export_job *x)
{
	int lines = x->lines || x->format->flags & EXPORT_LINES;

	for (size_t i = 0; i < x->where_count; i++)
		lines |= x->wheres[i].key.kind == KEY_LINE;
	return (lines ? DECODE_LINES : 0u) | (x->no_inlines ? DECODE_NO_INLINES : 0u);
}

int export_samples(struct export_job *x, const char *path)
{
	const struct exporter_ops *ops = x->format->ops;
	int rc = output_open(&x->output, path);

	if (rc)
		return rc;
	source_set_detail(x->source, samples_detail(x));
	x->state = calloc(1, ops->state_bytes);
	rc = x->state ? ops->begin(x) : -ENOMEM;
	if (!rc)
		rc = source_read(x->source, SAMPLE_COUNTED, samples_each, x);
	if (!rc)
		rc = ops->end(x);
	if (!rc)
		rc = model_error(source_model(x->source));
	if (x->state)
		ops->free(x);
	free(x->state);
	if (!rc)
		return output_commit(x->output);
	output_abandon(x->output);
	return rc;
}
