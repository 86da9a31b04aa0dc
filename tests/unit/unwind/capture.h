/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What test_capture writes to its standard output, in the machine's own byte order, for
 * test_backtrace to walk: this header, the text of /proc/self/maps, the vdso, then for each
 * capture its struct and the bytes of its stretches of stack.
 */
#ifndef WEFT_TEST_CAPTURE_H
#define WEFT_TEST_CAPTURE_H

#include <stdint.h>

#define CAPTURE_DEPTH 192
#define CAPTURE_STRETCHES 2

struct capture_header {
	uint32_t machine; /* enum unwind_machine */
	uint32_t count;
	uint32_t maps_bytes, vdso_bytes;
	uint32_t crashes; /* captures not kept because backtrace() itself crashed */
	uint32_t rsv;
};

struct capture {
	uint64_t r[33]; /* DWARF numbers */
	uint64_t pc;
	uint64_t address[CAPTURE_STRETCHES], bytes[CAPTURE_STRETCHES]; /* 0: none */
	uint64_t expected[CAPTURE_DEPTH]; /* backtrace() from the interrupted pc on */
	uint64_t expected_count;
};

#endif
