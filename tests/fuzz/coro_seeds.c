/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for fuzz_coro: shared files of each dialect, and traces.    coro_seeds DIRECTORY */
#include <weft/abi/ctp.h>

#include <stdio.h>
#include <string.h>

#define STATIONS 4

static struct {
	struct weft_ctp_header header;
	struct weft_ctp_station stations[STATIONS];
} seed;

static FILE *out_of(const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return fopen(path, "we");
}

static void begin(int is_extended)
{
	memset(&seed, 0, sizeof(seed));
	seed.header.magic = WEFT_CTP_MAGIC;
	seed.header.version = 1;
	seed.header.max_stations = STATIONS;
	seed.header.allocated_count = 3;
	if (is_extended) {
		seed.header.extension = WEFT_CTP_EXTENSION;
		seed.header.features = WEFT_CTP_TIMER | WEFT_CTP_RECYCLE;
	}
}

static void fill(struct weft_ctp_station *s, uint64_t id, uint64_t step, unsigned int events)
{
	static const uint8_t labels[] = {1, 2, 'k', 'v', 'w'};

	s->probe_id = id;
	s->birth_ts = 1000;
	for (unsigned int i = 0; i < events; i++)
		s->slots[i % WEFT_CTP_SLOTS] = (struct weft_ctp_epoch){
			.timestamp = 2000 + 100 * i,
			.tid = 7 + i % 3,
			.addr = 0x2000,
			.seq = step ? step * (i + 1) : 2 * (i / WEFT_CTP_SLOTS + 1),
			.is_active = !(i % 2),
			.holds = i % 3 == 0 && step == 2 ? WEFT_CTP_HOLDS_CONTEXT : 0,
		};
	if (step != 2)
		return;
	s->dialect = WEFT_CTP_MONOTONIC;
	s->state = WEFT_CTP_SUSPENDED;
	s->generation = 2;
	s->pid = 1;
	s->totals.resumes = events / 2;
	s->run_histogram[3] = events / 2;
	s->context.seq = 2;
	s->context.label_bytes = sizeof(labels);
	memcpy(s->context.labels, labels, sizeof(labels));
}

static int write_file(const char *directory, const char *name, uint64_t step, int is_extended)
{
	FILE *out = out_of(directory, name);
	int rc;

	begin(is_extended);
	for (unsigned int i = 0; i < 3; i++)
		fill(&seed.stations[i], i + 1, step, 5 + 6 * i);
	rc = !out || fputc(0, out) < 0 || fwrite(&seed, sizeof(seed), 1, out) != 1;
	return (out && fclose(out)) || rc;
}

static int write_trace(const char *directory)
{
	FILE *out = out_of(directory, "trace");

	if (!out)
		return 1;
	fputc('\1', out);
	for (unsigned int i = 0; i < 12; i++)
		fprintf(out,
			"{\"probe_id\":%u,\"tid\":9,\"addr\":\"0x%016x\",\"seq\":%u,"
			"\"is_active\":%s,\"ts\":%u,\"pid\":5,\"birth\":900,\"station\":%u,"
			"\"generation\":2,\"dead\":%s,\"payload\":\"00ff\",\"context\":"
			"\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}\n",
			i % 2, 0x2000, 2 * (i / 2) + 2, i / 2 % 2 ? "false" : "true", 1000 + 10 * i,
			i % 2, i > 9 ? "true" : "false");
	return fclose(out);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	return write_file(argv[1], "ours", 2, 1) || write_file(argv[1], "ones", 1, 1) ||
	       write_file(argv[1], "laps", 0, 0) || write_trace(argv[1]);
}
