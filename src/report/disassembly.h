/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of one function of a recording, from the file that was running: one with
 * another build-id is never disassembled in its place. Instructions by capstone, where weft was
 * built with it.
 */
#ifndef WEFT_REPORT_DISASSEMBLY_H
#define WEFT_REPORT_DISASSEMBLY_H

#include "report/facts.h"
#include "report/source_text.h"

struct instruction {
	uint64_t address; /* in the file */
	int32_t offset;   /* in the function */
	uint32_t bytes;
	const char *text; /* "add rax, rbx" */
	const char *file; /* its line of source; NULL = not known */
	int line;
};

struct disassembly {
	struct instruction *item;
	size_t count;
	char *path;     /* of the file */
	int is_certain; /* its build-id is the recorded one; else neither has any */
	struct names *texts;
	struct elf_module *module;
};

#define DISASSEMBLY_WHY 512

/*
 * disassembly_open() - @function of @module (ids of the model); @file (0 = not known): of several
 * functions of the name the one that has its lines there. 0; -ENOENT and @why, a sentence for
 * people; -ENOMEM.
 */
int disassembly_open(struct disassembly **out, const struct model *model, const struct facts *facts,
		     uint32_t function, uint32_t module, uint32_t file,
		     const struct source_places *places, char why[DISASSEMBLY_WHY]);
void disassembly_free(struct disassembly *d); /* takes NULL */

#endif
