/* SPDX-License-Identifier: Apache-2.0 */
/* What sinks (coro/engine/trace.h) have in common. Each is one file that ends in its table of
 * calls. */
#ifndef WEFT_CORO_SINK_H
#define WEFT_CORO_SINK_H

#include "base/output.h"
#include "coro/engine/trace.h"

#include <inttypes.h>
#include <stdio.h>

/* Opens the output that the options name. 0 or -errno. */
static inline int sink_output(struct output **out, const struct coro_sink_options *options)
{
	return options->replace ? output_open(out, options->path)
				: output_open_new(out, options->path);
}

#define SINK_DECLARE(NAME, HELP, EXTENSION) extern const struct coro_sink_ops coro_sink_##NAME;
CORO_FORMATS(SINK_DECLARE)

#endif
