/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of others that more than one room reads or writes by hand: on both sides, where no
 * library may be used in the recorded program.
 *
 * Inline, async-signal-safe, and nothing of libc that allocates or locks. The bytes are not
 * trusted: nothing behind the given end is read, and what is no such encoding is -EBADMSG.
 *
 *   leb128.h        integers of variable length
 *   protobuf.h      fields of protobuf messages
 *   otel_mapping.h  OpenTelemetry's mapping, by name
 */
#ifndef WEFT_BASE_WIRE_ROOM_H
#define WEFT_BASE_WIRE_ROOM_H

#endif
