/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that were packed: gzip (any number of members), zip (the first entry that is named
 * *.jfr, else the first), LZ4 and zstd (any number of frames); what this build has a library for.
 *
 * A recording is unpacked into a file without a name, so that it can be mapped like any other and
 * memory stays what it is. Nobody vouches for an archive: what does not begin as a recording
 * ends at once, and there is a limit to how large it may become: UNPACK_RATIO times the archive,
 * but at least UNPACK_FREE and at most UNPACK_MOST bytes.
 *
 * An archive that is cut or broken gives what came before the break, and says so.
 */
#ifndef WEFT_JFR_UNPACK_H
#define WEFT_JFR_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#define UNPACK_RATIO 200
#define UNPACK_FREE (UINT64_C(64) << 20)
#define UNPACK_MOST (UINT64_C(8) << 30)
#define UNPACK_PEEK 4 /* bytes that tell archives */

struct unpacked {
	int fd;
	uint64_t bytes;
	char damage[96]; /* "gzip: cut short"; "" = whole */
};

/* What these first bytes of a file are packed by, in words; NULL = not packed. */
const char *unpack_name(const uint8_t *start, size_t bytes);

/* How large an archive of @bytes may become. */
uint64_t unpack_limit(uint64_t bytes);

/*
 * Unpacks the file @in, of @bytes bytes. 0, and @out->fd is to be closed; -EOPNOTSUPP: this build
 * cannot; -EFBIG: over @limit; -EBADMSG: no recording in it; or -errno of the temporary file.
 */
int unpack(int in, uint64_t bytes, uint64_t limit, struct unpacked *out);

#endif
