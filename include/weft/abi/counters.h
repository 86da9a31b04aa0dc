/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file counters.h
 * The counters of a session: one list, from which the enum, the names in every output
 * and the documentation come. Numbers are part of the session layout: append only.
 *
 * A thread that has a slot counts in its slot (one writer, plain stores); what happens
 * without a slot is counted in the session header (atomic adds). A reader sums both.
 *
 * X(NUMBER, NAME, name in outputs, kind, what it counts)
 *   kind: BOOK  a side of the identity attempted = delivered + lost + pending
 *         LOST  a sample that was attempted and not delivered, by cause
 *         CUT   a sample that was delivered with less than a whole stack
 *         CTX   a sample that was delivered without context, by cause
 *         INFO  anything else
 */
#ifndef WEFT_ABI_COUNTERS_H
#define WEFT_ABI_COUNTERS_H

/* clang-format off */
#define WEFT_COUNTERS(X) \
	X(0,  ATTEMPTED,         "attempted",          BOOK, "samples that a handler began") \
	X(1,  WRITTEN,           "written",            BOOK, "samples put into a ring") \
	X(2,  LOST_NO_SLOT,      "no_slot",            LOST, "no free slot for the thread") \
	X(3,  LOST_RING_FULL,    "ring_full",          LOST, "the samples ring was full") \
	X(4,  LOST_NESTED,       "nested",             LOST, "the handler interrupted an append") \
	X(5,  LOST_EXIT_RACE,    "exit_race",          LOST, "the timer outlived its thread's slot") \
	X(6,  LOST_STOLEN,       "stolen",             LOST, "left in a slot taken over before it was drained") \
	X(7,  LOST_INVALID,      "invalid",            LOST, "the collector refused a malformed record") \
	X(8,  CUT_NO_BOUNDS,     "cut_no_bounds",      CUT,  "stack of unknown bounds that could not be read") \
	X(9,  CUT_COPY_LIMIT,    "cut_copy_limit",     CUT,  "stack deeper than the copy") \
	X(10, CUT_NO_MODULE,     "cut_no_module",      CUT,  "pc in no known module") \
	X(11, CUT_NO_RULE,       "cut_no_rule",        CUT,  "no unwind rule for the pc") \
	X(12, CUT_BAD_READ,      "cut_bad_read",       CUT,  "a saved register outside the copy") \
	X(13, CUT_MAX_FRAMES,    "cut_max_frames",     CUT,  "more frames than the limit") \
	X(14, CTX_BEING_WRITTEN, "ctx_being_written",  CTX,  "context was being written") \
	X(15, CTX_BAD_CHECKSUM,  "ctx_bad_checksum",   CTX,  "context failed its checksum") \
	X(16, CTX_NO_SLOT,       "ctx_no_slot",        CTX,  "thread had no slot when the sample came") \
	X(17, PRIMED_HOOK,       "primed_hook",        INFO, "threads primed by the start hook") \
	X(18, PRIMED_MAIN,       "primed_main",        INFO, "threads primed by the constructor or a first write") \
	X(19, PRIMED_HANDLER,    "primed_handler",     INFO, "threads primed by the profiling handler") \
	X(20, PRIMED_SIGNAL,     "primed_signal",      INFO, "threads primed by the priming signal") \
	X(21, PRIMED_JVM,        "primed_jvm",         INFO, "threads primed by the JVM agent") \
	X(22, THREADS_NO_TIMER,  "threads_no_timer",   INFO, "threads without a CPU timer") \
	X(23, FOREIGN_SIGNALS,   "foreign_signals",    INFO, "signals passed on to the program") \
	X(24, STACK_SELF_READ,   "stack_self_read",    INFO, "stacks read by process_vm_readv") \
	X(25, OVERRUNS,          "overruns",           INFO, "timer periods added to a sample's weight") \
	X(26, EVENTS_ATTEMPTED,  "events_attempted",   INFO, "events that the API began to append") \
	X(27, EVENTS_WRITTEN,    "events_written",     INFO, "events put into a ring") \
	X(28, EVENTS_RING_FULL,  "events_ring_full",   INFO, "events lost: ring full") \
	X(29, EVENTS_NESTED,     "events_nested",      INFO, "events lost: append inside an append") \
	X(30, EVENTS_HEALED,     "events_healed",      INFO, "abandoned appends taken over") \
	X(31, CONTEXT_SLOTLESS,  "context_slotless",   INFO, "context writes by a thread that could get no slot") \
	X(32, BLOCKS_OPENED,     "blocks_opened",      INFO, "blocks of 64 slots opened") \
	X(33, SLOTS_STOLEN,      "slots_stolen",       INFO, "DEAD slots taken over for want of a FREE one") \
	X(34, CHILD_SESSIONS,    "child_sessions",     INFO, "sessions begun in a forked child") \
	X(35, DICT_FULL,         "dict_full",          INFO, "dictionary entries refused: log full") \
	X(36, STACK_WALKED,      "stack_walked",       INFO, "stacks that the handler walked itself") \
	X(37, STACK_COPIED,      "stack_copied",       INFO, "stacks that it copied for the collector to walk") \
	X(38, COPIED_NO_MAP,     "copied_no_map",      INFO, "... because there was no map or table yet") \
	X(39, COPIED_NO_MODULE,  "copied_no_module",   INFO, "... because a pc was in no module of the map") \
	X(40, COPIED_STALE_MAP,  "copied_stale_map",   INFO, "... because modules changed meanwhile") \
	X(41, TABLES_OPENED,     "tables_opened",      INFO, "times that more of the tables was opened") \
	X(42, CHECK_EQUAL,       "check_equal",        INFO, "stacks that both walks found alike") \
	X(43, CHECK_DIFFERENT,   "check_different",    INFO, "stacks that they did not") \
	X(44, SLOTS_REAPED,      "slots_reaped",       INFO, "slots of threads that went without a word") \
	X(45, TABLES_REFUSED,    "tables_refused",     INFO, "mapped files whose unwind table found no room") \
	X(46, PRIMING_SENT,        "priming_sent",        INFO, "priming signals sent, by the watcher and by the process itself at its start") \
	X(47, PRIMING_REFUSED,     "priming_refused",     INFO, "threads that it did not signal: they block or read the signal") \
	X(48, ATTACHED,            "attached",            INFO, "recordings that began in a process that ran already") \
	X(49, HANDLERS_UNDRAINED,  "handlers_undrained",  INFO, "handlers still at work when an end had waited long enough") \
	X(50, CALLS_PATCHED,       "calls_patched",       INFO, "places in loaded modules patched to reach the hooks") \
	X(51, THREADS_UNSAMPLED,   "threads_unsampled",   INFO, "threads whose ticks do not come: their signal is blocked, its handler replaced, or nobody made a timer") \
	X(52, WALL_TAKEN,          "wall_taken",          INFO, "stacks of blocked threads read from outside") \
	X(53, WALL_REPEATED,       "wall_repeated",       INFO, "wall samples of threads that had not run since, filled in") \
	X(54, WALL_MOVED,          "wall_moved",          INFO, "stacks given up because the thread ran meanwhile") \
	X(55, WALL_UNREADABLE,     "wall_unreadable",     INFO, "blocked threads whose stack could not be read") \
	X(56, WALL_GONE,           "wall_gone",           INFO, "threads that ended while they were looked at") \
	X(57, WALL_FILTERED,       "wall_filtered",       INFO, "wall samples left out by --wall-filter or --threads") \
	X(58, WALL_LATE,           "wall_late",           INFO, "ticks of the wall clock whose look came a period or more too late; no time is lost") \
	X(59, FP_SCANNED,          "fp_scanned",          INFO, "outside stacks that needed a scan for a valid frame") \
	X(60, THREADS_FOUND,       "threads_found",       INFO, "threads that the watcher found without a slot") \
	X(61, SAMPLES_FILTERED,    "samples_filtered",    INFO, "samples of CPU time left out by --threads") \
	X(62, CAREFUL,             "careful",             INFO, "processes that filter their system calls: no more is asked for there") \
	X(63, LABELS_SET,          "labels_set",          INFO, "labels set that were not there") \
	X(64, LABELS_UPDATED,      "labels_updated",      INFO, "labels given another value") \
	X(65, LABELS_REMOVED,      "labels_removed",      INFO, "labels taken away") \
	X(66, LABELS_TRUNCATED,    "labels_truncated",    INFO, "labels whose key or value was cut") \
	X(67, LABELS_NO_ROOM,      "labels_no_room",      INFO, "labels refused: all are in use, or a scope could not save them") \
	X(68, LABELS_RESERVED,     "labels_reserved",     INFO, "labels refused: span-id and root-span-id are weft's") \
	X(69, LABELS_FOREIGN,      "labels_foreign",      INFO, "times that a program put a label set of its own in place of weft's") \
	X(70, LABELS_UNRECORDED,   "labels_unrecorded",   INFO, "samples without (all of) their labels: no room in the ring, who told them was lost, a set of unknown make that is not read, or more of another library's than a sample takes") \
	X(71, PUBLISH_DEFERRED,    "publish_deferred",    INFO, "writes in a handler that the interrupted write published") \
	X(72, PUBLISH_HEALED,      "publish_healed",      INFO, "abandoned writes taken over") \
	X(73, OTEL_LEFT_OUT,       "otel_left_out",       INFO, "labels that did not fit in the OpenTelemetry record, or are not UTF-8") \
	X(74, OTEL_KEYS_FULL,      "otel_keys_full",      INFO, "label keys that found no room in the OpenTelemetry key map") \
	X(75, OTEL_FOREIGN,        "otel_foreign",        INFO, "threads whose OpenTelemetry context is another library's") \
	X(76, LABELS_INVALID,      "labels_invalid",      INFO, "labels refused: no key") \
	X(77, LABELS_LEFT_OUT,     "labels_left_out",     INFO, "labels of samples whose key is one too many for the file (64)") \
	X(78, CORO_SWITCHES,       "coro_switches",       INFO, "runs and waits of coroutines written to the events ring") \
	X(79, CORO_BLOCKS,         "coro_blocks",         INFO, "label blocks taken for coroutines") \
	X(80, CORO_NO_BLOCK,       "coro_no_block",       INFO, "labels of coroutines refused: no memory for a block") \
	X(81, CORO_UNORDERED,      "coro_unordered",      INFO, "coroutines resumed while they ran, or suspended while they did not") \
	X(82, EVENTS_STOLEN,       "events_stolen",       INFO, "events lost: left in a slot taken over before it was drained") \
	X(83, EVENTS_INVALID,      "events_invalid",      INFO, "events lost: the collector refused a malformed record") \
	X(84, EVENTS_NO_SLOT,      "events_no_slot",      INFO, "events lost: no free slot for the thread") \
	X(85, EVENTS_FILTERED,     "events_filtered",     INFO, "runs and waits of coroutines, and events, left out by --threads") \
	X(86, SAMPLES_UNSELECTED,  "samples_unselected",  INFO, "samples not taken: without context, and select is if-context") \
	X(87, EVENTS_UNSELECTED,   "events_unselected",   INFO, "events left out: without context, and select is if-context") \
	X(88, EVENTS_UNTRIGGERED,  "events_untriggered",  INFO, "contextual events left out: nothing happened in them, and select is if-triggered") \
	X(89, EVENTS_SHORT,        "events_short",        INFO, "events left out: below their threshold") \
	X(90, EVENTS_THROTTLED,    "events_throttled",    INFO, "events left out: throttled") \
	X(91, EVENT_TYPES_REFUSED, "event_types_refused", INFO, "event types refused: malformed, one too many, or the dictionary is full") \
	X(92, LOST_MISTIMED,       "mistimed",            LOST, "the collector refused a record of the future, or of before the process") \
	X(93, EVENTS_MISTIMED,     "events_mistimed",     INFO, "events lost: the collector refused a record of the future, or of before the process") \
	X(94, NOTIFY_FULL,         "notify_full",         INFO, "timers and queues whose threads (SIGEV_THREAD) are not hooked: too many functions") \
	X(95, CONTEXT_SELF_READ,   "context_self_read",   INFO, "reads of another library's context by process_vm_readv, in the handler")
/* clang-format on */

#define WEFT_COUNTER_ENUM(number, id, name, kind, text) WEFT_COUNTER_##id = number,
enum weft_counter { WEFT_COUNTERS(WEFT_COUNTER_ENUM) WEFT_COUNTER_COUNT = 96 };
#undef WEFT_COUNTER_ENUM

/** Room in the layout; WEFT_COUNTER_COUNT may grow up to it. */
#define WEFT_COUNTER_ROOM 96

#endif
