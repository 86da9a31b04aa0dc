/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of event types, fields and settings in a weft recording, shared by writers and readers of
 * recordings. docs/recording.md has the meaning of each.
 *
 * Two rules make every reader's sums right, over chunks, merged files and cut files alike:
 *
 *   - A weft.Counter or weft.Histogram row is a difference: the sum of all rows with the
 *     same process and name is the value. Rows that would be 0 are not written. But of kind
 *     RECORDING_KIND_LEVEL: of a process's rows the newest stands.
 *   - weft.Recording and weft.Process rows are repeated, once a chunk, with a duration that
 *     has grown: of the rows with one id the one with the longest duration counts.
 */
#ifndef WEFT_BASE_RECORDING_H
#define WEFT_BASE_RECORDING_H

/* Samples. The JDK's type, its second field named eventThread. */
#define RECORDING_EXECUTION_SAMPLE "jdk.ExecutionSample"
/* With --inline-context instead: startTime, eventThread, stackTrace, state, traceId, spanId,
 * rootSpanId, then one string for each named tag. Absent values are null strings. */
#define RECORDING_INLINE_SAMPLE "weft.ExecutionSample"

/* Wall-clock samples. async-profiler's type, its second field named eventThread: startTime,
 * eventThread, stackTrace, state, samples: each stands for a period. */
#define RECORDING_WALL_SAMPLE "profiler.WallClockSample"
/* With --inline-context instead: the same, then timeSpan (samples x period, in ticks), traceId,
 * spanId, rootSpanId and tags. */
#define RECORDING_INLINE_WALL_SAMPLE "weft.WallClockSample"

/* startTime, duration, eventThread, traceId, spanId, rootSpanId, then one string for each
 * named tag. A sample of the thread belongs to it when start <= time < start + duration. */
#define RECORDING_SPAN "weft.Span"
#define RECORDING_FIELD_TRACE "traceId"        /* 32 hex digits, or null */
#define RECORDING_FIELD_SPAN "spanId"          /* 16 hex digits, or null */
#define RECORDING_FIELD_ROOT_SPAN "rootSpanId" /* 16 hex digits, or null */
#define RECORDING_SPAN_FIXED_FIELDS 6          /* tags follow */
#define RECORDING_INLINE_FIXED_FIELDS 7        /* tags follow */
#define RECORDING_WALL_FIXED_FIELDS 5          /* of it without ids */
#define RECORDING_INLINE_WALL_FIXED_FIELDS 9   /* tags follow */

/* Runs and waits of coroutines, by their ends: startTime, duration, eventThread, stackTrace (one
 * frame: where it suspended), coroutine (its id), siteAddress, then of a run isLast, of a wait
 * isFirst, schedulingDelay (INT64_MIN: not known) and isLast (destroyed so), traceId, spanId,
 * rootSpanId, tags. */
#define RECORDING_COROUTINE_RUN "weft.CoroutineRun"
#define RECORDING_COROUTINE_WAIT "weft.CoroutineWait"
#define RECORDING_FIELD_COROUTINE "coroutine" /* also of spans and inline samples, as a text */
#define RECORDING_FIELD_SITE "siteAddress"
#define RECORDING_FIELD_LAST "isLast"
#define RECORDING_FIELD_FIRST "isFirst"
#define RECORDING_FIELD_DELAY "schedulingDelay"
#define RECORDING_RUN_FIXED_FIELDS 10  /* tags follow */
#define RECORDING_WAIT_FIXED_FIELDS 12 /* tags follow */

/* Waits of a thread: startTime, duration, eventThread, stackTrace; then of a lock its address, kind
 * ("mutex", "rwlock-read", ...) and holder (a thread, or null), of input and output operation
 * ("read", "poll", ...) and fd. */
#define RECORDING_LOCK_WAIT "weft.LockWait"
#define RECORDING_IO_WAIT "weft.IOWait"

/* startTime, process, name, kind, value (a difference; of "level" what it is then). Names, kinds:
 * abi/counters.h, and the ones below. process: "name [pid]". */
#define RECORDING_COUNTER "weft.Counter"
#define RECORDING_FIELD_PROCESS "process"
#define RECORDING_FIELD_NAME "name"
#define RECORDING_FIELD_KIND "kind"  /* "book", "lost", "cut", "ctx", "info", "level" */
#define RECORDING_KIND_LEVEL "level" /* no difference: of a process's rows the newest stands */
#define RECORDING_FIELD_VALUE "value"
#define RECORDING_COUNTER_DELIVERED "delivered" /* book: records that the collector took */
#define RECORDING_COUNTER_EVENTS_DELIVERED "events_delivered" /* info: of events rings, ... */
#define RECORDING_COUNTER_EVENTS_PENDING "events_pending"     /* info: ... and left there */
#define RECORDING_COUNTER_SLOTS_USED "slots_used"             /* level: at the end of the chunk */
#define RECORDING_COUNTER_SLOTS_HIGH "slots_high"             /* level: high-water mark */
#define RECORDING_COUNTER_THREADS "threads"                   /* info: threads, slot or not */
#define RECORDING_COUNTER_LOG_INVALID "log_invalid" /* info: dictionaries given up as malformed */
/* info: samples with something of another library's context; and what could not be taken of one. */
#define RECORDING_COUNTER_CONTEXT_OTEL "context_otel"
#define RECORDING_COUNTER_CONTEXT_LABELS "context_labels"
#define RECORDING_COUNTER_CONTEXT_GO "context_go"
#define RECORDING_COUNTER_CONTEXT_UNREADABLE "context_unreadable"
#define RECORDING_COUNTER_CONTEXT_DISAGREED "context_disagreed"
#define RECORDING_COUNTER_PENDING "pending"         /* lost: left when the file was finished */
#define RECORDING_COUNTER_GENERATIONS "generations" /* info: slot generations with closed books */
#define RECORDING_COUNTER_UNBALANCED "unbalanced"   /* info: of these, out of balance */
/* Of the collector itself, whose "process" is "weft [pid]". */
#define RECORDING_COUNTER_COLLECTOR_CPU "collector_cpu"          /* info: CPU time, ns */
#define RECORDING_COUNTER_COLLECTOR_MEMORY "collector_memory"    /* level: resident bytes */
#define RECORDING_COUNTER_COLLECTOR_HIGH "collector_memory_high" /* level: the most ever */

/* startTime, eventThread (null: CPU time that no thread's row has), process, used (ns of CPU time,
 * by the kernel's account, during the recording), seen (ns that samples stand for), samples
 * (signals that gave them), source. used, seen and samples are differences, like a counter's. */
#define RECORDING_THREAD_CPU "weft.ThreadCPU"
#define RECORDING_FIELD_USED "used"
#define RECORDING_FIELD_SEEN "seen"
#define RECORDING_FIELD_SAMPLES "samples"
#define RECORDING_FIELD_SOURCE "source"
#define RECORDING_ACCOUNT_SCHEDSTAT "schedstat" /* as it was read from outside */
#define RECORDING_ACCOUNT_THREAD "thread"       /* its own last reading, at its end */
#define RECORDING_ACCOUNT_PROCESS "process"     /* the process's, without that of its threads */

/* startTime, eventThread, process, and in ns: passed, running, waiting (for a CPU), blocked, by the
 * kernel's account; ..Seen: what its wall-clock samples stand for. All are differences. */
#define RECORDING_THREAD_TIME "weft.ThreadTime"
#define RECORDING_TIME_PERIODS 8                    /* a time of so many periods is met for sure */
#define RECORDING_TIME_LIFE_NS UINT64_C(1000000000) /* of a shorter life only looks count */
#define RECORDING_FIELD_PASSED "passed"
#define RECORDING_FIELD_RUNNING "running"
#define RECORDING_FIELD_WAITING "waiting"
#define RECORDING_FIELD_BLOCKED "blocked"
#define RECORDING_FIELD_RUNNING_SEEN "runningSeen"
#define RECORDING_FIELD_WAITING_SEEN "waitingSeen"
#define RECORDING_FIELD_BLOCKED_SEEN "blockedSeen"

/* startTime, process, name, upTo (ns; bucket [upTo / 2, upTo)), value (a difference). */
#define RECORDING_HISTOGRAM "weft.Histogram"
#define RECORDING_FIELD_UP_TO "upTo"
#define RECORDING_HISTOGRAM_HANDLER "handler_ns"
#define RECORDING_HISTOGRAM_CLAIM "claim_ns"

/* startTime, duration, id (16 hex digits), version, commandLine, pid, periodNs, engine. */
#define RECORDING_RECORDING "weft.Recording"
#define RECORDING_FIELD_ID "id"
#define RECORDING_FIELD_VERSION "version"
#define RECORDING_FIELD_COMMAND_LINE "commandLine"
#define RECORDING_FIELD_PID "pid"
#define RECORDING_FIELD_PERIOD "periodNs"
#define RECORDING_FIELD_ENGINE "engine" /* "cpu", "wall", "cpu,wall" */
#define RECORDING_ENGINE_CPU "cpu"
#define RECORDING_ENGINE_WALL "wall"

/* startTime, duration, id (16 hex digits: the session), process ("name [pid]", as the thread
 * groups say), pid, parentPid, commandLine, end (of enum recording_end's words). */
#define RECORDING_PROCESS "weft.Process"
#define RECORDING_FIELD_PARENT_PID "parentPid"
#define RECORDING_FIELD_END "end"
#define RECORDING_END_RUNNING "running" /* still ran when the row was written */
#define RECORDING_END_EXITED "exited"
#define RECORDING_END_EXEC "exec" /* the same pid goes on with another row */

/* startTime (since when it holds), process, key, value (null: it has none any more): what a process
 * says of itself in its OpenTelemetry process context; in each chunk, for each process. */
#define RECORDING_RESOURCE "weft.Resource"
#define RECORDING_FIELD_KEY "key"

/* startTime, process, name (as frames have it), path, buildId (hex, or null): a file whose code
 * the process ran; in each chunk with samples of it. */
#define RECORDING_MODULE "weft.Module"
#define RECORDING_FIELD_PATH "path"
#define RECORDING_FIELD_BUILD_ID "buildId"

/*
 * startTime, process, clock, reason (why it is not the other; or null), periodNs, tickNs (of the
 * kernel): by what a process's CPU samples were taken. In each chunk, for each process; of the rows
 * of one the last stands. And of ticks: looks (random ones, that they are held against), misjudged
 * (of what the share is; or null), tickShare, lookShare (of that, or of what came nearest to it),
 * chance (of such a difference, if there were no bunching; 1 where nothing could be told),
 * clockedNs (by the CPU clocks of threads from one tick's sample to the next), tickedNs (what those
 * samples stand for).
 */
#define RECORDING_CLOCK "weft.Clock"
#define RECORDING_FIELD_CLOCK "clock" /* "hrtimer" or "ticks" */
#define RECORDING_FIELD_REASON "reason"
#define RECORDING_FIELD_TICK "tickNs"
#define RECORDING_FIELD_LOOKS "looks"
#define RECORDING_FIELD_MISJUDGED "misjudged"
#define RECORDING_FIELD_TICK_SHARE "tickShare"
#define RECORDING_FIELD_LOOK_SHARE "lookShare"
#define RECORDING_FIELD_CHANCE "chance"
#define RECORDING_FIELD_CLOCKED "clockedNs"
#define RECORDING_FIELD_TICKED "tickedNs"
#define RECORDING_CLOCK_HRTIMER "hrtimer" /* each sample is one of one period, or of a tick */
#define RECORDING_CLOCK_TICKS "ticks"     /* ... is as many events as a tick has periods */

/* startTime, message: what was not done as asked; each message once. */
#define RECORDING_WARNING "weft.Warning"
#define RECORDING_FIELD_MESSAGE "message"

/* jdk.ActiveSetting rows, id = a type's; repeated in every chunk, and when one changes. Of typed
 * events: enabled, threshold, throttle, stackTrace, select. Of sample types: */
#define RECORDING_SETTING_PERIOD "period"   /* "5025125 ns": time that one sample stands for */
#define RECORDING_SETTING_ENGINE "engine"   /* "cpu", "wall": of this type */
#define RECORDING_SETTING_STACK "stackMode" /* "auto", "table", "fp", "raw", "check" */
#define RECORDING_SETTING_ENABLED "enabled" /* "true" */

#endif
