/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_copies LIBWEFT_SO: the C interface of two copies of the runtime on one thread. libweft.a is
 * linked in, libweft.so is preloaded and so the first, or opened here and the second. Each kind of
 * write by one copy is seen by the other, and what one begins the other may end. TAP.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/coro_carry.h>
#include <weft/event.h>
#include <weft/labels.h>
#include <weft/publish.h>

#include "../own_session.h"

static struct {
	enum weft_label_result (*set)(const char *, const char *);
	ssize_t (*get)(const char *, char *, size_t);
	size_t (*clear)(void);
	enum weft_label_result (*update)(const struct weft_context *, struct weft_label *, size_t,
					 unsigned int);
	void (*enter)(struct weft_scope *, const struct weft_context *);
	void (*leave)(struct weft_scope *);
	struct weft_ids (*ids)(void);
	struct weft_ids (*set_ids)(uint64_t, uint64_t);
	int (*select)(unsigned int);
	unsigned int (*selected)(void);
	int (*key)(const char *);
	const uint32_t **guard;
	const struct weft_coro_carry_v1 *carry;
	const struct weft_event_row *(*enrol)(struct weft_event_type *);
	void (*begin)(struct weft_event *, struct weft_event_type *);
	void (*end)(struct weft_event *);
	int (*should_commit)(struct weft_event *);
	int (*put)(struct weft_event *, const struct weft_event_value *, size_t);
	int (*put_now)(struct weft_event_type *, const struct weft_event_value *, size_t);
	void (*cancel)(struct weft_event *);
	void (*span_begin)(struct weft_span *, const char *, uint64_t, uint64_t);
	int (*span_end)(struct weft_span *);
} other;

static int cases, failures;

static void is(int holds, const char *what)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", ++cases, what);
	failures += !holds;
}

/* In both copies; @value NULL: none. */
static int label_is(const char *key, const char *value)
{
	char one[300] = "", two[300] = "";
	ssize_t bytes = weft_label_get(key, one, sizeof(one) - 1);

	if (other.get(key, two, sizeof(two) - 1) != bytes || strcmp(one, two) != 0)
		return 0;
	return value ? bytes == (ssize_t)strlen(value) && !strcmp(one, value) : bytes == -1;
}

static int ids_are(uint64_t span)
{
	return weft_context_get().span_id == span && other.ids().span_id == span;
}

static int find(void *library)
{
	void **const functions[] = {
		(void **)&other.set,      (void **)&other.get,           (void **)&other.clear,
		(void **)&other.update,   (void **)&other.enter,         (void **)&other.leave,
		(void **)&other.ids,      (void **)&other.set_ids,       (void **)&other.select,
		(void **)&other.selected, (void **)&other.key,           (void **)&other.guard,
		(void **)&other.carry,    (void **)&other.enrol,         (void **)&other.begin,
		(void **)&other.end,      (void **)&other.should_commit, (void **)&other.put,
		(void **)&other.put_now,  (void **)&other.cancel,        (void **)&other.span_begin,
		(void **)&other.span_end};
	static const char *const names[] = {"weft_label_set",
					    "weft_label_get",
					    "weft_labels_clear",
					    "weft_context_update",
					    "weft_scope_enter",
					    "weft_scope_leave",
					    "weft_context_get_all",
					    "weft_context_set_all",
					    "weft_publish_select",
					    "weft_publish_selected",
					    "weft_label_key",
					    "weft_fork_guard",
					    "weft_coro_carry_v1",
					    "weft_event_type_enrol",
					    "weft_event_begin_on",
					    "weft_event_end_on",
					    "weft_event_should_commit_on",
					    "weft_event_put",
					    "weft_event_put_now",
					    "weft_event_cancel",
					    "weft_span_begin",
					    "weft_span_end"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*functions[i] = dlsym(library, names[i]);
		if (!*functions[i])
			return -1;
	}
	return 0;
}

static void writes(void)
{
	struct weft_context c = {.span_id = 5, .root_span_id = 6};
	struct weft_label one = {.key = "b", .key_bytes = 1, .value = "two", .value_bytes = 3};

	is(weft_label_set("a", "here") == WEFT_LABEL_SET && label_is("a", "here"), "set here");
	is(other.set("a", "there") == WEFT_LABEL_UPDATED && label_is("a", "there"), "and there");
	for (int i = 0; i < 4; i++) /* by the short way, too */
		(i % 2 ? weft_label_set : other.set)("a", i % 2 ? "odd" : "even");
	is(label_is("a", "odd"), "in turns");
	is(other.update(&c, &one, 1, WEFT_UPDATE_REPLACE) == 0 && one.result == WEFT_LABEL_SET &&
		   label_is("a", NULL) && label_is("b", "two") && ids_are(5),
	   "a batch there");
	is(label_is("span-id", "5") && label_is("root-span-id", "6"), "the reserved ones");
	is(other.set("", "x") == WEFT_LABEL_INVALID &&
		   other.set("span-id", "1") == WEFT_LABEL_RESERVED,
	   "what is refused, there");
	is(other.clear() == 1 && label_is("b", NULL), "cleared there");
}

static void scopes(void)
{
	const struct weft_context inner = {.span_id = 9, .root_span_id = 9};
	struct weft_scope outer_scope, inner_scope;

	weft_context_set(1, 1);
	weft_label_set("a", "outside");
	weft_scope_enter(&outer_scope, NULL);
	other.set("a", "outer");
	other.enter(&inner_scope, &inner);
	weft_label_set("a", "inner");
	other.set("b", "inner");
	is(label_is("a", "inner") && ids_are(9), "within both scopes");
	weft_scope_leave(&inner_scope);
	is(label_is("a", "outer") && label_is("b", NULL) && ids_are(1), "entered there, left here");
	other.leave(&outer_scope);
	is(label_is("a", "outside"), "entered here, left there");
}

static void formats(void)
{
	is(other.select(7) == 7 && weft_publish_selected() == 7, "formats switched on there");
	is(weft_label_key("a") >= 0 && weft_label_key("a") == other.key("a"), "one key map");
	is(weft_publish_select(3) == 3 && other.selected() == 3, "and off here");
	is(other.select(1u << 9) == -EINVAL && other.selected() == 3, "nonsense is refused");
}

/* One copy's probe creates and suspends a coroutine, the other's resumes and destroys it. */
static void coroutines(void)
{
	static struct weft_coro coro = {.id = 1, .flags = WEFT_CORO_DETACHED};

	other.clear();
	weft_context_set(1, 1);
	weft_label_set("a", "thread");
	weft_coro_carry_v1.create(&coro, 1);
	other.carry->resume(&coro, 2);
	is(ids_are(0) && label_is("a", NULL), "a coroutine created here, resumed there");
	other.set_ids(31, 31);
	is(weft_label_set("a", "coroutine") == WEFT_LABEL_SET && label_is("a", "coroutine"),
	   "its first label");
	is(other.set("a", "again") == WEFT_LABEL_UPDATED && ids_are(31), "and there");
	weft_coro_carry_v1.suspend(&coro, 3);
	is(ids_are(1) && label_is("a", "thread"), "suspended here");
	weft_coro_carry_v1.resume(&coro, 4);
	is(ids_are(31) && label_is("a", "again"), "resumed here");
	weft_coro_carry_v1.resume(&coro, 5);
	other.carry->resume(&coro, 5);
	is(ids_are(31) && label_is("a", "again"), "resumed while it runs: nothing");
	other.carry->destroy(&coro, 6);
	is(ids_are(1) && label_is("a", "thread"), "destroyed there");
}

/* ---- events */

static struct weft_event_type here = {.name = "two.Same",
				      WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG})};
static struct weft_event_type there = {.name = "two.Same",
				       WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG})};
static struct weft_event_type early = {.name = "two.Early"};
static struct weft_event_type context = {
	.name = "two.Context", .flags = WEFT_EVENT_CONTEXTUAL, .select = "if-triggered"};

static uint64_t written(void)
{
	return weft_thread_slot->counters[WEFT_COUNTER_EVENTS_WRITTEN];
}

static void contexts_of_both(void)
{
	struct weft_event event;
	struct weft_span span;

	other.enrol(&context);
	weft_event_begin(&event, &context);
	other.end(&event);
	is(event.type == NULL, "begun here, ended there, untriggered");
	other.begin(&event, &context);
	weft_event_emit(&here, WEFT_LONG(1));
	is(weft_event_commit(&event) == 1, "begun there, triggered and committed here");
	other.begin(&event, &context);
	is(weft_thread_slot->events.open_contexts == 1, "one context is open");
	weft_event_cancel(&event);
	is(weft_thread_slot->events.open_contexts == 0, "cancelled here");
	other.span_begin(&span, "span", 41, 42);
	is(ids_are(41), "a span begun there");
	is(weft_span_end(&span) == 1 && !ids_are(41), "ended here");
}

static void events(void)
{
	struct weft_session_header *session = own_session();
	struct weft_event_value value = WEFT_LONG(3);
	uint64_t before;
	struct weft_event event;

	if (!session) {
		is(0, "a session");
		return;
	}
	is(!weft_event_is_on(&early) && !weft_event_emit(&early), "off while nothing is recorded");
	__atomic_store_n(&session->run_state, WEFT_RUN_RECORDING, __ATOMIC_RELEASE);
	other.enrol(&there);
	weft_event_type_enrol(&here);
	is(here.row == there.row && here.number == there.number, "one type");
	before = written();
	is(weft_event_emit(&here, WEFT_LONG(1)) == 1, "committed here");
	is(other.put_now(&there, &value, 1) == 1, "and there");
	is(other.put_now(&here, &value, 1) == 1 && weft_event_emit(&there, WEFT_LONG(2)) == 1,
	   "each other's");
	weft_event_begin(&event, &here);
	is(other.should_commit(&event) && other.put(&event, &value, 1), "begun here, put there");
	is(written() - before == 5, "in one ring");
	contexts_of_both();
	__atomic_store_n(&session->run_state, WEFT_RUN_IDLE, __ATOMIC_RELEASE);
	is(!weft_event_emit(&here, WEFT_LONG(1)) && !other.put_now(&there, &value, 1), "over");
}

static void children(void)
{
	int status = -1;
	pid_t child;

	other.set("a", "parent");
	child = fork();
	if (child == 0) {
		int good = label_is("a", "parent");

		good &= other.set("a", "child") == WEFT_LABEL_UPDATED && label_is("a", "child");
		good &= weft_label_set("a", "again") == WEFT_LABEL_UPDATED &&
			label_is("a", "again");
		_exit(good ? 0 : 1);
	}
	is(child > 0 && waitpid(child, &status, 0) == child && status == 0, "in a forked child");
	is(label_is("a", "parent"), "and not in its parent");
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library || find(library)) {
		printf("Bail out! %s\n", argc > 1 ? dlerror() : "usage: two_copies LIBWEFT_SO");
		return 1;
	}
	is(other.guard != &weft_fork_guard && other.set != weft_label_set, "there are two copies");
	writes();
	scopes();
	formats();
	coroutines();
	events();
	children();
	printf("1..%d\n", cases);
	return failures != 0;
}
