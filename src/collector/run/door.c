/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that hears who comes: see door.h. */
#include "collector/run/door.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "proc/process_file.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ANCESTORS_MAX 64
#define GUEST_PATIENCE_NS UINT64_C(1000000000)
#define GUEST_GRACE_NS UINT64_C(50000000)
#define DOOR_WINDOW_NS UINT64_C(10000000)
#define DOOR_WINDOW_MS 10
#define EXPIRE_MS 100
#define TOUCH_NS UINT64_C(3600000000000)
/* In a window. Of the others the ancestors are looked up in /proc: so many take one more turn. */
#define ADMIT_OWN 64
#define ADMIT_OTHERS 10
#define ANCESTORS_IN_TURN 8

/* What is waited for: the end, and of each entrance its socket and then its guests. No more than
 * there is, for poll(2) refuses more than RLIMIT_NOFILE allows. */
#define POLL_MAX (1 + 2 * (1 + DOOR_GUESTS_MAX))

/* ---- callers */

/* Is who has come by @e heard now? Nobody is before the root is known. */
static int entrance_is_heard(const struct door *d, const struct entrance *e)
{
	return load_acquire(d->root) && d->put - load_acquire(&d->taken) < e->callers_max;
}

void door_ring(const struct door *d)
{
	uint64_t one = 1;

	if (write(d->callers_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

void door_quiet(const struct door *d)
{
	uint64_t count;

	if (read(d->callers_fd, &count, sizeof(count)) < 0)
		return; /* nobody rang */
}

/* Pairs with door_take(). */
static void callers_put(struct door *d, const struct caller *c)
{
	d->caller[d->put % DOOR_CALLERS_MAX] = *c;
	store_release(&d->put, d->put + 1);
	door_ring(d);
}

int door_take(struct door *d, struct caller *out)
{
	if (d->taken == load_acquire(&d->put))
		return 0;
	*out = d->caller[d->taken % DOOR_CALLERS_MAX];
	store_release(&d->taken, d->taken + 1);
	return 1;
}

void door_turn_away(struct door *d)
{
	struct caller c;

	while (door_take(d, &c)) {
		close(c.fd);
		free(c.text);
	}
}

/* ---- whose process it is */

void door_note(struct door *d, pid_t pid)
{
	pthread_mutex_lock(&d->lock);
	if (d->recorded_count == d->recorded_room) {
		size_t room = d->recorded_room ? d->recorded_room * 2 : 64;
		pid_t *more = realloc(d->recorded, room * sizeof(*more));

		if (more) {
			d->recorded = more;
			d->recorded_room = room;
		}
	}
	if (d->recorded_count < d->recorded_room)
		d->recorded[d->recorded_count++] = pid;
	pthread_mutex_unlock(&d->lock);
}

void door_forget(struct door *d, pid_t pid)
{
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->recorded_count; i++) {
		if (d->recorded[i] == pid) {
			d->recorded[i] = d->recorded[--d->recorded_count];
			break;
		}
	}
	pthread_mutex_unlock(&d->lock);
}

static int has_pid(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return 1;
	return 0;
}

/* Itself, and those above it, up to @last. */
static size_t read_ancestors(pid_t pid, pid_t last, pid_t line[ANCESTORS_MAX])
{
	size_t count = 0;

	while (count < ANCESTORS_MAX && pid > 1) {
		line[count++] = pid;
		if (pid == last)
			break;
		pid = (pid_t)process_stat_number_of(pid, STAT_PARENT);
	}
	return count;
}

/* One that lies deep takes the turns of several. */
static int is_below_ours(struct door *d, pid_t pid, unsigned int *turns)
{
	pid_t line[ANCESTORS_MAX], root = load_acquire(d->root);
	size_t count = read_ancestors(pid, root, line);
	int found = has_pid(line, count, root);

	*turns += (unsigned int)count / ANCESTORS_IN_TURN;
	if (found)
		return 1;
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < d->recorded_count && !found; i++)
		found = has_pid(line, count, d->recorded[i]);
	pthread_mutex_unlock(&d->lock);
	return found;
}

/* ---- guests */

/* They stay in the order in which they came. */
static void guest_remove(struct entrance *e, size_t i)
{
	e->guests--;
	memmove(&e->guest[i], &e->guest[i + 1], (e->guests - i) * sizeof(e->guest[0]));
}

static void guest_drop(struct entrance *e, size_t i)
{
	close(e->guest[i].fd);
	guest_remove(e, i);
}

static size_t guests_of(const struct entrance *e, pid_t pid)
{
	size_t count = 0;

	for (size_t i = 0; i < e->guests; i++)
		count += e->guest[i].pid == pid;
	return count;
}

/* The oldest of the process that has most of them. */
static size_t guest_to_go(const struct entrance *e)
{
	size_t worst = 0, most = 0;

	for (size_t i = 0; i < e->guests; i++) {
		size_t count = guests_of(e, e->guest[i].pid);

		if (count > most) {
			worst = i;
			most = count;
		}
	}
	return worst;
}

/* Reads the question of `weft set`: 0, or -errno, which is answered here. It is read whoever asks:
 * what lay unread when the connection closes would take the answer with it. */
static int hear_set(const struct guest *g, struct caller *c)
{
	const char *why = "the question is malformed";
	int rc;

	c->text = calloc(1, WEFT_SET_TEXT_MAX);
	rc = c->text ? rendezvous_set(g->fd, &c->set, c->text) : -ENOMEM;
	if (rc == 0 && !g->only_joins)
		return 0;
	if (g->only_joins) {
		why = "the recording is another user's";
		rc = -EPERM;
	} else if (rc == -ENOMEM) {
		why = strerror(ENOMEM);
	}
	free(c->text);
	rendezvous_set_answer(g->fd, rc, why);
	return rc;
}

/* 1: it has asked, or is gone, and is no guest any more. */
static int door_hear(struct door *d, struct entrance *e, size_t i)
{
	const struct guest *g = &e->guest[i];
	struct caller c = {.fd = g->fd, .pid = g->pid};
	int rc = rendezvous_is_set(g->fd);

	if (rc == 1)
		rc = hear_set(g, &c);
	else if (rc == 0)
		rc = rendezvous_hello(g->fd, &c.hello);
	if (rc == -EAGAIN)
		return 0;
	if (rc == 0)
		callers_put(d, &c);
	else
		close(g->fd);
	guest_remove(e, i);
	return 1;
}

/* The eldest first. */
static void hear_guests(struct door *d, struct entrance *e, const struct pollfd *polled)
{
	for (size_t i = 0, left = e->guests; left > 0 && entrance_is_heard(d, e); left--, polled++)
		if (!polled->revents || !door_hear(d, e, i))
			i++;
}

/* Who has asked, or has had no time to, makes no room: then the others wait before the socket. */
static int door_has_room(const struct door *d, const struct entrance *e)
{
	return e->guests < DOOR_GUESTS_MAX ||
	       (entrance_is_heard(d, e) &&
		clock_mono_ns() - e->guest[guest_to_go(e)].since_ns > GUEST_GRACE_NS);
}

static int is_owner(uid_t user)
{
	return user == geteuid() || user == 0;
}

/* There must be room. */
static void guest_add(struct door *d, struct entrance *e, int fd, const struct ucred *peer)
{
	if (e->guests == DOOR_GUESTS_MAX) {
		size_t i = guest_to_go(e);

		if (!door_hear(d, e, i))
			guest_drop(e, i);
	}
	e->guest[e->guests++] = (struct guest){.fd = fd,
					       .pid = peer->pid,
					       .only_joins = e->is_others || !is_owner(peer->uid),
					       .since_ns = clock_mono_ns()};
}

/* Who has asked is not late: it is the callers that are full. */
static void guests_expire(struct door *d, struct entrance *e)
{
	uint64_t now_ns = clock_mono_ns();

	while (e->guests && entrance_is_heard(d, e) &&
	       now_ns - e->guest[0].since_ns > GUEST_PATIENCE_NS)
		if (!door_hear(d, e, 0))
			guest_drop(e, 0);
}

/* ---- connections */

static int entrance_is_open(struct entrance *e, uint64_t now_ns)
{
	if (now_ns - e->window_ns >= DOOR_WINDOW_NS) {
		e->window_ns = now_ns;
		e->count = 0;
	}
	return e->count < e->limit;
}

/* Nothing left to accept with: a pause, or the socket would be looked at again at once. */
static int is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOBUFS || rc == -ENOMEM;
}

static void admit(struct door *d, struct entrance *e)
{
	while (e->count < e->limit && door_has_room(d, e)) {
		struct ucred peer;
		int fd = e->is_others ? rendezvous_accept_other(&d->rendezvous, &peer)
				      : rendezvous_accept(&d->rendezvous, &peer);

		if (fd == -EAGAIN)
			return;
		e->count = is_shortage(fd) ? e->limit : e->count + 1;
		if (fd < 0)
			continue;
		if (e->is_others && !is_below_ours(d, peer.pid, &e->count))
			close(fd);
		else
			guest_add(d, e, fd, &peer);
	}
}

/* ---- the thread */

/* Whose processes the others are is not known before the root is. */
static int entrance_admits(const struct door *d, struct entrance *e, uint64_t now_ns)
{
	return (!e->is_others || load_acquire(d->root)) && door_has_room(d, e) &&
	       entrance_is_open(e, now_ns);
}

/* Descriptors that are not to be looked at now are -1, which poll(2) passes over. 1: there is one
 * that is to be looked at later. */
static int entrance_poll(const struct door *d, struct entrance *e, struct pollfd *polled)
{
	int listens = e->is_others ? d->rendezvous.others_fd : d->rendezvous.fd;
	int admits = entrance_admits(d, e, clock_mono_ns()), hears = entrance_is_heard(d, e);

	*polled++ = (struct pollfd){.fd = admits ? listens : -1, .events = POLLIN};
	for (size_t i = 0; i < e->guests; i++)
		polled[i] = (struct pollfd){.fd = hears ? e->guest[i].fd : -1, .events = POLLIN};
	return (listens >= 0 && !admits) || (e->guests && !hears);
}

/* Where there is no memory to wait with, a pause. */
static int door_poll(struct pollfd *polled, size_t count, int timeout_ms)
{
	int n = poll(polled, count, timeout_ms);

	if (n < 0 && errno != EINTR)
		poll(NULL, 0, DOOR_WINDOW_MS);
	return n;
}

/* @own, @others: where in @polled those of the entrances stand, behind the first. */
static int door_wait(struct door *d, struct pollfd *polled, struct pollfd *own,
		     struct pollfd *others)
{
	const struct pollfd *end = others + 1 + d->others.guests;
	int is_later = entrance_poll(d, &d->own, own) | entrance_poll(d, &d->others, others);

	polled[0] = (struct pollfd){.fd = d->end_fd, .events = POLLIN};
	return door_poll(polled, (size_t)(end - polled),
			 is_later                            ? DOOR_WINDOW_MS
			 : d->own.guests || d->others.guests ? EXPIRE_MS
							     : (int)(d->touch_ns / 1000000));
}

static void touch_when_due(struct door *d)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns - d->touched_ns < d->touch_ns)
		return;
	d->touched_ns = now_ns;
	rendezvous_touch(&d->rendezvous);
}

static void entrance_serve(struct door *d, struct entrance *e, const struct pollfd *polled)
{
	hear_guests(d, e, polled + 1);
	if (polled->revents)
		admit(d, e);
}

static void *door_run(void *arg)
{
	struct pollfd polled[POLL_MAX];
	struct door *d = arg;

	for (;;) {
		struct pollfd *own = polled + 1, *others = own + 1 + d->own.guests;

		if (door_wait(d, polled, own, others) > 0) {
			if (polled[0].revents)
				return NULL;
			entrance_serve(d, &d->own, own);
			entrance_serve(d, &d->others, others);
		}
		guests_expire(d, &d->own);
		guests_expire(d, &d->others);
		touch_when_due(d);
	}
}

int door_open(struct door *d, const pid_t *root)
{
	d->root = root;
	d->own = (struct entrance){.limit = ADMIT_OWN, .callers_max = DOOR_CALLERS_MAX};
	d->others = (struct entrance){
		.is_others = 1, .limit = ADMIT_OTHERS, .callers_max = DOOR_CALLERS_MAX / 2};
	d->touch_ns = TOUCH_NS;
	d->touched_ns = clock_mono_ns();
	d->callers_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return d->callers_fd < 0 || d->end_fd < 0 ? -errno : 0;
}

static void entrance_clear(struct entrance *e)
{
	while (e->guests)
		guest_drop(e, e->guests - 1);
}

int door_begin(struct door *d)
{
	int rc = -pthread_create(&d->thread, NULL, door_run, d);

	d->runs = rc == 0;
	return rc;
}

void door_end(struct door *d)
{
	uint64_t one = 1;

	if (d->runs) {
		if (write(d->end_fd, &one, sizeof(one)) < 0)
			abort(); /* an eventfd of ours that counts to 1: cannot fail */
		pthread_join(d->thread, NULL);
		d->runs = 0;
	}
	rendezvous_shut(&d->rendezvous);
	entrance_clear(&d->own);
	entrance_clear(&d->others);
}

void door_close(struct door *d)
{
	door_turn_away(d);
	rendezvous_close(&d->rendezvous);
	if (d->callers_fd >= 0)
		close(d->callers_fd);
	if (d->end_fd >= 0)
		close(d->end_fd);
	free(d->recorded);
	pthread_mutex_destroy(&d->lock);
}
