/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what libweft-jfr reads from a recording, in a form that a script can compare with
 * the JDK's tools.
 *
 *	jfr_dump summary FILE      type count bytes, one type a line
 *	jfr_dump events FILE TYPE  one line of JSON an event
 *	jfr_dump follow FILE TYPE COUNT  the same of a file being written, up to so many
 */
#include <weft/jfr.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_TYPES 4096
#define DEEPEST 12

struct tally {
	const char *name;
	uint64_t count, bytes;
};

static void print_text(const char *text, size_t bytes)
{
	putchar('"');
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\' || c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_node(const struct weft_jfr_node *n, int depth);

static void print_many(const struct weft_jfr_node *n, int depth)
{
	int is_struct = n->shape == WEFT_JFR_V_STRUCT;

	putchar(is_struct ? '{' : '[');
	for (size_t i = 0; i < n->many.count && depth < DEEPEST; i++) {
		if (i)
			printf(", ");
		if (is_struct)
			printf("\"%s\": ", weft_jfr_class_field(n->type, i));
		print_node(&n->many.item[i], depth + 1);
	}
	putchar(is_struct ? '}' : ']');
}

static void print_node(const struct weft_jfr_node *n, int depth)
{
	switch (n->shape) {
	case WEFT_JFR_V_NULL:
		printf("null");
		break;
	case WEFT_JFR_V_NUMBER:
		printf("%" PRId64, n->number);
		break;
	case WEFT_JFR_V_REAL:
		printf("%.17g", n->real);
		break;
	case WEFT_JFR_V_STRING:
		print_text(n->string.data, n->string.bytes);
		break;
	default:
		print_many(n, depth);
	}
}

static void print_event(const struct weft_jfr_event_view *e)
{
	printf("{\"start_ns\": %" PRId64 ", \"duration_ns\": %" PRId64, e->start_ns,
	       e->duration_ns);
	for (size_t i = 0; i < e->field_count; i++) {
		printf(", \"%s\": ", weft_jfr_class_field(e->type, i));
		print_node(&e->fields[i], 0);
	}
	printf("}\n");
}

static void count(struct tally *tallies, size_t *used, const struct weft_jfr_event_view *e)
{
	const char *name = weft_jfr_class_name(e->type);
	size_t i = 0;

	while (i < *used && strcmp(tallies[i].name, name) != 0)
		i++;
	if (i == MOST_TYPES)
		return;
	if (i == *used)
		tallies[(*used)++] = (struct tally){.name = name};
	tallies[i].count++;
	tallies[i].bytes += e->bytes;
}

static int is_named(const struct weft_jfr_class *type, void *name)
{
	return strcmp(weft_jfr_class_name(type), name) == 0;
}

static int dump(struct weft_jfr_reader *r, const char *type)
{
	static struct tally tallies[MOST_TYPES];
	struct weft_jfr_event_view e;
	size_t used = 0;
	int rc;

	while ((rc = weft_jfr_next(r, &e)) == 1) {
		if (!type)
			count(tallies, &used, &e);
		else if (strcmp(weft_jfr_class_name(e.type), type) == 0)
			print_event(&e);
	}
	for (size_t i = 0; i < used; i++)
		printf("%s %" PRIu64 " %" PRIu64 "\n", tallies[i].name, tallies[i].count,
		       tallies[i].bytes);
	if (rc != 0)
		fprintf(stderr, "jfr_dump: %s: %s\n", strerror(-rc), weft_jfr_error(r));
	return rc != 0;
}

static int follow(struct weft_jfr_reader *r, const char *type, long count)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	struct weft_jfr_event_view e;
	int rc = 1;

	while (count && (rc == 1 || rc == -EAGAIN)) {
		rc = weft_jfr_next(r, &e);
		if (rc == -EAGAIN)
			nanosleep(&nap, NULL);
		else if (rc == 1 && strcmp(weft_jfr_class_name(e.type), type) == 0 && count--)
			print_event(&e);
	}
	if (rc != 1)
		fprintf(stderr, "jfr_dump: %s: %s\n", strerror(-rc), weft_jfr_error(r));
	return rc != 1;
}

int main(int argc, char **argv)
{
	struct weft_jfr_reader *r;
	int follows = argc == 5 && strcmp(argv[1], "follow") == 0;
	char *type = follows || (argc == 4 && strcmp(argv[1], "events") == 0) ? argv[3] : NULL;
	int status;

	if (!type && !(argc == 3 && strcmp(argv[1], "summary") == 0)) {
		fprintf(stderr, "usage: jfr_dump summary FILE | events FILE TYPE | "
				"follow FILE TYPE COUNT\n");
		return 2;
	}
	r = follows ? weft_jfr_open_follow(argv[2]) : weft_jfr_open(argv[2]);
	if (!r) {
		fprintf(stderr, "jfr_dump: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	if (type)
		weft_jfr_filter(r, is_named, type);
	status = follows ? follow(r, type, strtol(argv[4], NULL, 10)) : dump(r, type);
	weft_jfr_reader_free(r);
	return status;
}
