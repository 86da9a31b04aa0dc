/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings whose samples are known, written through libweft-jfr for the tests of report
 * and convert. What is in "shop" is written out in recordings.c; the figures that tests
 * expect are computed from it by hand.
 */
#ifndef TESTS_RECORDINGS_H
#define TESTS_RECORDINGS_H

#define RECORDINGS_START_NS INT64_C(1700000000000000000) /* epoch, of all of them */
#define RECORDINGS_PERIOD_NS 5000000

/* @name: "shop", "inline", "foreign", "twice", "weightless", "empty",
 * "lines", "labels", "queue", "long_queue", "nested". 0 or -errno. */
int recordings_write(const char *name, const char *path);
/* Of these: those of recordings_clock.c: "hrtimer", "ticks", "silent", "alike", "many", "fewer". */
int recordings_write_clock(const char *name, const char *path);
int recordings_write_odd(const char *path); /* of these: "odd" */

#endif
