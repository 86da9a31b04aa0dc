/* SPDX-License-Identifier: Apache-2.0 */
/* collector_seeds DIRECTORY: inputs for fuzz_collector: real maps, a log that is sound, and labels.
 */
#include <weft/abi/session.h>

#include <stdio.h>
#include <string.h>

static FILE *seed(const char *directory, const char *name, char kind)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "wb");
	if (f)
		fputc(kind, f);
	return f;
}

static int write_maps(const char *directory)
{
	FILE *to = seed(directory, "maps", 0), *from = fopen("/proc/self/maps", "r");
	int c;

	if (!to || !from)
		return 1;
	while ((c = fgetc(from)) != EOF)
		fputc(c, to);
	fclose(from);
	return fclose(to) != 0;
}

static void put(FILE *f, enum weft_log_type type, uint32_t id, const char *text)
{
	static const char zeros[8];
	uint32_t bytes = (uint32_t)strlen(text), whole;
	struct weft_log_record r = {.type = (uint16_t)type, .id = id, .data_bytes = bytes};

	whole = (uint32_t)(sizeof(r) + bytes + 7) & ~7u;
	r.bytes = whole;
	fwrite(&r, sizeof(r), 1, f);
	fwrite(text, 1, bytes, f);
	fwrite(zeros, 1, whole - sizeof(r) - bytes, f);
}

static int write_log(const char *directory)
{
	FILE *f = seed(directory, "log", 1);
	uint64_t head = 72;

	if (!f)
		return 1;
	fwrite(&head, sizeof(head), 1, f);
	put(f, WEFT_LOG_TAG_NAME, 0, "route");
	put(f, WEFT_LOG_STRING, 1, "/cart");
	put(f, WEFT_LOG_STRING, 2, "");
	return fclose(f) != 0;
}

/* How long the first is, and two sets of the same labels in another order. */
static int write_labels(const char *directory)
{
	static const char labels[] = "\x1d\0"
				     "\6\0\4\0tenantacme\5\0\6\0route/c\0rt\377"
				     "\5\0\6\0route/c\0rt\377\6\0\4\0tenantacme";
	FILE *f = seed(directory, "labels", 2);

	if (!f)
		return 1;
	fwrite(labels, 1, sizeof(labels) - 1, f);
	return fclose(f) != 0;
}

int main(int argc, char **argv)
{
	return argc != 2 || write_maps(argv[1]) || write_log(argv[1]) || write_labels(argv[1]);
}
