/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of a process and the files behind them: parts of target.c alone. */
#ifndef WEFT_READER_TARGET_FILE_H
#define WEFT_READER_TARGET_FILE_H

#include "reader/target/target.h"

/*
 * Appends the lines of /proc/PID/maps to t->mappings. Lines that are malformed, or not
 * in the order of addresses, are left out. 0 or -ENOMEM.
 */
int target_maps_parse(struct target *t, const char *text, size_t bytes);

/* A real process's files: see target_open_file(). */
int target_file_open(const struct target *t, const struct proc_map *m);
int target_program_open(const struct target *t);
/* The file whose first mapping is @first, put together from memory. */
int target_image_open(const struct target *t, const struct proc_map *first);

#endif
