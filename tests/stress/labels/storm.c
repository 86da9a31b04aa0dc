/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label-storm [-t THREADS] [-l LIVES] [-r ROUNDS] [-f FORKS] [--calm] [--talk]
 *
 * THREADS threads at a time set labels and contexts as fast as they can, each LIFE of a thread
 * ROUNDS rounds long; another thread then takes its place, and its slot. One more thread sends
 * them signals whose handler looks at the thread's labels where it interrupted it, and writes
 * contexts. Now and then one of them forks. Nobody may see anything but what the thread itself
 * has written, whole:
 *
 *   the thread       by weft_label_get() after each write, exactly
 *   its handler      the visible set, at any instruction
 *   another thread   slots, from its own core, by ext.seq (--calm: not, for TSan)
 *   a forked child   the labels of the thread that forked; then its own
 *
 * --talk says "ready" once threads live, for who looks from outside the process.
 * In all formats: WEFT_PUBLISH, and with libcustomlabels-weft.so preloaded.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft/abi/otel_thread_context.h>
#include <weft/labels.h>
#include <weft/prepared.h>

#include "own_labels.h"

#define THREADS_MAX 64
#define SLOTS_SEEN 256
#define HANDLERS_ROUND UINT32_C(0x80000000)

static unsigned long threads = 8, lives = 6, rounds = 2000, forks = 2;
static int is_calm, is_talking;
static _Atomic int all_done;
static _Atomic pid_t tids[THREADS_MAX];
static struct weft_slot *_Atomic slots[SLOTS_SEEN];
static _Atomic unsigned long handled, watched, changing, children, next_thread, next_slot;
static const char *_Atomic complaint;

static __thread uint32_t me, batch_round, single_round[SINGLES];
static __thread volatile sig_atomic_t in_child;

static void complain(const char *what)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&complaint, &none, what);
}

/* ---- in the handler: what it interrupted must be whole */

static void handle(int signal)
{
	struct weft_slot *slot = weft_thread_slot;
	struct weft_context context = {.trace_id = {9}};
	int saved = errno;
	struct seen s;

	(void)signal;
	if (!slot || !me)
		return;
	look_at_set(&s, (const void *)(uintptr_t)__atomic_load_n(&slot->ext.label_set,
								 __ATOMIC_RELAXED));
	if (s.wrong)
		complain(s.wrong);
	if (s.has_thread && s.thread != me)
		complain("in a handler: another thread's labels");
	context.span_id = SPAN_OF(me, HANDLERS_ROUND);
	context.root_span_id = context.span_id + 1;
	WEFT_SCOPE (&context) {
		if (weft_context_get().span_id != context.span_id)
			complain("in a handler: another context than the handler's");
	}
	atomic_fetch_add_explicit(&handled, 1, memory_order_relaxed);
	errno = saved;
}

static void *send_signals(void *unused)
{
	struct timespec pause = {.tv_nsec = 50000};

	for (unsigned int i = 0; !all_done; i++) {
		pid_t tid = tids[i % threads];

		if (tid)
			syscall(SYS_tgkill, getpid(), tid, SIGUSR2);
		if (i % 4 == 0)
			nanosleep(&pause, NULL);
	}
	return unused;
}

/* ---- from another core: by the slot's seq */

/* A copy of what is looked at in a slot, at its places there; pointers lead into the copy. */
struct copied {
	struct weft_slot slot;
	struct weft_custom_labels_label labels[WEFT_CUSTOM_LABELS_MOST];
	struct weft_custom_labels_set set;
};

static const void *fetch(struct copied *c, const struct weft_slot *slot, uint64_t address,
			 uint64_t bytes)
{
	uint64_t offset = address - (uint64_t)(uintptr_t)slot;
	char *to = (char *)&c->slot;

	if (offset > sizeof(*slot) || bytes > sizeof(*slot) - offset)
		return NULL;
	memcpy(to + offset, (const char *)slot + offset, bytes);
	return to + offset;
}

static int fetch_string(struct copied *c, const struct weft_slot *slot,
			struct weft_custom_labels_string *s)
{
	s->buf = fetch(c, slot, (uint64_t)(uintptr_t)s->buf, s->bytes);
	return s->buf != NULL;
}

static int fetch_set(struct copied *c, const struct weft_slot *slot)
{
	const struct weft_custom_labels_set *set =
		fetch(c, slot, c->slot.ext.label_set, sizeof(*set));
	const void *labels;

	if (!set || set->count > WEFT_CUSTOM_LABELS_MOST)
		return 0;
	c->set = *set;
	labels = fetch(c, slot, (uint64_t)(uintptr_t)set->storage,
		       set->count * sizeof(c->labels[0]));
	if (!labels)
		return 0;
	memcpy(c->labels, labels, set->count * sizeof(c->labels[0]));
	c->set.storage = c->labels;
	for (uint64_t i = 0; i < c->set.count; i++)
		if (c->labels[i].key.buf && (!fetch_string(c, slot, &c->labels[i].key) ||
					     !fetch_string(c, slot, &c->labels[i].value)))
			return 0;
	return 1;
}

/* 0: it was being changed. */
static int copy_whole(struct copied *c, const struct weft_slot *slot)
{
	uint64_t seq = __atomic_load_n(&slot->ext.seq, __ATOMIC_ACQUIRE);
	uint64_t generation = __atomic_load_n(&slot->thread.generation, __ATOMIC_ACQUIRE);

	if (seq & 1)
		return 0;
	memcpy(&c->slot, slot, offsetof(struct weft_slot, label_state));
	if (c->slot.ext.label_set && !fetch_set(c, slot))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->ext.seq, __ATOMIC_RELAXED) == seq &&
	       __atomic_load_n(&slot->thread.generation, __ATOMIC_RELAXED) == generation;
}

/* Attributes of OpenTelemetry's record: values of the thread, of the same thread all. */
static void look_at_record(const struct copied *c, struct seen *s)
{
	const struct weft_otel_record *r = (const void *)c->slot.otel_record;
	unsigned int at = 0, end = r->attributes_bytes;

	if (r->valid != 1)
		return;
	if (end > sizeof(r->attributes))
		s->wrong = "more attributes than the OpenTelemetry record holds";
	while (!s->wrong && at + 2 <= end && at + 2 + r->attributes[at + 1] <= end) {
		uint64_t thread, round;

		if (take_value(r->attributes + at + 2, r->attributes[at + 1], &thread, &round) &&
		    s->has_thread && thread != s->thread)
			s->wrong = "another thread's labels in the OpenTelemetry record";
		at += 2u + r->attributes[at + 1];
	}
}

static void watch_slot(struct copied *c, const struct weft_slot *slot)
{
	struct seen s;

	if (!copy_whole(c, slot)) {
		atomic_fetch_add(&changing, 1);
		return;
	}
	look_at_set(&s, c->slot.ext.label_set ? &c->set : NULL);
	look_at_record(c, &s);
	/* a write of ids shows them in one format after the other: they need not be the record's */
	if (s.has_span && s.has_thread && s.span >> 32 != s.thread)
		s.wrong = "from outside: another thread's span";
	if (s.wrong)
		complain(s.wrong);
	atomic_fetch_add(&watched, 1);
}

static void *watch_slots(void *unused)
{
	struct copied *c = malloc(sizeof(*c));

	while (c && !all_done)
		for (unsigned int i = 0; i < SLOTS_SEEN && slots[i]; i++)
			watch_slot(c, slots[i]);
	free(c);
	return unused;
}

static void remember_slot(void)
{
	for (unsigned int i = 0; i < SLOTS_SEEN; i++)
		if (slots[i] == weft_thread_slot)
			return;
	slots[atomic_fetch_add(&next_slot, 1) % SLOTS_SEEN] = weft_thread_slot;
}

/* ---- the threads */

static void expect(const char *key, uint32_t round)
{
	char wanted[VALUE_ROOM], got[VALUE_ROOM];
	size_t bytes = make_value(wanted, me, round);
	ssize_t n = weft_label_get(key, got, sizeof(got));

	if (n != (ssize_t)bytes || memcmp(wanted, got, bytes) != 0)
		complain(in_child ? "in a child: not the label that was set"
				  : "not the label that was set");
}

static void expect_number(const char *key, uint64_t number)
{
	char wanted[20], got[20];
	size_t bytes = put_number(wanted, number);

	if (weft_label_get(key, got, sizeof(got)) != (ssize_t)bytes ||
	    memcmp(wanted, got, bytes) != 0)
		complain("span-id is not the span");
}

static const char *const batch_keys[BATCH] = {"b0", "b1", "b2", "b3"};
static const char *const single_keys[SINGLES] = {"s0", "s1", "s2"};

static void expect_all(void)
{
	for (int i = 0; batch_round && i < BATCH; i++)
		expect(batch_keys[i], batch_round);
	for (int i = 0; i < SINGLES; i++)
		if (single_round[i])
			expect(single_keys[i], single_round[i]);
	if (batch_round) {
		expect_number(WEFT_CUSTOM_LABELS_SPAN_KEY, SPAN_OF(me, batch_round));
		expect_number(WEFT_CUSTOM_LABELS_ROOT_KEY, SPAN_OF(me, batch_round) + 1);
	}
}

static void set_batch(uint32_t round)
{
	struct weft_context context = {.span_id = SPAN_OF(me, round),
				       .root_span_id = SPAN_OF(me, round) + 1,
				       .trace_id = {(uint8_t)round, 1}};
	struct weft_label batch[BATCH];
	char value[VALUE_ROOM];
	size_t bytes = make_value(value, me, round);

	for (int i = 0; i < BATCH; i++)
		batch[i] = (struct weft_label){batch_keys[i], 2, value, bytes, 0};
	if (weft_context_update(&context, batch, BATCH, 0))
		complain("a batch was refused");
	batch_round = round;
}

static void set_single(int which, uint32_t round)
{
	char value[VALUE_ROOM];

	make_value(value, me, round);
	if (weft_label_set(single_keys[which], value) < 0)
		complain("a label was refused");
	single_round[which] = round;
}

/* A scope puts all of it back. */
static void in_scope(uint32_t round)
{
	uint32_t batch_before = batch_round, single_before[SINGLES];
	struct weft_context context = {.span_id = SPAN_OF(me, round),
				       .root_span_id = SPAN_OF(me, round) + 1};

	memcpy(single_before, single_round, sizeof(single_before));
	WEFT_SCOPE (&context) {
		set_single(0, round);
		set_batch(round + 1);
		set_single(1, round + 2);
		expect_all();
	}
	batch_round = batch_before;
	memcpy(single_round, single_before, sizeof(single_before));
	expect_all();
}

static struct weft_prepared *prepare(uint32_t round)
{
	struct weft_context context = {.span_id = SPAN_OF(me, round),
				       .root_span_id = SPAN_OF(me, round) + 1,
				       .trace_id = {(uint8_t)round, 1}};
	struct weft_label batch[BATCH];
	char value[VALUE_ROOM];
	size_t bytes = make_value(value, me, round);

	for (int i = 0; i < BATCH; i++)
		batch[i] = (struct weft_label){batch_keys[i], 2, value, bytes, 0};
	return weft_context_prepare(&context, batch, BATCH);
}

/* Also what is freed at once stays while it is attached; whatever is written in it goes. */
static void in_prepared(uint32_t round)
{
	uint32_t batch_before = batch_round, single_before[SINGLES];
	struct weft_prepared *p = prepare(round);
	struct weft_attached before;

	if (!p) {
		complain("no memory for a prepared context");
		return;
	}
	memcpy(single_before, single_round, sizeof(single_before));
	for (uint32_t times = 0; times < 3; times++) {
		weft_context_attach(&before, p);
		if (times == 2)
			weft_context_free(p);
		memset(single_round, 0, sizeof(single_round));
		batch_round = round;
		expect_all();
		if (round % 4 == times)
			set_single(0, round);
		expect_all();
		weft_context_detach(&before);
		batch_round = batch_before;
		memcpy(single_round, single_before, sizeof(single_before));
		expect_all();
	}
}

static void new_key(uint32_t round)
{
	char key[] = {'n', (char)('0' + round % NEW_KEYS), 0}, value[VALUE_ROOM];

	make_value(value, me, round);
	if (weft_label_set(key, value) != WEFT_LABEL_SET)
		complain("a new label is not new");
	expect(key, round);
	if (weft_label_remove(key) != WEFT_LABEL_REMOVED)
		complain("a label was not there to be removed");
}

static void one_round(uint32_t round)
{
	switch (round % 6) {
	case 0:
		set_batch(round);
		break;
	case 1:
	case 2:
		set_single((int)(round % SINGLES), round);
		break;
	case 3:
		new_key(round);
		break;
	case 4:
		in_prepared(round);
		break;
	default:
		if (batch_round)
			in_scope(round);
	}
	expect_all();
}

static int any_label(void *arg, const char *key, size_t key_bytes, const char *value,
		     size_t value_bytes)
{
	(void)arg, (void)key, (void)key_bytes, (void)value, (void)value_bytes;
	return 1;
}

/* The child has its thread's labels, and changes its own alone. */
static void in_forked_child(uint32_t round)
{
	in_child = 1;
	complaint = NULL;
	expect_all();
	me += 1000000;
	batch_round = single_round[0] = single_round[1] = single_round[2] = 0;
	if (weft_labels_clear() == 0)
		complain("a child began without labels");
	weft_context_clear();
	if (weft_labels_each(any_label, NULL))
		complain("a child has labels that it has cleared");
	for (uint32_t i = 1; i <= 100; i++)
		one_round(round + i);
	if (complaint) {
		dprintf(2, "%s\n", complaint);
		_exit(1);
	}
	_exit(0);
}

static void fork_once(uint32_t round)
{
	sigset_t all, before;
	int status = 0;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0)
		in_forked_child(round);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status)
		complain("a child saw something else");
	expect_all();
	atomic_fetch_add(&children, 1);
}

static void *live(void *arg)
{
	unsigned long place = (unsigned long)(uintptr_t)arg;
	unsigned long number = atomic_fetch_add(&next_thread, 1) + 1;

	if (weft_labels_each(any_label, NULL))
		complain("a thread began with another's labels");
	if (weft_label_get("s0", NULL, 0) >= 0)
		complain("a thread began with another's label");
	me = (uint32_t)number;
	tids[place] = (pid_t)syscall(SYS_gettid);
	for (uint32_t round = 1; round <= rounds && !complaint; round++) {
		one_round(round);
		if (round == 1)
			remember_slot();
		if (is_talking && number == 1 && round == 100)
			dprintf(1, "ready\n");
		if (forks && round % (1 + rounds / (forks + 1)) == 0)
			fork_once(round);
	}
	tids[place] = 0;
	return NULL;
}

static void live_on(unsigned long place)
{
	pthread_t thread;

	for (unsigned long life = 0; life < lives && !complaint; life++) {
		if (pthread_create(&thread, NULL, live, (void *)(uintptr_t)place)) {
			complain("no thread could be made");
			return;
		}
		pthread_join(thread, NULL);
	}
}

static void *live_again(void *arg)
{
	live_on((unsigned long)(uintptr_t)arg);
	return NULL;
}

static void take_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"calm", no_argument, NULL, 'c'}, {"talk", no_argument, NULL, 'T'}, {0}};

	for (int opt; (opt = getopt_long(argc, argv, "t:l:r:f:", names, NULL)) != -1;) {
		unsigned long *number = opt == 't'   ? &threads
					: opt == 'l' ? &lives
					: opt == 'r' ? &rounds
					: opt == 'f' ? &forks
						     : NULL;

		if (opt == 'c')
			is_calm = 1;
		else if (opt == 'T')
			is_talking = 1;
		else if (number)
			*number = strtoul(optarg, NULL, 10);
		else
			exit(2);
	}
	threads = threads > THREADS_MAX ? THREADS_MAX : threads;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	pthread_t places[THREADS_MAX], sender, watcher;

	take_options(argc, argv);
	sigaction(SIGUSR2, &action, NULL);
	pthread_create(&sender, NULL, send_signals, NULL);
	if (!is_calm)
		pthread_create(&watcher, NULL, watch_slots, NULL);
	for (unsigned long i = 0; i < threads; i++)
		pthread_create(&places[i], NULL, live_again, (void *)(uintptr_t)i);
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(places[i], NULL);
	all_done = 1;
	pthread_join(sender, NULL);
	if (!is_calm)
		pthread_join(watcher, NULL);
	printf("# %lu threads, %lu signals, %lu children, %lu looks from outside (%lu more found "
	       "it changing)\n",
	       next_thread, handled, children, watched, changing);
	printf("%s 1 - threads that set labels see their own alone%s%s\n1..1\n",
	       complaint ? "not ok" : "ok", complaint ? ": " : "", complaint ? complaint : "");
	return complaint || !handled || (!is_calm && !watched) || (forks && !children);
}
