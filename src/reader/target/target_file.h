/* SPDX-License-Identifier: Apache-2.0 */
/* The files behind mappings: for target.c alone. */
#ifndef WEFT_READER_TARGET_FILE_H
#define WEFT_READER_TARGET_FILE_H

#include "reader/target/target.h"

/* A real process's files: see target_open_file(). */
int target_file_open(const struct target *t, const struct proc_map *m);
int target_program_open(const struct target *t);
/* The file whose first mapping is @first, put together from memory. */
int target_image_open(const struct target *t, const struct proc_map *first);

#endif
