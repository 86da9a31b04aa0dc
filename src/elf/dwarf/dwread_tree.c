/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a unit, the calls inlined in them, and the namespaces around them: one
 * walk over all entries of the unit, the first time that an address lies in it.
 *
 * Nodes are in the order of the file, so what is inlined in a node follows it: up to its
 * "after". A damaged unit gives what was read before the damage.
 */
#include "elf/dwarf/dwread.h"

#include <errno.h>
#include <stdlib.h>

#define DEPTH_MAX 1024
#define NONE UINT32_MAX

struct level {
	uint32_t node;   /* opened here */
	uint32_t scope;  /* opened here */
	uint32_t around; /* the function or inlined call that entries at this level are in */
};

struct entry {
	uint64_t offset;
	uint16_t tag;
	uint8_t has_children;
	struct dwread_value low, high, ranges, name, call_file, call_line, sibling;
};

static const struct dwread_wanted entry_wanted[] = {
	{DW_AT_low_pc, offsetof(struct entry, low)},
	{DW_AT_high_pc, offsetof(struct entry, high)},
	{DW_AT_ranges, offsetof(struct entry, ranges)},
	{DW_AT_name, offsetof(struct entry, name)},
	{DW_AT_call_file, offsetof(struct entry, call_file)},
	{DW_AT_call_line, offsetof(struct entry, call_line)},
	{DW_AT_sibling, offsetof(struct entry, sibling)},
	{0, 0},
};

struct walker {
	struct dwread_unit *unit;
	struct dwread_tree *tree;
	struct elf_cursor at;
	size_t depth;
	struct level level[DEPTH_MAX];
};

static struct dwread_node *node_of(const struct dwread_tree *t, uint32_t number)
{
	return (struct dwread_node *)(void *)t->nodes.data + number;
}

static uint32_t dwread_tree_count_of(const struct buf *b, size_t item)
{
	return (uint32_t)(b->size / item);
}

/* 1 = an entry, 0 = the end of a list of children, -EINVAL = damaged. */
static int dwread_tree_read_entry(struct walker *w, struct entry *e)
{
	const struct dwread_abbrev *abbrev;
	uint64_t code;

	*e = (struct entry){
		.offset = (uint64_t)(w->at.at - w->unit->file->section[DWREAD_INFO].bytes)};
	code = cursor_uleb(&w->at);
	if (code == 0)
		return w->at.failed ? -EINVAL : 0;
	abbrev = dwread_abbrev_find(w->unit->abbrevs, code);
	if (!abbrev || !dwread_spend(w->unit->file->reader, 1 + abbrev->count / 4, 0))
		return -EINVAL;
	e->tag = abbrev->tag;
	e->has_children = abbrev->has_children;
	return dwread_entry_read(&w->at, w->unit, abbrev, entry_wanted, e) ? -EINVAL : 1;
}

static int put_tops(struct walker *w, uint32_t number)
{
	const struct dwread_node *n = node_of(w->tree, number);
	const struct dwread_range *ranges = (const void *)w->tree->ranges.data;
	int err = 0;

	for (uint32_t i = 0; i < n->range_count && !err; i++) {
		const struct dwread_range *r = &ranges[n->first_range + i];
		struct dwread_span top = {.start = r->start, .end = r->end, .first = number};

		err = dwread_append(w->unit->file->reader, &w->tree->tops, &top, sizeof(top));
	}
	return err;
}

static uint32_t dwread_tree_number_of(const struct dwread_value *v)
{
	return v->form && v->number <= INT32_MAX ? (uint32_t)v->number : 0;
}

/* A function or an inlined call; *number is NONE where it has no code. */
static int add_node(struct walker *w, const struct entry *e, uint32_t *number)
{
	struct dwread_tree *t = w->tree;
	struct dwread_node n = {
		.offset = e->offset,
		.is_inlined = e->tag == DW_TAG_inlined_subroutine,
		.first_range = dwread_tree_count_of(&t->ranges, sizeof(struct dwread_range)),
		.call_file = dwread_tree_number_of(&e->call_file),
		.call_line = dwread_tree_number_of(&e->call_line),
	};
	int err = dwread_ranges(w->unit, &e->low, &e->high, &e->ranges, &t->ranges);

	*number = NONE;
	n.range_count =
		dwread_tree_count_of(&t->ranges, sizeof(struct dwread_range)) - n.first_range;
	if (err || n.range_count == 0)
		return err;
	*number = dwread_tree_count_of(&t->nodes, sizeof(n));
	n.after = *number + 1;
	err = dwread_append(w->unit->file->reader, &t->nodes, &n, sizeof(n));
	return err || n.is_inlined ? err : put_tops(w, *number);
}

static int add_scope(struct walker *w, const struct entry *e, uint32_t *number)
{
	struct dwread_scope s = {e->offset, UINT64_MAX, dwread_string(w->unit, &e->name)};

	if (!s.name && e->tag == DW_TAG_namespace)
		s.name = "(anonymous namespace)";
	*number = NONE;
	if (!s.name)
		return 0;
	*number = dwread_tree_count_of(&w->tree->scopes, sizeof(s));
	return dwread_append(w->unit->file->reader, &w->tree->scopes, &s, sizeof(s));
}

static int is_scope(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Entries that have children, none of which is a function. */
static int can_skip_children(uint16_t tag)
{
	return tag == DW_TAG_enumeration_type || tag == DW_TAG_subroutine_type ||
	       tag == DW_TAG_array_type || tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site ||
	       tag == DW_TAG_GNU_formal_parameter_pack;
}

static int skip_to_sibling(struct walker *w, const struct entry *e)
{
	const uint8_t *section = w->unit->file->section[DWREAD_INFO].bytes;
	uint64_t offset;

	/* Forward only, or a walk would never end. */
	if (e->sibling.form != DW_FORM_ref4 ||
	    dwread_reference(w->unit, &e->sibling, &offset) != w->unit ||
	    section + offset < w->at.at)
		return 0;
	w->at.at = section + offset;
	return 1;
}

static void close_level(struct walker *w, uint64_t offset)
{
	const struct level *l = &w->level[--w->depth];
	struct dwread_scope *scopes = (void *)w->tree->scopes.data;

	if (l->node != NONE)
		node_of(w->tree, l->node)->after =
			dwread_tree_count_of(&w->tree->nodes, sizeof(struct dwread_node));
	if (l->scope != NONE)
		scopes[l->scope].end = offset;
}

static int dwread_tree_visit(struct walker *w, const struct entry *e)
{
	uint32_t around = w->depth ? w->level[w->depth - 1].around : NONE;
	struct level next = {NONE, NONE, around};
	int err = 0;

	if (e->tag == DW_TAG_subprogram ||
	    (e->tag == DW_TAG_inlined_subroutine && around != NONE)) {
		err = add_node(w, e, &next.node);
		next.around = next.node;
	} else if (is_scope(e->tag) && e->has_children) {
		err = add_scope(w, e, &next.scope);
	}
	if (err || !e->has_children || (can_skip_children(e->tag) && skip_to_sibling(w, e)))
		return err;
	if (w->depth == DEPTH_MAX)
		return -EINVAL;
	w->level[w->depth++] = next;
	return 0;
}

static void dwread_tree_walk(struct walker *w)
{
	struct entry e;
	int kind;

	do {
		kind = dwread_tree_read_entry(w, &e);
		if (kind == 1 && dwread_tree_visit(w, &e) != 0)
			break;
		if (kind == 0 && w->depth)
			close_level(w, e.offset);
	} while (kind >= 0 && w->depth);
	while (w->depth)
		close_level(w, w->unit->end);
}

struct dwread_tree *dwread_tree_get(struct dwread_unit *u)
{
	struct walker *w;

	if (u->tree || dwread_unit_load(u) != 0)
		return u->tree;
	u->tree = calloc(1, sizeof(*u->tree));
	w = calloc(1, sizeof(*w));
	if (u->tree && w) {
		w->unit = u;
		w->tree = u->tree;
		w->at = dwread_cursor_at(u->file, DWREAD_INFO, u->entries);
		w->at.end = u->file->section[DWREAD_INFO].bytes + u->end;
		dwread_tree_walk(w);
		dwread_spans_settle(&u->tree->tops);
	}
	free(w);
	return u->tree;
}

void dwread_tree_free(struct dwread_tree *t)
{
	if (!t)
		return;
	buf_free(&t->nodes);
	buf_free(&t->ranges);
	buf_free(&t->tops);
	buf_free(&t->scopes);
	free(t);
}

static int node_has(const struct dwread_tree *t, const struct dwread_node *n, uint64_t address)
{
	const struct dwread_range *r = (const struct dwread_range *)(void *)t->ranges.data;

	for (uint32_t i = 0; i < n->range_count; i++)
		if (address >= r[n->first_range + i].start && address < r[n->first_range + i].end)
			return 1;
	return 0;
}

size_t dwread_tree_find(const struct dwread_tree *t, uint64_t address,
			const struct dwread_node **out, size_t room)
{
	const struct dwread_span *top = dwread_spans_find(&t->tops, address, 0);
	uint32_t end, number;
	size_t count = 0;

	if (!top)
		return 0;
	if (room)
		out[0] = node_of(t, top->first);
	count = 1;
	end = node_of(t, top->first)->after;
	for (number = top->first + 1; number < end;) {
		const struct dwread_node *n = node_of(t, number);

		if (!n->is_inlined || !node_has(t, n, address)) {
			number = n->after;
			continue;
		}
		if (count < room)
			out[count] = n;
		count++;
		end = n->after;
		number++;
	}
	return count;
}
