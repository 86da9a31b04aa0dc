/* SPDX-License-Identifier: Apache-2.0 */
/* A shared file of any content: harvested, dumped and judged as a hostile target may leave it. */
#include "coro/engine/harvest.h"
#include "coro/look/conform.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATIONS 4

static void ignore(void *arg, const struct conform_finding *finding)
{
	(void)arg;
	if (finding->text[0] == 0)
		abort();
}

static void read_it(struct coro_shm *shm)
{
	struct coro_batch batch = {0};
	struct conform_sums sums;
	struct coro_harvest *h;
	struct coro_books b;

	if (coro_harvest_new(&h, shm))
		return;
	coro_harvest_take(h, CORO_SWEEP_DIRTY, &batch);
	coro_harvest_take(h, CORO_SWEEP_ALL, &batch);
	coro_harvest_bury(h, 1);
	coro_harvest_take(h, CORO_SWEEP_LAST, &batch);
	if (coro_harvest_books(h, &b) || b.written != b.harvested + b.lost + b.pending)
		abort();
	coro_harvest_free(h);
	free(batch.events);
	coro_conform(shm, ignore, NULL, &sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input lies over the file in steps, so that short ones reach every field. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t bytes = WEFT_CTP_FILE_BYTES(STATIONS);
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct coro_shm shm = {.fd = -1, .count = STATIONS, .is_writable = 1, .bytes = bytes};

	if (at == MAP_FAILED)
		return 0;
	for (size_t i = 0; i + 10 <= size; i += 10)
		memcpy(at + (data[i] | (size_t)data[i + 1] << 8) % (bytes - 8), data + i + 2, 8);
	shm.header = (struct weft_ctp_header *)(void *)at;
	shm.stations = (struct weft_ctp_station *)(void *)(at + WEFT_CTP_HEADER_BYTES);
	shm.is_extended = shm.header->extension != 0;
	read_it(&shm);
	munmap(at, bytes);
	return 0;
}
