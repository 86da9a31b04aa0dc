/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all rooms use: memory, maps, text, the layouts of the session, small arithmetic. No policy,
 * no thread of its own, nothing that knows a room above.
 *
 * Headers that the runtime uses too (session_layout.h, sys_call.h, platform.h and so on) are
 * async-signal-safe and need nothing of libc.
 *
 *   atomic.h           memory orders by name
 *   clock.h            clocks in nanoseconds
 *   array.c            arrays that grow
 *   buf.c              bytes that grow
 *   map.c              keys of bytes to words
 *   hash.c             the hash behind it
 *   histogram.c        durations, and their quantiles
 *   dictionary.c       strings and log records
 *   output.c           files for people, by one policy
 *   quantity.c         numbers with units, read and shown
 *   cache_place.c      where caches lie, and whether they are ours
 *   session_layout.c   the session: laid out, validated
 *   context_snapshot.h a context, read consistently
 *   ring_consumer.h    the reader's end of a ring
 *   event_row.h        settings of one event type
 *   event_settings.c   settings as text
 *   recording.h        names in weft's recordings
 *   platform.h         what priming needs of kernels
 *   platform_linux.c   by /proc and signals
 *   platform_posix.c   the portable part of that
 *   sys_call.h         system calls without libc
 *   thread_pointer.h   the thread pointer
 *   tlsdesc.h          variables behind TLS descriptors
 */
#ifndef WEFT_BASE_ROOM_H
#define WEFT_BASE_ROOM_H

#endif
