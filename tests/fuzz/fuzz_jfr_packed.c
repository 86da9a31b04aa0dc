/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as an archive; what comes out keeps to its limit and is read. */
#include "jfr/read/reader.h"
#include "jfr/read/unpack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT ((uint64_t)1 << 20)

static int archive = -1;

static void read_through(const struct unpacked *u)
{
	void *map = mmap(NULL, (size_t)u->bytes, PROT_READ, MAP_PRIVATE, u->fd, 0);
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;

	if (map == MAP_FAILED)
		abort();
	if (memcmp(map, "FLR", u->bytes < 4 ? (size_t)u->bytes : 4) != 0)
		abort();
	r = reader_of_memory(map, (size_t)u->bytes);
	while (r && weft_jfr_next(r, &e) == 1)
		;
	weft_jfr_reader_free(r);
	munmap(map, (size_t)u->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unpacked u;
	int rc;

	if (archive < 0)
		archive = memfd_create("archive", MFD_CLOEXEC);
	if (archive < 0 || ftruncate(archive, 0) != 0 ||
	    pwrite(archive, data, size, 0) != (ssize_t)size)
		abort();
	rc = unpack(archive, size, LIMIT, &u);
	if (rc == -EBADMSG || rc == -EFBIG || rc == -EOPNOTSUPP)
		return 0;
	if (rc != 0 || !u.bytes || u.bytes > LIMIT)
		abort();
	read_through(&u);
	close(u.fd);
	return 0;
}
