/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of another process work for, in every format that is found there, whoever wrote
 * it: weft's session, OpenTelemetry's contexts, Custom Labels, Go's labels. inspect.h is the way
 * in.
 *
 * Runs on the command's one thread; what samples from outside take (collector/look/published.h) on
 * the collector's outside thread. What is read is proved not to have changed meanwhile, or told
 * as not read; texts and lengths are another's and bounded.
 *
 *   inspect.c       all threads, all formats
 *   inspect_open.c  may it be looked at?
 *   variables.c     who publishes by which variable
 *   weft_session.c  a session of weft's
 *   custom_labels.c sets of Custom Labels
 *   go_program.c    a Go runtime, and where it has what
 *   go_threads.c    its threads
 *   go_labels.c     labels of its goroutines
 *   otel_process.c  OpenTelemetry's process context
 *   otel_payload.c  its protobuf payload
 *   otel_record.c   OpenTelemetry's thread context
 *   nodejs.c        likewise, in Node.js
 */
#ifndef WEFT_READER_CONTEXT_ROOM_H
#define WEFT_READER_CONTEXT_ROOM_H

#endif
