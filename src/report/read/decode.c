/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/decode.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "report/read/rows.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACC_NATIVE 0x100

/* What is looked up by a pool key. */
enum decode_kind { DECODE_THREAD, DECODE_METHOD, DECODE_STACK, DECODE_STATE };

void decoder_free(struct decoder *d)
{
	map_free(d->known);
	free(d->frames);
	free(d->method);
	memset(d, 0, sizeof(*d));
}

int decoder_enter(struct decoder *d, uint64_t chunk)
{
	if (chunk == d->chunk && d->known)
		return 0;
	map_free(d->known);
	d->known = map_new();
	d->method_count = 0;
	d->chunk = chunk;
	return d->known ? 0 : -ENOMEM;
}

/* ---- plain values */

static int is_null(const struct weft_jfr_node *n)
{
	return !n || n->shape == WEFT_JFR_V_NULL;
}

/* A symbol is a struct with one string, or the string itself: files have both. */
struct weft_jfr_string decode_string(const struct weft_jfr_node *n)
{
	static const struct weft_jfr_string none = {"", 0};

	while (n && n->shape == WEFT_JFR_V_STRUCT && n->many.count == 1)
		n = n->many.item;
	return n && n->shape == WEFT_JFR_V_STRING && n->string.data ? n->string : none;
}

int64_t decode_number(const struct weft_jfr_node *n, int64_t otherwise)
{
	return n && n->shape == WEFT_JFR_V_NUMBER ? n->number : otherwise;
}

static const struct weft_jfr_node *node_field(const struct weft_jfr_node *n, const char *name)
{
	return n && n->shape == WEFT_JFR_V_STRUCT ? weft_jfr_get(n, name) : NULL;
}

static uint32_t string_id(struct decoder *d, const struct weft_jfr_node *n)
{
	struct weft_jfr_string s = decode_string(n);

	return names_id_bytes(&d->model->names, s.data, s.bytes);
}

/* The id of a value, which @decode finds out once for each pool key of a chunk. */
static uint32_t decode_once(struct decoder *d, enum decode_kind kind, const struct weft_jfr_node *n,
			    uint32_t (*decode)(struct decoder *d, const struct weft_jfr_node *n))
{
	uint64_t key[] = {kind, n ? n->pool_key : 0}, *known;
	uint32_t id;

	if (is_null(n))
		return 0;
	if (!n->pool_key)
		return decode(d, n);
	known = map_get(d->known, key, sizeof(key));
	if (known)
		return (uint32_t)*known;
	id = decode(d, n);
	known = map_put(d->known, key, sizeof(key), NULL);
	if (known)
		*known = id;
	else
		d->model->failed = 1;
	return id;
}

/* ---- methods: "module function" of native code, "Class.method" of Java */

static int decode_starts_with(struct weft_jfr_string s, const char *prefix)
{
	size_t length = strlen(prefix);

	return s.bytes >= length && memcmp(s.data, prefix, length) == 0;
}

/* Is it the descriptor of a native function that has its source file in it (docs/jfr.md)? */
static int is_path(struct weft_jfr_string descriptor)
{
	return (decode_starts_with(descriptor, "()L/") ||
		decode_starts_with(descriptor, "()L./")) &&
	       descriptor.data[descriptor.bytes - 1] == ';';
}

/* Upper case alone: "%2f" in a path is one that its file has. */
static int decode_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The path in "()L/src/a%28b.c;", with escaped bytes as they were; 0: there is none. */
static uint32_t decode_file_name(struct decoder *d, struct weft_jfr_string descriptor)
{
	const char *at = descriptor.data + 3, *end = descriptor.data + descriptor.bytes - 1;
	struct buf path = {0};

	if (!is_path(descriptor))
		return 0;
	while (at < end) {
		int high = *at == '%' && end - at > 2 ? decode_hex_digit(at[1]) : -1;
		int low = high >= 0 ? decode_hex_digit(at[2]) : -1;

		buf_put_u8(&path, (uint8_t)(low < 0 ? *at : high << 4 | low));
		at += low < 0 ? 1 : 3;
	}
	return names_id_buf(&d->model->names, &path);
}

/*
 * Writers of native frames use a descriptor that no Java method can have, or a native method of a
 * class without loader and package: a native method of the JVM's own has one of these.
 */
static int is_native(const struct weft_jfr_node *method, struct weft_jfr_string frame_type)
{
	struct weft_jfr_string descriptor = decode_string(node_field(method, "descriptor"));
	const struct weft_jfr_node *class = node_field(method, "type");

	if (decode_starts_with(descriptor, "()L;") || decode_starts_with(descriptor, "(Lk;)L;") ||
	    is_path(descriptor) || decode_starts_with(frame_type, "C++") ||
	    decode_starts_with(frame_type, "Kernel"))
		return 1;
	return (decode_number(node_field(method, "modifiers"), 0) & ACC_NATIVE) &&
	       is_null(node_field(class, "classLoader")) && is_null(node_field(class, "package"));
}

static uint32_t java_name(struct decoder *d, struct weft_jfr_string type,
			  struct weft_jfr_string name)
{
	struct buf text = {0};

	for (size_t i = 0; i < type.bytes; i++)
		buf_put_u8(&text, (uint8_t)(type.data[i] == '/' ? '.' : type.data[i]));
	if (type.bytes && name.bytes)
		buf_put_u8(&text, '.');
	if (name.bytes)
		buf_put(&text, name.data, name.bytes);
	return names_id_buf(&d->model->names, &text);
}

/* A module is written as a class. "[vdso]" is "<vdso>" there: no class may begin with a bracket. */
static uint32_t module_name(struct decoder *d, struct weft_jfr_string class)
{
	char text[64];

	if (!class.bytes || class.data[0] != '<' || class.bytes > sizeof(text))
		return names_id_bytes(&d->model->names, class.data, class.bytes);
	memcpy(text, class.data, class.bytes);
	text[0] = '[';
	if (text[class.bytes - 1] == '>')
		text[class.bytes - 1] = ']';
	return names_id_bytes(&d->model->names, text, class.bytes);
}

static struct decoded_method read_method(struct decoder *d, const struct weft_jfr_node *method,
					 const struct weft_jfr_node *frame_type)
{
	struct weft_jfr_string type = decode_string(node_field(node_field(method, "type"), "name"));
	struct weft_jfr_string name = decode_string(node_field(method, "name"));
	struct names *names = &d->model->names;

	if (is_native(method, decode_string(frame_type)))
		return (struct decoded_method){
			.function = names_id_bytes(names, name.data, name.bytes),
			.module = module_name(d, type),
			.file = decode_file_name(d,
						 decode_string(node_field(method, "descriptor"))),
		};
	return (struct decoded_method){java_name(d, type, name), names_id(names, "java"), 0};
}

static struct decoded_method decode_method(struct decoder *d, const struct weft_jfr_node *method,
					   const struct weft_jfr_node *frame_type)
{
	const uint64_t key[] = {DECODE_METHOD, method->pool_key};
	struct decoded_method *known;
	uint32_t id;

	if (!method->pool_key)
		return read_method(d, method, frame_type);
	id = rows_put(&d->known, key, sizeof(key), &d->method, &d->method_count, &d->method_room,
		      sizeof(*known));
	if (!id) {
		d->model->failed = 1;
		return (struct decoded_method){0};
	}
	known = &d->method[id - 1];
	if (!known->function && !known->module)
		*known = read_method(d, method, frame_type);
	return *known;
}

static int is_inlined(const struct weft_jfr_node *frame)
{
	struct weft_jfr_string type = decode_string(node_field(frame, "type"));

	return type.bytes == strlen("Inlined") && memcmp(type.data, "Inlined", type.bytes) == 0;
}

static int32_t positive(const struct weft_jfr_node *n)
{
	int64_t value = decode_number(n, 0);

	return value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

static struct frame decode_frame(struct decoder *d, const struct weft_jfr_node *n)
{
	const struct weft_jfr_node *method = node_field(n, "method");
	struct decoded_method m;
	struct frame f = {0};

	if (is_null(method))
		return f;
	m = decode_method(d, method, node_field(n, "type"));
	f.function = m.function;
	f.module = m.module;
	if (d->detail & DECODE_LINES) {
		f.file = m.file;
		f.line = positive(node_field(n, "lineNumber"));
		f.inlined = (uint32_t)is_inlined(n);
	}
	if (d->detail & DECODE_OFFSETS)
		f.offset = positive(node_field(n, "bytecodeIndex"));
	return f;
}

/* ---- stacks */

/* The outermost frame always stays: what it was inlined into is not on the stack. */
static int decode_is_wanted(const struct decoder *d, const struct weft_jfr_node *frame,
			    int is_outermost)
{
	return !(d->detail & DECODE_NO_INLINES) || is_outermost || !is_inlined(frame);
}

static uint32_t decode_new_stack(struct decoder *d, const struct weft_jfr_node *n)
{
	const struct weft_jfr_node *frames = node_field(n, "frames");
	int truncated = decode_number(node_field(n, "truncated"), 0) != 0;
	size_t count = frames && frames->shape == WEFT_JFR_V_ARRAY ? frames->many.count : 0;
	uint32_t used = 0;
	struct frame *room;

	if (count > STACK_FRAMES_MAX) {
		count = STACK_FRAMES_MAX;
		truncated = 1;
	}
	room = array_grown(d->frames, count, &d->frame_room, sizeof(*room));
	if (!room) {
		d->model->failed = 1;
		return 0;
	}
	d->frames = room;
	for (size_t i = 0; i < count; i++)
		if (decode_is_wanted(d, &frames->many.item[i], i + 1 == count))
			d->frames[used++] = decode_frame(d, &frames->many.item[i]);
	return model_stack(d->model, d->frames, used, truncated);
}

uint32_t decode_stack(struct decoder *d, const struct weft_jfr_node *n)
{
	return decode_once(d, DECODE_STACK, n, decode_new_stack);
}

/* ---- threads */

/* Is it "name [pid]"? */
static int names_process(struct weft_jfr_string group)
{
	size_t at = group.bytes;

	if (at < 4 || group.data[at - 1] != ']')
		return 0;
	for (at--; at > 0 && isdigit((unsigned char)group.data[at - 1]); at--)
		;
	return at >= 2 && at < group.bytes - 1 && group.data[at - 1] == '[' &&
	       group.data[at - 2] == ' ';
}

static uint32_t new_thread(struct decoder *d, const struct weft_jfr_node *n)
{
	struct weft_jfr_string group = decode_string(node_field(node_field(n, "group"), "name"));
	int64_t tid = decode_number(node_field(n, "osThreadId"), 0);
	struct names *names = &d->model->names;
	struct thread t = {0};

	t.name = string_id(d, node_field(n, "javaName"));
	if (!t.name)
		t.name = string_id(d, node_field(n, "osName"));
	t.key = t.name;
	if (tid > 0)
		t.key = names_id_format(names, t.name ? "%s [%" PRId64 "]" : "%s[%" PRId64 "]",
					names_text(names, t.name), tid);
	t.process =
		names_process(group) ? names_id_bytes(names, group.data, group.bytes) : d->process;
	return model_thread(d->model, &t);
}

uint32_t decode_thread(struct decoder *d, const struct weft_jfr_node *n)
{
	return decode_once(d, DECODE_THREAD, n, new_thread);
}

uint64_t decode_thread_key(const struct weft_jfr_node *n)
{
	int64_t tid;

	if (is_null(n))
		return 0;
	if (n->pool_key)
		return n->pool_key;
	tid = decode_number(node_field(n, "osThreadId"), 0);
	return tid ? hash_mix((uint64_t)tid) : 0;
}

/* ---- states */

static uint32_t new_state(struct decoder *d, const struct weft_jfr_node *n)
{
	struct weft_jfr_string s = decode_string(n);
	size_t skip = decode_starts_with(s, "STATE_") ? strlen("STATE_") : 0;
	char text[64];
	size_t used = 0;

	for (size_t i = skip; i < s.bytes && used < sizeof(text); i++)
		text[used++] = (char)tolower((unsigned char)s.data[i]);
	return names_id_bytes(&d->model->names, text, used);
}

uint32_t decode_state(struct decoder *d, const struct weft_jfr_node *n)
{
	return decode_once(d, DECODE_STATE, n, new_state);
}

/* ---- context values */

uint32_t decode_text(struct decoder *d, const struct weft_jfr_node *n)
{
	struct names *names = &d->model->names;

	if (is_null(n))
		return 0;
	switch (n->shape) {
	case WEFT_JFR_V_NUMBER:
		return names_id_format(names, "%" PRId64, n->number);
	case WEFT_JFR_V_REAL:
		return names_id_format(names, "%g", n->real);
	case WEFT_JFR_V_STRING:
		return string_id(d, n);
	case WEFT_JFR_V_STRUCT:
		if (node_field(n, "descriptor"))
			return read_method(d, n, NULL).function;
		if (node_field(n, "osName"))
			return model_thread_at(d->model, decode_thread(d, n))->key;
		return string_id(d, node_field(n, "name") ? node_field(n, "name") : n);
	default:
		return 0;
	}
}

uint32_t decode_class(struct decoder *d, const struct weft_jfr_node *n)
{
	static const struct weft_jfr_string none = {"", 0};

	return java_name(d, decode_string(node_field(n, "name")), none);
}

uint32_t decode_hex_id(struct decoder *d, const struct weft_jfr_node *n)
{
	struct weft_jfr_string s;

	if (is_null(n))
		return 0;
	if (n->shape == WEFT_JFR_V_NUMBER)
		return n->number ? names_id_format(&d->model->names, "%016" PRIx64,
						   (uint64_t)n->number)
				 : 0;
	s = decode_string(n);
	for (size_t i = 0; i < s.bytes; i++)
		if (s.data[i] != '0')
			return names_id_bytes(&d->model->names, s.data, s.bytes);
	return 0;
}
