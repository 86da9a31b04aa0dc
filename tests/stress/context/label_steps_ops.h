/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The updates that label-steps looks at, in the order in which a round makes them: what each does,
 * and what an outside reader finds after it.
 */
#ifndef TESTS_STRESS_CONTEXT_LABEL_STEPS_OPS_H
#define TESTS_STRESS_CONTEXT_LABEL_STEPS_OPS_H

#include <stdint.h>
#include <string.h>

#include <weft/coro_carry.h>
#include <weft/labels.h>
#include <weft/prepared.h>

enum op {
	SET_NEW,
	UPDATE_SAME_LENGTH,
	UPDATE_AGAIN,
	UPDATE_LONGER,
	IDS,
	SPAN_ALONE,
	UPDATE_BESIDE_IDS,
	SET_SECOND,
	UPDATE_FIRST,
	REMOVE,
	SET_IN_HOLE,
	TRACE,
	SCOPE_ENTER,
	SCOPE_UPDATE,
	SCOPE_REMOVE,
	SCOPE_SET,
	SCOPE_LEAVE,
	BATCH,
	REPLACE,
	WRITE,
	ATTACH,
	ATTACH_OTHER,
	DETACH_OTHER,
	ATTACHED_LABEL,
	DETACH_SLOWLY,
	ATTACH_AGAIN,
	DETACH,
	CLEAR_LABELS,
	CLEAR_CONTEXT,
	THREADS_OWN,
	CORO_RESUME,
	CORO_IDS,
	CORO_LABEL,
	CORO_UPDATE,
	CORO_SUSPEND,
	CORO_AGAIN,
	CORO_OTHER,
	CORO_OTHER_ENDS,
	CORO_ENDS,
	CLEAR_ALL,
	OPS,
};

#define BIG "1234567890123456789"
#define LONGER "a value that is longer than the one before"

static const struct {
	const char *name, *ids, *labels;
} after[OPS] = {
	[SET_NEW] = {"a new label", "", "tenant=acme;"},
	[UPDATE_SAME_LENGTH] = {"another value, as long", "", "tenant=emca;"},
	[UPDATE_AGAIN] = {"and again", "", "tenant=mace;"},
	[UPDATE_LONGER] = {"a longer value", "", "tenant=" LONGER ";"},
	[IDS] = {"ids", "span-id=7;root-span-id=" BIG ";", "tenant=" LONGER ";"},
	[SPAN_ALONE] = {"another span, the same root", "span-id=8;root-span-id=" BIG ";",
			"tenant=" LONGER ";"},
	[UPDATE_BESIDE_IDS] = {"a value beside ids", "span-id=8;root-span-id=" BIG ";",
			       "tenant=short;"},
	[SET_SECOND] = {"a second label", "span-id=8;root-span-id=" BIG ";",
			"tenant=short;route=/x;"},
	[UPDATE_FIRST] = {"the first one's value", "span-id=8;root-span-id=" BIG ";",
			  "tenant=acme;route=/x;"},
	[REMOVE] = {"a label goes", "span-id=8;root-span-id=" BIG ";", "route=/x;"},
	[SET_IN_HOLE] = {"one comes in its place", "span-id=8;root-span-id=" BIG ";",
			 "user=u1;route=/x;"},
	[TRACE] = {"ids and trace", "span-id=1;root-span-id=2;", "user=u1;route=/x;"},
	[SCOPE_ENTER] = {"scope", "span-id=3;root-span-id=4;", "user=u1;route=/x;"},
	[SCOPE_UPDATE] = {"value in a scope", "span-id=3;root-span-id=4;", "user=u2;route=/x;"},
	[SCOPE_REMOVE] = {"removed in a scope", "span-id=3;root-span-id=4;", "user=u2;"},
	[SCOPE_SET] = {"new in a scope", "span-id=3;root-span-id=4;", "user=u2;deep=x;"},
	[SCOPE_LEAVE] = {"out of the scope", "span-id=1;root-span-id=2;", "user=u1;route=/x;"},
	[BATCH] = {"ids and labels", "span-id=5;root-span-id=6;", "route=/y;tenant=t;"},
	[REPLACE] = {"all labels replaced", "span-id=5;root-span-id=6;", "only=this;"},
	[WRITE] = {"whole context", "span-id=8;root-span-id=9;", "only=this;"},
	[ATTACH] = {"a prepared context", "span-id=31;root-span-id=32;", "tenant=p;route=/p;"},
	[ATTACH_OTHER] = {"another one in it", "span-id=33;root-span-id=32;", "deep=q;"},
	[DETACH_OTHER] = {"which ends", "span-id=31;root-span-id=32;", "tenant=p;route=/p;"},
	[ATTACHED_LABEL] = {"a label beside it", "span-id=31;root-span-id=32;",
			    "tenant=p;route=/p;user=u9;"},
	[DETACH_SLOWLY] = {"it ends", "span-id=8;root-span-id=9;", "only=this;"},
	[ATTACH_AGAIN] = {"a prepared context again", "span-id=31;root-span-id=32;",
			  "tenant=p;route=/p;"},
	[DETACH] = {"which ends", "span-id=8;root-span-id=9;", "only=this;"},
	[CLEAR_LABELS] = {"labels cleared", "span-id=8;root-span-id=9;", ""},
	[CLEAR_CONTEXT] = {"context cleared", "", ""},
	[THREADS_OWN] = {"a thread's context", "span-id=2;root-span-id=3;", "worker=w;"},
	[CORO_RESUME] = {"a coroutine without any", "", ""},
	[CORO_IDS] = {"its context", "span-id=11;root-span-id=12;", ""},
	[CORO_LABEL] = {"its first label", "span-id=11;root-span-id=12;", "tenant=c;"},
	[CORO_UPDATE] = {"its value", "span-id=11;root-span-id=12;", "tenant=d;"},
	[CORO_SUSPEND] = {"suspended", "span-id=2;root-span-id=3;", "worker=w;"},
	[CORO_AGAIN] = {"resumed", "span-id=11;root-span-id=12;", "tenant=d;"},
	[CORO_OTHER] = {"one more on top of it", "span-id=21;root-span-id=22;", ""},
	[CORO_OTHER_ENDS] = {"which ends", "span-id=11;root-span-id=12;", "tenant=d;"},
	[CORO_ENDS] = {"destroyed", "span-id=2;root-span-id=3;", "worker=w;"},
	[CLEAR_ALL] = {"nothing left", "", ""},
};

#define HANDLERS_IDS "span-id=77;root-span-id=88;"

static struct weft_context context_of(uint64_t span, uint64_t root)
{
	struct weft_context c = {.span_id = span, .root_span_id = root, .trace_flags = 1};

	memset(c.trace_id, (int)span, sizeof(c.trace_id));
	return c;
}

#define LABEL(k, v)                                                                                \
	{                                                                                          \
		.key = (k), .key_bytes = strlen(k), .value = (v), .value_bytes = sizeof(v) - 1     \
	}

static struct weft_scope scope;
static struct weft_coro coro, other;
static struct weft_context context;
static struct weft_label batch[3];
static struct weft_prepared *prepared, *other_prepared;
static struct weft_attached attached, other_attached;

#define CARRY (&weft_coro_carry_v1)

/* Neither has anything of its creator's; the second comes with ids of its own. */
static void make_coroutines(void)
{
	struct weft_coro *each[] = {&coro, &other};

	for (int i = 0; i < 2; i++) {
		CARRY->destroy(each[i], 1);
		memset(each[i], 0, sizeof(*each[i]));
		each[i]->id = 1 + (uint64_t)i;
		each[i]->flags = WEFT_CORO_DETACHED;
		CARRY->create(each[i], 1);
	}
	CARRY->resume(&other, 1);
	weft_context_set_trace(21, 22, context.trace_id, 1);
	CARRY->suspend(&other, 1);
}

/* Once, when all formats are on. */
static void prepare(void)
{
	struct weft_context of[] = {context_of(31, 32), context_of(33, 32)};
	struct weft_label labels[] = {LABEL("tenant", "p"), LABEL("route", "/p")};
	struct weft_label deep = LABEL("deep", "q");

	if (prepared)
		return;
	prepared = weft_context_prepare(&of[0], labels, 2);
	other_prepared = weft_context_prepare(&of[1], &deep, 1);
}

static void arguments_of(enum op op)
{
	static const struct weft_label many[3] = {
		LABEL("tenant", "t"), LABEL("route", "/y"), {.key = "user", .key_bytes = 4}};
	static const struct weft_label one = LABEL("only", "this");

	context = op == SCOPE_ENTER ? context_of(3, 4)
		  : op == BATCH     ? context_of(5, 6)
				    : context_of(8, 9);
	if (op == TRACE)
		context = context_of(1, 2);
	if (op == ATTACH)
		prepare();
	memcpy(batch, many, sizeof(batch));
	if (op == REPLACE)
		batch[0] = one;
	if (op == THREADS_OWN) {
		make_coroutines();
		context = context_of(2, 3);
		batch[0] = (struct weft_label){"worker", 6, "w", 1, 0};
	}
	if (op == CORO_IDS)
		context = context_of(11, 12);
	if (op == CLEAR_ALL)
		memset(&context, 0, sizeof(context));
}

/* The operations that set one label. */
static const struct {
	const char *key, *value;
} set_one[OPS] = {
	[SET_NEW] = {"tenant", "acme"},
	[UPDATE_SAME_LENGTH] = {"tenant", "emca"},
	[UPDATE_AGAIN] = {"tenant", "mace"},
	[UPDATE_LONGER] = {"tenant", LONGER},
	[UPDATE_BESIDE_IDS] = {"tenant", "short"},
	[SET_SECOND] = {"route", "/x"},
	[UPDATE_FIRST] = {"tenant", "acme"},
	[SET_IN_HOLE] = {"user", "u1"},
	[SCOPE_UPDATE] = {"user", "u2"},
	[SCOPE_SET] = {"deep", "x"},
	[ATTACHED_LABEL] = {"user", "u9"},
	[CORO_LABEL] = {"tenant", "c"},
	[CORO_UPDATE] = {"tenant", "d"},
};

static void take(enum op op)
{
	if (set_one[op].key) {
		weft_label_set(set_one[op].key, set_one[op].value);
		return;
	}
	switch (op) {
	case IDS:
		weft_context_set(7, UINT64_C(1234567890123456789));
		break;
	case SPAN_ALONE:
		weft_context_set(8, UINT64_C(1234567890123456789));
		break;
	case REMOVE:
		weft_label_remove("tenant");
		break;
	case TRACE:
		weft_context_set_trace(1, 2, context.trace_id, 1);
		break;
	case SCOPE_ENTER:
		weft_scope_enter(&scope, &context);
		break;
	case SCOPE_REMOVE:
		weft_label_remove("route");
		break;
	case SCOPE_LEAVE:
		weft_scope_leave(&scope);
		break;
	case BATCH:
		weft_context_update(&context, batch, 3, 0);
		break;
	case REPLACE:
		weft_context_update(NULL, batch, 1, WEFT_UPDATE_REPLACE);
		break;
	case WRITE:
		weft_context_write(&context);
		break;
	case ATTACH:
	case ATTACH_AGAIN:
		weft_context_attach(&attached, prepared);
		break;
	case ATTACH_OTHER:
		weft_context_attach(&other_attached, other_prepared);
		break;
	case DETACH_OTHER:
		weft_context_detach(&other_attached);
		break;
	case DETACH_SLOWLY:
	case DETACH:
		weft_context_detach(&attached);
		break;
	case CLEAR_LABELS:
		weft_labels_clear();
		break;
	case CORO_IDS:
		weft_context_set_trace(11, 12, context.trace_id, 1);
		break;
	case CORO_SUSPEND:
		CARRY->suspend(&coro, 1);
		break;
	case CORO_RESUME:
	case CORO_AGAIN:
		CARRY->resume(&coro, 1);
		break;
	case CORO_OTHER:
		CARRY->resume(&other, 1);
		break;
	case CORO_OTHER_ENDS:
		CARRY->destroy(&other, 1);
		break;
	case CORO_ENDS:
		CARRY->destroy(&coro, 1);
		break;
	case THREADS_OWN:
	case CLEAR_ALL:
		weft_context_update(&context, batch, op == THREADS_OWN, WEFT_UPDATE_REPLACE);
		break;
	default:
		weft_context_clear();
		break;
	}
}

#endif
