/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Java: descriptors become types as they are written in source, slashes dots. */
#include "print/text_java.h"

#include "base/text/utf8.h"

#include <stdio.h>

static int text_java_is_plain(unsigned char c)
{
	return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t';
}

static void text_java_put_special(struct sink *s, const unsigned char *from, size_t bytes,
				  uint32_t c)
{
	char text[16];

	if (utf8_commands(c))
		sink_put(s, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", c));
	else if (c == UTF8_REPLACEMENT)
		sink_put(s, "\xEF\xBF\xBD", 3);
	else
		sink_put(s, (const char *)from, bytes);
}

void text_clean(struct sink *s, const char *data, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)data, *end = at + bytes;

	while (at < end) {
		const unsigned char *run = at;
		uint32_t c;

		while (at < end && text_java_is_plain(*at))
			at++;
		sink_put(s, (const char *)run, (size_t)(at - run));
		if (at == end)
			return;
		run = at;
		c = utf8_next(&at, end);
		text_java_put_special(s, run, (size_t)(at - run), c);
	}
}

static const struct weft_jfr_string *text_java_string(const struct weft_jfr_node *in,
						      const char *field)
{
	const struct weft_jfr_node *n = weft_jfr_get(in, field);

	return n && n->shape == WEFT_JFR_V_STRING ? &n->string : NULL;
}

static int64_t text_java_number(const struct weft_jfr_node *in, const char *field,
				int64_t otherwise)
{
	const struct weft_jfr_node *n = weft_jfr_get(in, field);

	return n && n->shape == WEFT_JFR_V_NUMBER ? n->number : otherwise;
}

static const struct weft_jfr_node *text_java_struct(const struct weft_jfr_node *in,
						    const char *field)
{
	const struct weft_jfr_node *n = weft_jfr_get(in, field);

	return n && n->shape == WEFT_JFR_V_STRUCT ? n : NULL;
}

static void text_java_put_string(struct sink *s, const struct weft_jfr_string *string)
{
	if (string)
		text_clean(s, string->data, string->bytes);
	else
		sink_text(s, "null");
}

/* java/lang/String is java.lang.String. */
static void put_dotted(struct sink *s, const char *data, size_t bytes)
{
	const char *end = data + bytes;

	while (data < end) {
		const char *slash = memchr(data, '/', (size_t)(end - data));

		text_clean(s, data, (size_t)((slash ? slash : end) - data));
		if (!slash)
			return;
		sink_char(s, '.');
		data = slash + 1;
	}
}

/* ---------------------------------------------------------------- descriptors */

struct descriptor {
	const char *name; /* of the type, or of the class with slashes */
	size_t bytes;
	int dimensions;
};

static const char *primitive(char c)
{
	static const char letters[] = "IJZDFSCB";
	static const char *const names[] = {"int",   "long",  "boolean", "double",
					    "float", "short", "char",    "byte"};
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? names[at - letters] : "<unknown-descriptor-type>";
}

/* The type that begins at *at, which moves behind it. 1, 0: there is none. */
static int next_type(const char **at, const char *end, struct descriptor *d)
{
	const char *semicolon;

	d->dimensions = 0;
	for (; *at < end && **at == '['; ++*at)
		d->dimensions++;
	if (*at == end)
		return 0;
	if (**at != 'L') {
		d->name = primitive(*(*at)++);
		d->bytes = strlen(d->name);
		return 1;
	}
	semicolon = memchr(*at, ';', (size_t)(end - *at));
	if (!semicolon)
		return 0;
	d->name = *at + 1;
	d->bytes = (size_t)(semicolon - d->name);
	*at = semicolon + 1;
	return 1;
}

static void put_brackets(struct sink *s, int dimensions)
{
	while (dimensions-- > 0)
		sink_text(s, "[]");
}

/* The last ')', as names may hold one. */
static const char *close_of(const struct weft_jfr_string *descriptor)
{
	const char *at = descriptor->data + descriptor->bytes;

	while (at > descriptor->data)
		if (*--at == ')')
			return at;
	return NULL;
}

static void put_parameters(struct sink *s, const struct weft_jfr_string *descriptor)
{
	const char *at = descriptor->data, *end = descriptor->bytes ? close_of(descriptor) : NULL;
	struct descriptor d;
	int count = 0;

	if (!end || ++at > end)
		return;
	while (next_type(&at, end, &d)) {
		size_t simple = 0;

		for (size_t i = 0; i < d.bytes; i++)
			if (d.name[i] == '/' || d.name[i] == '.')
				simple = i + 1;
		if (count++)
			sink_put(s, ", ", 2);
		text_clean(s, d.name + simple, d.bytes - simple);
		put_brackets(s, d.dimensions);
	}
}

/* ---------------------------------------------------------------- classes, methods */

void text_thread(struct sink *s, const struct weft_jfr_node *n)
{
	int64_t java_id = text_java_number(n, "javaThreadId", 0);

	sink_char(s, '"');
	text_java_put_string(s, text_java_string(n, java_id > 0 ? "javaName" : "osName"));
	sink_text(s, java_id > 0 ? "\" (javaThreadId = " : "\" (osThreadId = ");
	sink_number(s, java_id > 0 ? java_id : text_java_number(n, "osThreadId", 0));
	sink_char(s, ')');
}

static void put_class_name(struct sink *s, const struct weft_jfr_node *class)
{
	const struct weft_jfr_string *name = text_java_string(class, "name");

	if (name)
		put_dotted(s, name->data, name->bytes);
	else
		sink_text(s, "null");
}

/* An array's class is named by its descriptor: [[I is int[][]; @first stands in the first []. */
static void text_java_put_class(struct sink *s, const struct weft_jfr_node *class, int64_t first)
{
	const struct weft_jfr_string *name = text_java_string(class, "name");
	const char *at = name ? name->data : NULL;
	struct descriptor d;

	if (!name || !name->bytes || *at != '[' || !next_type(&at, at + name->bytes, &d)) {
		put_class_name(s, class);
		return;
	}
	put_dotted(s, d.name, d.bytes);
	if (first > 0) {
		sink_char(s, '[');
		sink_number(s, first);
		sink_char(s, ']');
		d.dimensions--;
	}
	put_brackets(s, d.dimensions);
}

void text_class(struct sink *s, const struct weft_jfr_node *n)
{
	const struct weft_jfr_node *loader = text_java_struct(n, "classLoader");
	const struct weft_jfr_string *name = text_java_string(loader, "name");

	text_java_put_class(s, n, 0);
	sink_text(s, " (classLoader = ");
	if (loader && !name)
		put_class_name(s, weft_jfr_get(loader, "type"));
	else
		text_java_put_string(s, name);
	sink_char(s, ')');
}

void text_loader(struct sink *s, const struct weft_jfr_node *n)
{
	const struct weft_jfr_node *type = text_java_struct(n, "type");

	put_class_name(s, type);
	if (!type)
		return;
	sink_text(s, " (id = ");
	sink_number(s, (int64_t)n->pool_key);
	sink_char(s, ')');
}

void text_method(struct sink *s, const struct weft_jfr_node *n)
{
	const struct weft_jfr_string *descriptor = text_java_string(n, "descriptor");

	put_class_name(s, weft_jfr_get(n, "type"));
	sink_char(s, '.');
	text_java_put_string(s, text_java_string(n, "name"));
	sink_char(s, '(');
	if (descriptor)
		put_parameters(s, descriptor);
	sink_char(s, ')');
}

void text_frame(struct sink *s, const struct weft_jfr_node *n)
{
	const struct weft_jfr_node *method = text_java_struct(n, "method");
	int64_t line = text_java_number(n, "lineNumber", -1);

	if (!method) {
		sink_text(s, "N/A");
		return;
	}
	text_method(s, method);
	if (line < 0)
		return;
	sink_text(s, " line: ");
	sink_number(s, line);
}

int text_frame_is_shown(const struct weft_jfr_node *n)
{
	return text_java_number(n, "javaFrame", 1) &&
	       !text_java_number(weft_jfr_get(n, "method"), "hidden", 0);
}

/* ---------------------------------------------------------------- old objects */

static void text_java_put_object(struct sink *s, const struct weft_jfr_node *object,
				 int64_t elements)
{
	const struct weft_jfr_node *class = text_java_struct(object, "type");
	const struct weft_jfr_string *about = text_java_string(object, "description");

	if (class)
		text_java_put_class(s, class, elements);
	if (class && about) {
		sink_char(s, ' ');
		text_java_put_string(s, about);
	}
	sink_char(s, '\n');
}

/* Who holds the object: an element of an array or a field, and what that belongs to. */
static void put_referrer(struct sink *s, const struct weft_jfr_node *by, size_t indent)
{
	const struct weft_jfr_node *array = text_java_struct(by, "array");
	const struct weft_jfr_node *field = text_java_struct(by, "field");
	const struct weft_jfr_node *object = text_java_struct(by, "object");

	if (text_java_number(by, "skip", 0) > 0) {
		sink_spaces(s, indent);
		sink_text(s, "...\n");
	}
	sink_spaces(s, indent);
	if (field) {
		text_java_put_string(s, text_java_string(field, "name"));
	} else if (array) {
		sink_char(s, '[');
		sink_number(s, text_java_number(array, "index", 0));
		sink_char(s, ']');
	}
	sink_text(s, " : ");
	if (object)
		text_java_put_object(s, object, text_java_number(array, "size", INT64_MIN));
	else
		sink_char(s, '\n');
}

void text_old_object(struct walk *w, const struct weft_jfr_node *n, size_t indent)
{
	const struct weft_jfr_node *by = text_java_struct(n, "referrer");

	sink_text(w->s, " [\n");
	sink_spaces(w->s, indent + 2);
	text_java_put_object(w->s, n, w->array_elements);
	while (by && walk_spend(w)) {
		put_referrer(w->s, by, indent + 2);
		by = text_java_struct(text_java_struct(by, "object"), "referrer");
	}
	sink_spaces(w->s, indent);
	sink_text(w->s, "]\n");
}
