/* SPDX-License-Identifier: Apache-2.0 */
/* Several translation units that use the probe: what each of them offers the first. */
#ifndef TESTS_PROBE_UNITS_H
#define TESTS_PROBE_UNITS_H

#include <weft/coro.h>

#ifdef __cplusplus
extern "C" {
#endif
struct weft_coro *other_runs(void);
void other_resumes(struct weft_coro *coro);
int other_creates(struct weft_coro *coro);
struct weft_coro *cpp_runs(void);
void cpp_suspends(struct weft_coro *coro);
#ifdef __cplusplus
}
#endif
#endif
