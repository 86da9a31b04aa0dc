/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, from its rows. */
#include "export/export.h"

#include "base/text/hex.h"

#include <stdio.h>
#include <string.h>

#define DECLARE(NAME, KIND, FLAGS, EXTENSION, HELP)                                                \
	extern const struct exporter_ops exporter_##NAME;
EXPORT_FORMATS(DECLARE)

#define ROW(NAME, KIND, FLAGS, EXTENSION, HELP)                                                    \
	{#NAME, EXTENSION, EXPORT_##KIND, FLAGS, &exporter_##NAME},
static const struct exporter exporters[] = {EXPORT_FORMATS(ROW)};

#define EXPORTERS (sizeof(exporters) / sizeof(*exporters))

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; i < EXPORTERS; i++)
		if (!strcmp(exporters[i].name, name))
			return &exporters[i];
	return NULL;
}

const struct exporter *exporter_of_path(const char *path, enum export_kind kind)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < EXPORTERS; i++)
		if (exporters[i].kind & kind && exporters[i].extension &&
		    !strcmp(exporters[i].extension, dot + 1))
			return &exporters[i];
	return NULL;
}

int export_hex(char *to, const uint8_t *bytes, size_t count)
{
	*hex_put(to, bytes, count) = '\0';
	return (int)(2 * count);
}
