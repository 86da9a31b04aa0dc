/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft check: judges ELF files by what readers outside need of them, and shows each finding with
 * what mends it, for people or as one JSON object. The judge is src/reader/check/elf_check.c.
 */
#include "base/text/visible.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "reader/check/elf_check.h"
#include "report/show/json_value.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VALUE_COLUMN 26 /* where values begin, behind states and titles */

static const struct {
	const char *word;
	enum term_colour colour;
} states[] = {
	[CHECK_OK] = {"ok", TERM_GREEN},
	[CHECK_INFO] = {"info", TERM_DIM},
	[CHECK_WARNING] = {"warning", TERM_YELLOW},
	[CHECK_BAD] = {"bad", TERM_RED},
};

static const struct {
	const char *words, *key;
} kinds[] = {
	[ELF_IS_PROGRAM] = {"program for a fixed address", "program"},
	[ELF_IS_PIE] = {"program", "pie"},
	[ELF_IS_STATIC] = {"static program for a fixed address", "static"},
	[ELF_IS_STATIC_PIE] = {"static program", "static-pie"},
	[ELF_IS_LIBRARY] = {"library", "library"},
};

static const char *machine_word(const struct elf_check *c)
{
	return c->facts.machine == EM_AARCH64 ? "aarch64" : "x86_64";
}

static int is_published(const struct elf_check *c)
{
	for (int i = 0; i < CHECK_ABIS; i++)
		if (c->verdicts[i].is_published)
			return 1;
	return 0;
}

/* Why there is nothing to judge: what is published may be in another file, or stripped. */
static const char *why_nothing(const struct elf_check *c)
{
	for (int i = 0; i < FACT_NAMES; i++)
		if (c->facts.facts[i].is_imported)
			return "publishes nothing itself: it uses what another file defines; check "
			       "that one";
	if (!c->facts.has_sections)
		return "publishes nothing that can be seen: it has no section headers (sstrip?), "
		       "by which readers find symbols";
	if (!c->facts.has_symbols)
		return "publishes nothing that can be seen: it is stripped, and exports none of "
		       "the names; check it from before strip";
	return "publishes nothing: it defines none of the names that readers look for";
}

/* ---- opening */

/* What the kernel calls the file in the maps of a process, without directories. */
static void find_name(int fd, const char *path, char *name, size_t room)
{
	static const char deleted[] = " (deleted)";
	char link[64], target[PATH_MAX];
	const char *base;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, target, sizeof(target) - 1);
	if (length > 0)
		target[length] = '\0';
	else
		snprintf(target, sizeof(target), "%s", path);
	length = (ssize_t)strlen(target) - (ssize_t)strlen(deleted);
	if (length > 0 && strcmp(target + length, deleted) == 0)
		target[length] = '\0';
	base = strrchr(target, '/');
	snprintf(name, room, "%s", base ? base + 1 : target);
}

/* /proc/PID/exe, /proc/PID/task/TID/exe */
static int is_executable_of_process(const char *path)
{
	size_t length = strlen(path);

	return strncmp(path, "/proc/", 6) == 0 && length > 4 &&
	       strcmp(path + length - 4, "/exe") == 0;
}

static int cmd_check_file(const char *path, struct elf_check *out)
{
	char name[NAME_MAX + 1];
	int fd, err;

	/* O_NONBLOCK: opening a FIFO would wait for its writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	find_name(fd, path, name, sizeof(name));
	err = elf_check(fd, name, is_executable_of_process(path), out);
	close(fd);
	return err;
}

static const char *error_text(int err)
{
	switch (err) {
	case -ENOEXEC:
		return "no ELF program or library for x86_64 or aarch64 (of objects and archives, "
		       "check what is linked from them)";
	case -ENODATA:
		return "debug information alone: check the file that it belongs to";
	default:
		return strerror(-err);
	}
}

/* ---- for people */

static void print_verdict_line(const struct elf_check *c)
{
	if (elf_check_passed(c)) {
		printf("\nReaders outside can read what it publishes.\n");
		return;
	}
	printf("\nNot to be read:");
	for (int i = 0; i < CHECK_ABIS; i++)
		if (!check_is_good(&c->verdicts[i]))
			printf(" %s;", check_abi_titles[i]);
	printf(" see above.\n");
}

static void cmd_check_print_people(const char *path, const struct elf_check *c)
{
	visible_print(stdout, path, strlen(path));
	printf(": %s, %s\n", kinds[c->facts.kind].words, machine_word(c));
	for (int i = 0; i < CHECK_ABIS; i++) {
		const struct check_verdict *v = &c->verdicts[i];

		if (!v->is_published)
			continue;
		printf("\n%s%s%s\n", term_colour(stdout, TERM_BOLD), check_abi_titles[i],
		       term_colour(stdout, TERM_PLAIN));
		for (const struct check_finding *f = v->findings; f < v->findings + v->count; f++)
			term_finding(states[f->state].colour, states[f->state].word, f->title,
				     VALUE_COLUMN, f->value, f->mend);
	}
	print_verdict_line(c);
}

/* ---- for programs */

static json_t *json_verdict(const struct check_verdict *v)
{
	json_t *findings = json_array();

	for (int i = 0; i < v->count; i++) {
		const struct check_finding *f = &v->findings[i];

		json_array_append_new(findings,
				      json_pack("{s:s, s:s, s:o, s:o}", "key", f->key, "state",
						states[f->state].word, "value", json_text(f->value),
						"mend", json_text(f->mend)));
	}
	return json_pack("{s:b, s:o, s:o}", "published", v->is_published, "ok",
			 v->is_published ? json_boolean(check_is_good(v)) : json_null(), "findings",
			 findings);
}

static json_t *json_file(const char *path, const struct elf_check *c, int err)
{
	json_t *object = json_object(), *abis;

	json_object_set_new(object, "path", json_text(path));
	json_object_set_new(object, "ok", json_boolean(!err && elf_check_passed(c)));
	if (err) {
		json_object_set_new(object, "error", json_text(error_text(err)));
		return object;
	}
	json_object_set_new(object, "machine", json_text(machine_word(c)));
	json_object_set_new(object, "kind", json_text(kinds[c->facts.kind].key));
	if (!is_published(c))
		json_object_set_new(object, "note", json_text(why_nothing(c)));
	abis = json_object();
	for (int i = 0; i < CHECK_ABIS; i++)
		json_object_set_new(abis, check_abi_keys[i], json_verdict(&c->verdicts[i]));
	json_object_set_new(object, "abis", abis);
	return object;
}

static int run(const struct cli_args *args)
{
	static struct elf_check check;
	json_t *files = cli_flag(args, "json") ? json_array() : NULL;
	int passed = 1, shown = 0;

	for (int i = 0; i < cli_operand_count(args); i++) {
		const char *path = cli_operand(args, i);
		int err = cmd_check_file(path, &check);

		passed &= !err && elf_check_passed(&check);
		if (err)
			cli_error("%s: %s", path, error_text(err));
		else if (!is_published(&check))
			cli_error("%s: %s", path, why_nothing(&check));
		if (files) {
			json_array_append_new(files, json_file(path, &check, err));
			continue;
		}
		if (err || !is_published(&check))
			continue;
		if (shown++)
			putchar('\n');
		cmd_check_print_people(path, &check);
	}
	if (files && cli_written(json_emit(json_pack("{s:b, s:o}", "ok", passed, "files", files),
					   stdout, JSON_INDENT(2))))
		return CLI_FAILED;
	return passed ? CLI_DONE : CLI_FAILED;
}

static const struct cli_option options[] = {
	{"json", 0, CLI_FLAG, .help = "Print one JSON object"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft check ./server", "a program that was just linked"},
	{"weft check /proc/1234/exe", "the program of a process"},
	{"weft check --json build/*.so | jq '.files[] | select(.ok | not).path'",
	 "libraries whose contexts nobody can read"},
	{NULL, NULL},
};

const struct cli_command cmd_check = {
	.name = "check",
	.summary = "Judge whether readers outside can read what a program or library publishes",
	.operands = "ELF...",
	.operands_min = 1,
	.operands_max = -1,
	.description =
		"Looks into ELF files for what profilers and other readers need to find the\n"
		"contexts of their threads: symbols, thread-local storage, relocations, file\n"
		"names; by the rules of Custom Labels v1, of OpenTelemetry's thread context and\n"
		"of weft. Says what is wrong, and the options of compiler or linker that mend it.\n"
		"Runs nothing.\n"
		"\n"
		"Exits 0 when all that a file publishes can be read; 1 when not, or when it\n"
		"publishes nothing.",
	.options = options,
	.examples = examples,
	.run = run,
};
