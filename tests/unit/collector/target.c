/* SPDX-License-Identifier: Apache-2.0 */
/* A target played by a test: see target.h. */
#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return fd;
}

static int take_welcome(int fd, struct weft_welcome *welcome, int *memfd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {welcome, sizeof(*welcome)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *c;

	if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*welcome))
		return -EPROTO;
	c = CMSG_FIRSTHDR(&message);
	*memfd = -1;
	if (c)
		memcpy(memfd, CMSG_DATA(c), sizeof(int));
	return welcome->status ? welcome->status : *memfd < 0 ? -EPROTO : 0;
}

int target_join(struct target *t, const char *socket)
{
	struct weft_hello hello = {.magic = WEFT_RENDEZVOUS_MAGIC,
				   .version = WEFT_RENDEZVOUS_VERSION,
				   .pid = getpid(),
				   .parent_pid = getppid()};
	struct weft_welcome welcome;
	int fd = connect_to(socket), memfd, rc;

	if (fd < 0)
		return fd;
	rc = send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello) ? 0 : -errno;
	if (rc == 0)
		rc = take_welcome(fd, &welcome, &memfd);
	close(fd);
	if (rc)
		return rc;
	t->bytes = welcome.total_bytes;
	t->header =
		mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memfd, 0);
	close(memfd);
	return t->header == MAP_FAILED ? -errno : 0;
}

void target_leave(struct target *t)
{
	munmap(t->header, t->bytes);
}

struct weft_slot *target_slot(const struct target *t, uint32_t index)
{
	uint8_t *base = (uint8_t *)t->header;

	return (void *)(base + t->header->slots_offset + index * t->header->slot_stride);
}

uint64_t *target_state(const struct target *t, uint32_t index)
{
	uint8_t *base = (uint8_t *)t->header;

	return (uint64_t *)(void *)(base + t->header->states_offset) + index;
}

struct weft_slot *target_claim(const struct target *t, uint32_t index, uint64_t generation)
{
	struct weft_slot *slot = target_slot(t, index);

	__atomic_store_n(target_state(t, index), WEFT_STATE_WORD(generation, WEFT_SLOT_OPENING),
			 __ATOMIC_SEQ_CST);
	memset(&slot->samples_p, 0, sizeof(slot->samples_p));
	memset(&slot->samples_c, 0, sizeof(slot->samples_c));
	memset(slot->counters, 0, sizeof(slot->counters));
	slot->thread.tid = getpid();
	slot->thread.generation = generation;
	if (t->header->slots_high <= index)
		__atomic_store_n(&t->header->slots_high, index + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(target_state(t, index), WEFT_STATE_WORD(generation, WEFT_SLOT_LIVE),
			 __ATOMIC_SEQ_CST);
	return slot;
}

void target_publish(const struct target *t, uint32_t index, const void *data, uint32_t bytes)
{
	struct weft_slot *slot = target_slot(t, index);
	uint8_t *ring = (uint8_t *)slot + t->header->samples_offset;
	uint64_t head = slot->samples_p.head;
	uint32_t place = (uint32_t)(head & (t->header->samples_bytes - 1));
	uint32_t left = t->header->samples_bytes - place;

	memcpy(ring + place, data, bytes < left ? bytes : left);
	slot->samples_p.written++;
	__atomic_store_n(&slot->samples_p.head, head + bytes, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&t->header->fresh[0], 1, __ATOMIC_SEQ_CST);
}

int target_sample(const struct target *t, uint32_t index, uint64_t generation, uint64_t time_ns,
		  uint32_t weight, uint64_t span)
{
	struct weft_slot *slot = target_slot(t, index);
	struct {
		struct weft_sample_record sample;
		uint64_t pc;
	} r = {.sample = {.record = {.bytes = sizeof(r),
				     .type = WEFT_RECORD_SAMPLE,
				     .generation = (uint32_t)generation},
			  .time_ns = time_ns,
			  .weight = weight,
			  .engine = WEFT_ENGINE_CPU,
			  .context = span ? WEFT_CONTEXT_IDS : WEFT_CONTEXT_NONE,
			  .stack = WEFT_SAMPLE_FRAMES,
			  .frame_count = 1,
			  .span_id = span},
	       .pc = (uint64_t)(uintptr_t)target_sample};
	uint32_t place = (uint32_t)(slot->samples_p.head & (t->header->samples_bytes - 1));
	uint32_t left = t->header->samples_bytes - place;

	slot->counters[WEFT_COUNTER_ATTEMPTED]++;
	if (left < sizeof(r)) {
		struct weft_record pad = {.bytes = left, .type = WEFT_RECORD_PAD};

		target_publish(t, index, &pad, left < sizeof(pad) ? left : sizeof(pad));
		slot->samples_p.written--;
		slot->samples_p.head += left - (left < sizeof(pad) ? left : sizeof(pad));
	}
	if (slot->samples_p.head + sizeof(r) -
		    __atomic_load_n(&slot->samples_c.tail, __ATOMIC_SEQ_CST) >
	    t->header->samples_bytes) {
		slot->counters[WEFT_COUNTER_LOST_RING_FULL]++;
		return 0;
	}
	target_publish(t, index, &r, sizeof(r));
	slot->counters[WEFT_COUNTER_WRITTEN]++;
	return 1;
}

void target_log(const struct target *t, enum weft_log_type type, uint32_t id, const char *text)
{
	uint32_t bytes = (uint32_t)strlen(text);
	struct weft_log_record r = {.bytes = (uint32_t)(sizeof(r) + bytes + 7) & ~7u,
				    .type = (uint16_t)type,
				    .id = id,
				    .data_bytes = bytes};
	uint8_t *at = (uint8_t *)t->header + t->header->dict_offset + t->header->dict_head;

	memcpy(at, &r, sizeof(r));
	memcpy(at + sizeof(r), text, bytes);
	__atomic_store_n(&t->header->dict_head, t->header->dict_head + r.bytes, __ATOMIC_SEQ_CST);
}
