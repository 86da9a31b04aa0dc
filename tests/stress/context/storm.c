/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context-storm [-t THREADS] [-u UPDATES] [-s SIGNALS] [-r RATE] [--caught]
 *
 * The founding document's stress. A target writes contexts on THREADS threads as fast as it
 * can while one more thread queues SIGPROFs with the session's cookie to each of them, RATE
 * a second; it ends when every thread has made UPDATES updates and taken SIGNALS signals.
 * libweft.so's own handler writes the samples. This process drains them, and meanwhile looks
 * into the slots from its own core; every context seen either way must be of one update, or
 * say that it is none. Rates are printed; they decide nothing.
 *
 * --caught turns it round, for a writer without its marks: exit 0 if that was found out.
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"
#include "target_session.h"

#define VARIABLE "WEFT_STORM_TARGET"
#define THREADS_MAX 16

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the target */

struct writer {
	pthread_t thread;
	uint64_t number, updates, signals, elapsed_ns;
	struct weft_slot *slot; /* set last: then it can be signalled */
	int is_done;
};

static struct writer writers[THREADS_MAX];
static uint64_t threads = 2, updates_wanted = 2000000, signals_wanted = 20000, rate = 40000;

static uint64_t signals_taken(void)
{
	return weft_thread_slot->counters[WEFT_COUNTER_ATTEMPTED];
}

/* How many updates they were. */
static uint64_t take_round(uint64_t base)
{
	struct weft_scope scope;
	uint64_t taken = 0;

	for (unsigned int step = 0; step < STEPS; step++) {
		struct weft_context c = whole_context(base + step);

		if (!is_taken(base, (enum step)step))
			continue;
		take_step((enum step)step, &c, tag_of(base + step, LAST_TAG), &scope);
		taken++;
	}
	return taken;
}

static void *write_contexts(void *arg)
{
	struct writer *w = arg;
	uint64_t base = (w->number << THREAD_SHIFT) + ROUND, began;

	weft_context_clear(); /* has its slot now */
	__atomic_store_n(&w->slot, weft_thread_slot, __ATOMIC_RELEASE);
	began = now_ns();
	while (w->updates < updates_wanted || signals_taken() < signals_wanted) {
		w->updates += take_round(base);
		base += ROUND;
	}
	w->elapsed_ns = now_ns() - began;
	w->signals = signals_taken();
	__atomic_store_n(&w->is_done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The session, by its mapping: slots and header are one distance apart everywhere. */
static const struct weft_session_header *find_session(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const struct weft_session_header *found = NULL;
	unsigned long start, offset;
	char line[512];

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:target") &&
		    sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2 && offset == 0)
			found = (const struct weft_session_header *)start;
	if (maps)
		fclose(maps);
	return found;
}

static void signal_writer(const struct weft_session_header *h, const struct writer *w)
{
	const struct weft_slot *slot = __atomic_load_n(&w->slot, __ATOMIC_ACQUIRE);
	siginfo_t info;
	uint64_t index;

	if (!slot || __atomic_load_n(&w->is_done, __ATOMIC_ACQUIRE))
		return;
	index = ((uint64_t)((const char *)slot - (const char *)h) - h->slots_offset) /
		h->slot_stride;
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGPROF;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)WEFT_SIGVAL(h->cookie, slot->thread.generation, index);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), slot->thread.tid, SIGPROF, &info);
}

static int all_done(void)
{
	for (uint64_t i = 0; i < threads; i++)
		if (!__atomic_load_n(&writers[i].is_done, __ATOMIC_ACQUIRE))
			return 0;
	return 1;
}

/* Ahead of the writers, who leave it no CPU to run on; without the right to, as it comes. */
static void hurry(void)
{
	struct sched_param first = {.sched_priority = 1};

	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		errno = 0;
}

/* At an even pace, never to make up for what was missed: a thread must get on in between. */
static void signal_all(const struct weft_session_header *h)
{
	struct timespec period = {.tv_nsec = 1000000000 / (long)rate};

	hurry();
	while (!all_done()) {
		for (uint64_t i = 0; i < threads; i++)
			signal_writer(h, &writers[i]);
		nanosleep(&period, NULL);
	}
}

static int be_target(const char *parameters)
{
	const struct weft_session_header *h = find_session();

	if (!h || sscanf(parameters, "%lu %lu %lu %lu", &threads, &updates_wanted, &signals_wanted,
			 &rate) != 4)
		return 3;
	for (uint64_t i = 0; i < threads; i++) {
		writers[i].number = i;
		if (pthread_create(&writers[i].thread, NULL, write_contexts, &writers[i]))
			return 3;
	}
	signal_all(h);
	for (uint64_t i = 0; i < threads; i++) {
		const struct writer *w = &writers[i];
		double seconds;

		pthread_join(w->thread, NULL);
		seconds = (double)w->elapsed_ns / 1e9;
		printf("# thread %lu: %lu updates (%.2f M/s), %lu signals (%.0f/s)\n", i,
		       w->updates, (double)w->updates / seconds / 1e6, w->signals,
		       (double)w->signals / seconds);
	}
	return 0;
}

/* ---- the other side */

struct tally {
	uint64_t verdicts[VERDICTS];
	uint64_t strangers; /* another thread's context in a thread's slot */
	struct weft_context_snapshot first_torn;
	enum weft_sample_context first_found;
};

static struct tally handlers, remote;
static int64_t owners[TARGET_SLOTS]; /* 1 + thread whose numbers the slot shows */

static void count(struct tally *tally, uint32_t slot, enum weft_sample_context found,
		  const struct weft_context_snapshot *s)
{
	enum verdict verdict = judge(found, s);
	int64_t owner = 1 + (int64_t)(number_of(s->span_id) >> THREAD_SHIFT);

	if (verdict == VERDICT_TORN && !tally->verdicts[VERDICT_TORN]) {
		tally->first_torn = *s;
		tally->first_found = found;
	}
	tally->verdicts[verdict]++;
	if (verdict != VERDICT_WHOLE)
		return;
	if (!owners[slot])
		owners[slot] = owner;
	tally->strangers += owners[slot] != owner;
}

static void take_sample(void *arg, uint32_t slot, const struct weft_sample_record *r)
{
	struct weft_context_snapshot s;

	(void)arg;
	memcpy(&s, &r->span_id, sizeof(s));
	count(&handlers, slot, (enum weft_sample_context)r->context, &s);
}

static void look_from_outside(struct target_session *t)
{
	for (int times = 0; times < 64; times++)
		for (uint32_t i = 0; i < TARGET_SLOTS; i++) {
			struct weft_context_snapshot s;
			enum weft_sample_context found;

			if (!target_session_is_live(t, i))
				continue;
			found = weft_context_snapshot_remote(target_session_slot(t, i), &s);
			count(&remote, i, found, &s);
		}
}

static void print_tally(const char *who, const struct tally *t)
{
	const struct weft_context_snapshot *s = &t->first_torn;

	printf("# %s: %lu whole, %lu nothing, %lu busy, %lu bad checksums, %lu torn, %lu of "
	       "another thread\n",
	       who, t->verdicts[VERDICT_WHOLE], t->verdicts[VERDICT_NOTHING],
	       t->verdicts[VERDICT_BUSY], t->verdicts[VERDICT_BAD], t->verdicts[VERDICT_TORN],
	       t->strangers);
	if (t->verdicts[VERDICT_TORN])
		printf("#   the first torn one: found %d, number %#lx, root %lx, trace %lx %lx, "
		       "tags %x .. %x\n",
		       t->first_found, number_of(s->span_id), s->root_span_id, s->trace_id[0],
		       s->trace_id[1], s->tags[0], s->tags[LAST_TAG]);
}

static int number_of_case;

static int check(int is_true, const char *text)
{
	printf("%sok %d - %s\n", is_true ? "" : "not ", ++number_of_case, text);
	return is_true;
}

static uint64_t wrong(const struct tally *t)
{
	return t->verdicts[VERDICT_BAD] + t->verdicts[VERDICT_TORN] + t->strangers;
}

/* A signal that a thread has still at its end (exit_race) is in no slot's books: the collector adds
 * it to both sides. */
static int books_balance(struct target_session *t)
{
	uint64_t samples = 0;

	for (int i = 0; i < VERDICTS; i++)
		samples += handlers.verdicts[i];
	printf("# %lu attempted, %lu delivered, %lu lost for want of room\n",
	       target_session_counter(t, WEFT_COUNTER_ATTEMPTED), samples,
	       target_session_counter(t, WEFT_COUNTER_LOST_RING_FULL));
	return target_session_counter(t, WEFT_COUNTER_ATTEMPTED) ==
	       samples + target_session_counter(t, WEFT_COUNTER_LOST_RING_FULL);
}

static int report(struct target_session *t, int status, int unreadable, int must_be_caught)
{
	int good = check(status == 0, "the target ended well");

	print_tally("samples", &handlers);
	print_tally("from outside", &remote);
	good &= check(!unreadable && books_balance(t), "attempted = delivered + lost");
	good &= check(handlers.verdicts[VERDICT_WHOLE] > 0 && remote.verdicts[VERDICT_WHOLE] > 0,
		      "contexts were seen both ways");
	if (must_be_caught) {
		good &= check(wrong(&handlers) > 0, "the missing marks show in samples");
		good &= check(wrong(&remote) > 0, "and from outside");
	} else {
		good &= check(handlers.verdicts[VERDICT_BUSY] > 0,
			      "handlers met unfinished writes");
		good &= check(wrong(&handlers) == 0, "no sample is torn, none fails its checksum");
		good &= check(wrong(&remote) == 0, "nor is anything that was read from outside");
	}
	printf("1..%d\n", number_of_case);
	return good ? 0 : 1;
}

static int run(char **argv, int must_be_caught)
{
	struct target_session t;
	char parameters[100];
	int status = -1, unreadable = 0, failed = target_session_open(&t);

	snprintf(parameters, sizeof(parameters), "%lu %lu %lu %lu", threads, updates_wanted,
		 signals_wanted, rate);
	if (!failed)
		failed = target_session_start(&t, argv, VARIABLE, parameters);
	if (failed)
		fprintf(stderr, "context-storm: no target: %s\n", strerror(-failed));
	while (!failed && waitpid(t.pid, &status, WNOHANG) == 0) {
		unreadable += target_session_drain(&t, take_sample, NULL);
		look_from_outside(&t);
		usleep(1000);
	}
	if (!failed) {
		unreadable += target_session_drain(&t, take_sample, NULL);
		failed = report(&t, status, unreadable, must_be_caught);
	}
	target_session_close(&t);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"caught", no_argument, NULL, 'c'}, {0}};
	const char *parameters = getenv(VARIABLE);
	int must_be_caught = 0;

	if (parameters)
		return be_target(parameters);
	for (int c; (c = getopt_long(argc, argv, "t:u:s:r:", names, NULL)) != -1;) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (c == 'c')
			must_be_caught = 1;
		else if (c == 't' && value <= THREADS_MAX)
			threads = value;
		else if (c == 'u')
			updates_wanted = value;
		else if (c == 's')
			signals_wanted = value;
		else if (c == 'r' && value)
			rate = value;
		else
			return 2;
	}
	return run(argv, must_be_caught);
}
