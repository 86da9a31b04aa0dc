/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .jfc files, by expat. Only this is read of them:
 *
 *	<configuration version="2.x"> ... <event name=""> ... <setting name="">VALUE</setting>
 *
 * at any depth, but not within <control>. A document type is refused, because entities could be
 * declared there.
 */
#include "jfr/settings/settings.h"

#include <errno.h>
#include <string.h>

#ifdef HAVE_EXPAT
#include "base/buf.h"
#include "base/map.h"

#include <expat.h>
#include <strings.h>

struct jfc {
	struct weft_jfr_settings *list;
	XML_Parser parser;
	const char *name; /* for messages */
	struct setting_chain fresh;
	struct weft_jfr_setting where;
	struct buf event, setting, value;                              /* as far as they are open */
	unsigned int depth, event_depth, setting_depth, control_depth; /* 0 = is not open */
	int err;
};

static void settings_jfc_stop(struct jfc *j, int err, const char *what)
{
	if (j->err)
		return;
	j->err = settings_fail(j->list, err, "%s:%lu: %s", j->name,
			       (unsigned long)XML_GetCurrentLineNumber(j->parser), what);
	XML_StopParser(j->parser, XML_FALSE);
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcasecmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static void settings_jfc_set_name(struct jfc *j, struct buf *to, const char **attributes,
				  const char *missing)
{
	const char *name = attribute(attributes, "name");

	if (!name || !*name) {
		settings_jfc_stop(j, -EBADMSG, missing);
		return;
	}
	buf_clear(to);
	buf_put(to, name, strlen(name));
}

static void open_root(struct jfc *j, const char *element, const char **attributes)
{
	const char *version = attribute(attributes, "version");

	if (strcasecmp(element, "configuration") != 0)
		settings_jfc_stop(j, -EBADMSG, "not a <configuration>");
	else if (!version || strncmp(version, "2.", 2) != 0)
		settings_jfc_stop(j, -EBADMSG, "not a configuration of version 2");
}

static void settings_jfc_open_event(struct jfc *j, const char **attributes)
{
	if (j->event_depth) {
		settings_jfc_stop(j, -EBADMSG, "<event> within <event>");
		return;
	}
	j->event_depth = j->depth;
	settings_jfc_set_name(j, &j->event, attributes, "<event> without a name");
}

static void open_setting(struct jfc *j, const char **attributes)
{
	if (!j->event_depth || j->setting_depth) {
		settings_jfc_stop(j, -EBADMSG, "<setting> that is in no <event>");
		return;
	}
	j->setting_depth = j->depth;
	j->where.line = (unsigned int)XML_GetCurrentLineNumber(j->parser);
	buf_clear(&j->value);
	settings_jfc_set_name(j, &j->setting, attributes, "<setting> without a name");
}

static void XMLCALL on_open(void *arg, const char *element, const char **attributes)
{
	struct jfc *j = arg;

	if (j->err)
		return;
	if (!j->depth++)
		open_root(j, element, attributes);
	else if (j->control_depth)
		return;
	else if (strcasecmp(element, "control") == 0)
		j->control_depth = j->depth;
	else if (strcasecmp(element, "event") == 0)
		settings_jfc_open_event(j, attributes);
	else if (strcasecmp(element, "setting") == 0)
		open_setting(j, attributes);
}

static struct setting_text settings_jfc_text_of(const struct buf *b)
{
	return (struct setting_text){(const char *)b->data, b->size};
}

static void close_setting(struct jfc *j)
{
	int err;

	j->setting_depth = 0;
	if (j->event.failed || j->setting.failed || j->value.failed) {
		settings_jfc_stop(j, -ENOMEM, "out of memory");
		return;
	}
	err = settings_gather(&j->fresh,
			      (struct setting_line){settings_jfc_text_of(&j->event),
						    settings_jfc_text_of(&j->setting),
						    settings_jfc_text_of(&j->value)},
			      &j->where);
	if (err)
		settings_jfc_stop(j, err == -EINVAL ? -EBADMSG : err,
				  err == -EINVAL ? "a name that no event or setting can have"
						 : "out of memory");
}

static void XMLCALL on_close(void *arg, const char *element)
{
	struct jfc *j = arg;

	(void)element;
	if (j->err)
		return;
	if (j->depth == j->setting_depth)
		close_setting(j);
	if (j->depth == j->event_depth)
		j->event_depth = 0;
	if (j->depth == j->control_depth)
		j->control_depth = 0;
	j->depth--;
}

static void XMLCALL on_text(void *arg, const char *text, int bytes)
{
	struct jfc *j = arg;

	if (!j->err && j->setting_depth && j->setting_depth == j->depth)
		buf_put(&j->value, text, (size_t)bytes);
}

static void XMLCALL on_document_type(void *arg, const char *name, const char *system_id,
				     const char *public_id, int has_subset)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_subset;
	settings_jfc_stop(arg, -EBADMSG, "a document type does not belong in settings");
}

static void settings_jfc_parse(struct jfc *j, const void *text, size_t bytes)
{
	XML_SetUserData(j->parser, j);
	XML_SetElementHandler(j->parser, on_open, on_close);
	XML_SetCharacterDataHandler(j->parser, on_text);
	XML_SetStartDoctypeDeclHandler(j->parser, on_document_type);
	if (XML_Parse(j->parser, text, (int)bytes, 1) == XML_STATUS_OK || j->err)
		return;
	if (XML_GetErrorCode(j->parser) == XML_ERROR_NO_MEMORY)
		settings_jfc_stop(j, -ENOMEM, "out of memory");
	else
		settings_jfc_stop(j, -EBADMSG, XML_ErrorString(XML_GetErrorCode(j->parser)));
}

/* The same text for the same name: a list lives long, and files are read again. NULL: -ENOMEM. */
static const char *settings_jfc_name(struct weft_jfr_settings *s, const char *name)
{
	uint64_t *kept = map_put(s->file_names, name, strlen(name), NULL);

	if (kept && !*kept)
		*kept = (uintptr_t)arena_text(&s->files, name, strlen(name));
	return kept ? (const char *)(uintptr_t)*kept : NULL;
}

int weft_jfr_settings_jfc(struct weft_jfr_settings *s, enum weft_jfr_source source,
			  const char *name, const void *text, size_t bytes)
{
	struct jfc j = {.list = s, .name = name, .where = {.source = source}};

	s->error[0] = '\0';
	if (source < WEFT_JFR_FROM_FILE || source > WEFT_JFR_FROM_SET)
		return settings_fail(s, -EINVAL, "no such source");
	if (bytes > LARGEST_JFC)
		return settings_fail(s, -EFBIG, "%s: larger than 1 MiB: no settings", name);
	j.where.file = settings_jfc_name(s, name);
	j.parser = XML_ParserCreate(NULL);
	if (!j.where.file || !j.parser)
		j.err = settings_fail(s, -ENOMEM, "%s: out of memory", name);
	else
		settings_jfc_parse(&j, text, bytes);
	if (j.err)
		settings_drop(&j.fresh);
	else
		settings_join(s, &j.fresh);
	if (j.parser)
		XML_ParserFree(j.parser);
	buf_free(&j.event);
	buf_free(&j.setting);
	buf_free(&j.value);
	return j.err;
}

#else

int weft_jfr_settings_jfc(struct weft_jfr_settings *s, enum weft_jfr_source source,
			  const char *name, const void *text, size_t bytes)
{
	(void)source;
	(void)text;
	(void)bytes;
	return settings_fail(s, -ENOTSUP, "%s: .jfc files need expat, which this was built without",
			     name);
}

#endif
