/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads contexts of a program whose threads switch them all the time, and looks whether one that
 * is told as whole is:
 *
 *	torn ABI READS SEED THREADS PROGRAM FORMAT
 *
 * Prints what became of the readings; status 1 when a torn one was told as whole, or when next
 * to none was read. TORN_BLIND=1 in the environment: each is read once and believed, to show
 * that there is something to be found: status 0 when there was.
 */
#include "torn.h"

#include "reader/context/inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT_KEY "#1" /* strangers have no key map here */
#define WEFT_ROOT_KEY WEFT_OTEL_ROOT_KEY
#define LOOK_EVERY 20000
#define MOVE_EVERY 500

struct one {
	int32_t tid;
	uint64_t variable; /* 0 = not to be had */
};

struct run {
	enum live_abi abi;
	uint64_t reads, seed;
	int is_blind;
	pid_t child;
	int to_child;
	struct inspect *inspect;
	struct one *thread;
	size_t count;
	struct live_context context;
	uint64_t whole, torn, none, wrong, failed;
};

static uint64_t next_random(struct run *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed;
}

/* ---- the program */

static int start(struct run *r, char **argv)
{
	int in[2], out[2];
	char word[16] = "";
	ssize_t n;

	if (pipe(in) || pipe(out))
		return -errno;
	r->child = fork();
	if (r->child == 0) {
		char *command[] = {argv[5], argv[6], argv[4], NULL};

		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execv(command[0], command);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	r->to_child = in[1];
	n = read(out[0], word, sizeof(word) - 1);
	close(out[0]);
	return n > 0 && !strncmp(word, "ready", 5) ? 0 : -ECHILD;
}

static void stop(struct run *r)
{
	if (r->to_child > 0)
		close(r->to_child);
	if (r->child > 0)
		waitpid(r->child, NULL, 0);
}

/* ---- what is read */

static const struct published_variable *variable_of(const struct run *r)
{
	return r->abi == LIVE_OTEL ? &r->inspect->otel_thread : &r->inspect->labels;
}

/* Until most have switched at least once; how long that takes is the test's timeout alone. */
static int await_threads(struct run *r)
{
	for (;;) {
		size_t begun = 0;
		int rc = inspect_look(r->inspect);

		if (rc)
			return rc;
		for (size_t t = 0; t < r->inspect->count; t++)
			begun += r->inspect->thread[t].count > 0;
		if (2 * begun > r->inspect->count)
			return 0;
		usleep(20000);
	}
}

static int find_threads(struct run *r)
{
	struct inspect *i = r->inspect;
	int rc = await_threads(r);

	if (rc)
		return rc;
	r->thread = calloc(i->count, sizeof(*r->thread));
	for (size_t k = 0; r->thread && k < i->count; k++) {
		struct one *t = &r->thread[r->count];
		uint64_t pointer;

		if (i->thread[k].tid == r->child)
			continue; /* its main thread has none */
		t->tid = i->thread[k].tid;
		t->variable = 0;
		if (r->abi != LIVE_WEFT &&
		    (variable_of(r)->count != 1 ||
		     thread_pointer_find(i->target, t->tid, &pointer) ||
		     tls_address(i->target, &variable_of(r)->place[0], pointer, &t->variable)))
			return -ENOENT;
		r->count++;
	}
	return r->count ? 0 : -ENOENT;
}

static int read_one(struct run *r, const struct one *t)
{
	struct inspect *i = r->inspect;
	int is_torn = 0, rc;

	if (r->abi == LIVE_WEFT)
		return weft_session_read(i->session, &i->settle, t->tid, t->tid, i->labels_room,
					 &r->context);
	if (r->abi == LIVE_CUSTOM_LABELS)
		return custom_labels_read(&i->settle, t->tid, t->variable, weft_session_seq_of,
					  i->session, i->labels_room, &r->context);
	rc = otel_record_read(&i->settle, t->tid, t->variable, weft_session_seq_of, i->session,
			      i->otel_room, &is_torn);
	if (rc)
		return rc;
	if (otel_record_knows_more(i->otel_room->record, i->otel_room->bytes, &i->otel.payload))
		otel_process_refresh(i->target, &i->otel);
	otel_record_decode(i->otel_room->record, i->otel_room->bytes, &i->otel.payload, i->root_key,
			   &r->context);
	if (is_torn)
		r->context.flags |= LIVE_TORN;
	return 0;
}

static int text_is(const struct live_context *c, const struct torn *t)
{
	const struct live_attribute *a = live_find(c, TORN_LABEL, sizeof(TORN_LABEL) - 1);

	a = a ? a : live_find(c, "#0", 2);
	return a ? a->value_bytes == t->text_bytes &&
			       !memcmp(live_text(c, a->value_at), t->text, t->text_bytes)
		 : c->abi == LIVE_WEFT; /* a plain write has none */
}

static int trace_is(const struct live_context *c, const struct torn *t)
{
	for (int i = 0; i < 16; i++)
		if (c->trace_id[i] != (uint8_t)(t->trace[i / 8] >> (56 - i % 8 * 8)))
			return 0;
	return 1;
}

/* A v1 record may be seen before its trace id: then it has none, which is whole. */
static int is_whole(const struct live_context *c)
{
	struct torn t = torn_of(c->span_id);

	return c->flags & LIVE_SPAN && c->flags & LIVE_ROOT && c->root_span_id == t.root &&
	       text_is(c, &t) && (!(c->flags & LIVE_TRACE) || trace_is(c, &t));
}

static void tell_wrong(const struct run *r, const struct one *t)
{
	const struct live_context *c = &r->context;

	printf("# torn and told as whole: tid %d, span %016" PRIx64 ", root %016" PRIx64
	       ", %zu attributes, flags %x\n",
	       (int)t->tid, c->span_id, c->root_span_id, c->count, c->flags);
}

/* All ids absent: before its first write. */
static int is_empty(const struct live_context *c)
{
	return c->count == 0 && !(c->flags & (LIVE_TORN | LIVE_SPAN | LIVE_ROOT));
}

static void judge(struct run *r, const struct one *t, int rc)
{
	if (rc == -ENODATA || (rc == 0 && is_empty(&r->context)))
		r->none++;
	else if (rc)
		r->failed++;
	else if (r->context.flags & LIVE_TORN)
		r->torn++;
	else if (is_whole(&r->context))
		r->whole++;
	else if (r->wrong++ == 0)
		tell_wrong(r, t);
}

static int read_all(struct run *r)
{
	for (uint64_t k = 0; k < r->reads && !(r->is_blind && r->wrong); k++) {
		const struct one *t = &r->thread[next_random(r) % r->count];

		if (r->abi == LIVE_WEFT && k % LOOK_EVERY == 0 &&
		    weft_session_look(r->inspect->session))
			return -EPROTO;
		r->inspect->settle.still.never_move = next_random(r) % MOVE_EVERY != 0;
		judge(r, t, read_one(r, t));
	}
	return 0;
}

static int result(const struct run *r, const char *abi, const char *format)
{
	const struct settle *s = &r->inspect->settle;

	printf("# %s of %s: %" PRIu64 " reads of %zu threads: %" PRIu64 " whole, %" PRIu64
	       " torn, %" PRIu64 " none, %" PRIu64 " failed; %" PRIu64 " wrong\n",
	       abi, format, r->whole + r->torn + r->none + r->failed + r->wrong, r->count, r->whole,
	       r->torn, r->none, r->failed, r->wrong);
	printf("# %s of %s: proved by seq %" PRIu64 ", by rest %" PRIu64 ", by equality %" PRIu64
	       "; attempts without proof %" PRIu64 "\n",
	       abi, format, s->by_seq, s->by_still, s->by_equal, s->unproved);
	if (r->is_blind)
		return r->wrong == 0;
	return r->wrong || r->failed || r->whole < r->reads / 20;
}

int main(int argc, char **argv)
{
	static const char *const abis[] = {"weft", "otel", "custom-labels"};
	struct run r = {.abi = LIVE_ABI_COUNT};
	int32_t other;
	int error, rc = argc == 7 ? 0 : -EINVAL;

	for (unsigned int k = 0; rc == 0 && k < sizeof(abis) / sizeof(abis[0]); k++)
		if (!strcmp(argv[1], abis[k]))
			r.abi = (enum live_abi)k;
	if (rc || r.abi == LIVE_ABI_COUNT)
		return 2;
	r.reads = strtoull(argv[2], NULL, 10);
	r.seed = strtoull(argv[3], NULL, 10) | 1;
	r.is_blind = getenv("TORN_BLIND") != NULL;
	rc = start(&r, argv);
	if (rc == 0 &&
	    inspect_open(&r.inspect, r.child, 0,
			 strncmp(argv[6], "weft", 4) ? ROOT_KEY : WEFT_ROOT_KEY, &other, &error))
		rc = -EPERM;
	if (rc == 0)
		rc = find_threads(&r);
	if (rc == 0) {
		r.inspect->settle.is_stopped = r.is_blind;
		rc = read_all(&r);
	}
	if (rc)
		printf("# %s\n", strerror(-rc));
	else
		rc = result(&r, argv[1], argv[6]);
	if (r.inspect)
		settle_close(&r.inspect->settle);
	inspect_close(r.inspect);
	live_free(&r.context);
	free(r.thread);
	stop(&r);
	return rc != 0;
}
