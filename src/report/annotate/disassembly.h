/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of one function of a recording, from the file that was running: one with
 * another build-id is never disassembled in its place. Instructions by capstone, where weft was
 * built with it.
 */
#ifndef WEFT_REPORT_DISASSEMBLY_H
#define WEFT_REPORT_DISASSEMBLY_H

#include "report/annotate/annotate.h"
#include "report/read/source_text.h"

struct instruction {
	uint64_t address; /* in the file */
	int32_t offset;   /* in the function; 0 where one begins */
	uint32_t bytes;
	const char *text; /* "add rax, rbx" */
	const char *file; /* its line of source; NULL = not known */
	int line;
};

struct disassembly {
	struct instruction *item;
	size_t count;
	uint64_t *
		places; /* addresses in the file, one for each of annotate.offsets; 0 = not known */
	char *path;     /* of the file */
	int is_certain; /* its build-id is the recorded one; else there is none in either */
	struct names texts;
	struct elf_module *module;
};

#define DISASSEMBLY_WHY 512

/*
 * disassembly_open() - the code of @f; of all functions of its name that have weight, where the
 * lines in the recording tell them apart. 0; -ENOENT and @why, a sentence for people; -ENOMEM.
 */
int disassembly_open(struct disassembly **out, const struct annotate *a,
		     const struct annotate_place *f, const struct source_places *places,
		     char why[DISASSEMBLY_WHY]);

/* Sums the weights of all offsets in @i: 1; 0: there are none. */
int disassembly_weight(const struct disassembly *d, const struct annotate *a,
		       const struct instruction *i, struct weight *sum);
void disassembly_free(struct disassembly *d); /* takes NULL */

#endif
