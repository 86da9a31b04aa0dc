/* SPDX-License-Identifier: Apache-2.0 */
/* OpenTelemetry's process context of another process: see otel_process.h. */
#include "reader/context/otel_process.h"

#include "base/wire/otel_mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES 8
#define PAUSE_NS 100000

static int otel_process_read_header(const struct target *t, uint64_t address,
				    struct weft_otel_process_header *out)
{
	int rc = target_read(t, address, out, sizeof(*out));

	if (rc)
		return rc;
	if (memcmp(out->signature, WEFT_OTEL_PROCESS_SIGNATURE, sizeof(out->signature)) != 0)
		return -ENOENT;
	if (out->version != WEFT_OTEL_PROCESS_VERSION)
		return -EPROTO;
	if (out->published_ns == 0)
		return -EAGAIN;
	return out->payload_bytes >= 1 && out->payload_bytes <= WEFT_OTEL_PROCESS_PAYLOAD_MAX
		       ? 0
		       : -EBADMSG;
}

/* The payload as it stood at one published_ns. */
static int otel_process_read_once(const struct target *t, struct otel_process *p, uint8_t *room,
				  struct weft_otel_process_header *header)
{
	struct weft_otel_process_header after;
	int rc = otel_process_read_header(t, p->address, header), payload_rc;

	if (rc || (p->is_read && header->published_ns == p->published_ns))
		return rc;
	payload_rc = target_read(t, header->payload, room, header->payload_bytes);
	rc = otel_process_read_header(t, p->address, &after);
	if (rc == 0 && memcmp(&after, header, sizeof(after)) != 0)
		rc = -EAGAIN;
	return rc ? rc : payload_rc;
}

static int read_settled(const struct target *t, struct otel_process *p, uint8_t *room,
			struct weft_otel_process_header *header)
{
	struct timespec pause = {0, PAUSE_NS};
	int rc = -EAGAIN;

	for (int i = 0; i < TRIES && rc == -EAGAIN; i++) {
		if (i)
			nanosleep(&pause, NULL);
		rc = otel_process_read_once(t, p, room, header);
	}
	return rc;
}

int otel_process_refresh(const struct target *t, struct otel_process *p)
{
	struct weft_otel_process_header header = {.version = 0};
	uint8_t *room;
	int rc;

	if (!p->address)
		return -ENOENT;
	room = malloc(WEFT_OTEL_PROCESS_PAYLOAD_MAX);
	if (!room)
		return -ENOMEM;
	rc = read_settled(t, p, room, &header);
	p->version = header.version;
	if (rc == 0 && !(p->is_read && header.published_ns == p->published_ns)) {
		rc = otel_payload_decode(&p->payload, room, header.payload_bytes);
		p->published_ns = header.published_ns;
		p->is_read = 1;
		rc = rc ? rc : 1;
	}
	p->error = rc < 0 ? rc : 0;
	free(room);
	return rc;
}

int otel_process_find(const struct target *t, struct otel_process *p)
{
	int rc = -ENOENT;

	for (size_t i = 0; i < t->mapping_count && rc == -ENOENT; i++) {
		const struct proc_map *m = &t->mappings[i];

		if (!otel_mapping_is_named(m->path) ||
		    m->end - m->start < sizeof(struct weft_otel_process_header))
			continue;
		if (m->start != p->address)
			p->is_read = 0;
		p->address = m->start;
		rc = otel_process_refresh(t, p);
	}
	if (rc == -ENOENT) {
		p->address = 0;
		p->is_read = 0;
		p->error = 0;
	}
	return rc < 0 ? rc : 0;
}

void otel_process_free(struct otel_process *p)
{
	otel_payload_free(&p->payload);
	*p = (struct otel_process){0};
}
