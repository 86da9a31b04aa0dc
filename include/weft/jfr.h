/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file jfr.h
 * libweft-jfr: writes and reads JDK Flight Recorder files (format 2.x).
 *
 * Writing: create a writer, declare event types, obtain ids for what goes into constant
 * pools (strings, threads, stacks), put events, close. A chunk reaches the file only when
 * it is whole, so the file opens after a crash at any moment, and a full disk costs at
 * most the chunk that did not fit.
 *
 *	struct weft_jfr_options opt = { .size = sizeof(opt), .path = "out.jfr" };
 *	struct weft_jfr_writer *w = weft_jfr_create(&opt);
 *	struct weft_jfr_type *type = weft_jfr_type(w, &(struct weft_jfr_type_def){ ... });
 *	uint64_t thread = weft_jfr_thread(w, &(struct weft_jfr_thread){ ... });
 *	struct weft_jfr_value v[] = { ... };
 *	weft_jfr_event(w, type, v, 4);
 *	int rc = weft_jfr_close(w);
 *
 * Ids are valid for the whole recording (of stacks: until weft_jfr_forget_stacks(), of threads:
 * until weft_jfr_keep_threads() leaves them out): no id is ever given to a second value. Times are
 * CLOCK_MONOTONIC nanoseconds; ticks per second are 1 000 000 000.
 *
 * Reading: weft_jfr_open(), then weft_jfr_next() until it returns 0; fields are found by name in
 * the file's own metadata.
 *
 * One writer or reader is used by one thread at a time. Nothing here is safe in a signal
 * handler. Functions that return int give 0 or a positive number, or -errno; functions
 * that return pointers give NULL with errno set. Format: docs/jfr.md.
 */
#ifndef WEFT_JFR_H
#define WEFT_JFR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef WEFT_JFR_API
#define WEFT_JFR_API __attribute__((visibility("default")))
#endif

/* ------------------------------------------------------------------ writing */

struct weft_jfr_writer;
struct weft_jfr_type; /* a declared event type; owned by the writer */

struct weft_jfr_options {
	size_t size;          /* sizeof(struct weft_jfr_options) */
	const char *path;     /* created with mode 0600; replaced if it exists */
	uint64_t chunk_ns;    /* a chunk is whole after this time; 0 = 10 s */
	uint64_t chunk_bytes; /* or at this size, which is below 1 GiB; 0 = 16 MiB */
	/*
	 * Start of the recording, CLOCK_MONOTONIC; 0 = now. When it is given, the writer asks
	 * no clock: time moves by weft_jfr_rotate() and the start times of events.
	 */
	uint64_t start_mono_ns;
	uint64_t start_real_ns; /* the same moment, CLOCK_REALTIME; 0 = from both clocks now */
	/*
	 * Limits of the file; 0 = none. Whole chunks are dropped, the oldest first, when the file
	 * would get larger than max_bytes, or when they ended more than max_age_ns before the
	 * newest chunk's end. The file is never larger than max_bytes, unless one chunk alone is;
	 * once it has been that large, it is not cut below three quarters of it, less a chunk.
	 * Chunks that are too old may stay while they are less than a third of the size of the
	 * others; weft_jfr_close() drops them.
	 *
	 * To drop chunks, the others are copied to a new file, which then takes the name (rename):
	 * at every moment a whole file stands under it. So the directory must be writable and have
	 * room for the second file; a reader that has the old one open sees no more chunks; and
	 * on average each byte is written four times (by copy_file_range(2), which on some file
	 * systems copies nothing). With a limit weft_jfr_create() refuses what is no regular file,
	 * and the name of a descriptor (ESPIPE). Where the disk has no room for so much twice, less
	 * is kept; where chunks cannot be dropped at all, the file grows, and weft_jfr_written()
	 * and weft_jfr_close() say why.
	 */
	uint64_t max_bytes, max_age_ns;
};

/** Kinds of field: what its value is. */
enum weft_jfr_kind {
	WEFT_JFR_BOOLEAN = 1,
	WEFT_JFR_BYTE,
	WEFT_JFR_CHAR,
	WEFT_JFR_SHORT,
	WEFT_JFR_INT,
	WEFT_JFR_LONG,
	WEFT_JFR_FLOAT,
	WEFT_JFR_DOUBLE,
	WEFT_JFR_STRING, /* inline or pooled */
	WEFT_JFR_THREAD, /* id from weft_jfr_thread() */
	WEFT_JFR_STACK,  /* id from weft_jfr_stack() */
	WEFT_JFR_STATE,  /* enum weft_jfr_thread_state; 0 = none */
};

/** How tools should understand a field: each bit is an annotation in the metadata. */
enum weft_jfr_field_flag {
	WEFT_JFR_CONTEXTUAL = 1 << 0,    /* @jdk.jfr.Contextual */
	WEFT_JFR_TIMESTAMP = 1 << 1,     /* @Timestamp("TICKS") */
	WEFT_JFR_TIMESPAN = 1 << 2,      /* @Timespan("TICKS") */
	WEFT_JFR_TIMESPAN_NS = 1 << 3,   /* @Timespan("NANOSECONDS") */
	WEFT_JFR_UNSIGNED = 1 << 4,      /* @Unsigned */
	WEFT_JFR_BYTES = 1 << 5,         /* @DataAmount("BYTES") */
	WEFT_JFR_ADDRESS = 1 << 6,       /* @MemoryAddress */
	WEFT_JFR_PERCENTAGE = 1 << 7,    /* @Percentage */
	WEFT_JFR_KEY = 1 << 8,           /* @weft.Key(label): the field is that label's */
	WEFT_JFR_TIMESPAN_MS = 1 << 9,   /* @Timespan("MILLISECONDS") */
	WEFT_JFR_TIMESTAMP_MS = 1 << 10, /* @Timestamp("MILLISECONDS_SINCE_EPOCH") */
	WEFT_JFR_BITS = 1 << 11,         /* @DataAmount("BITS") */
	WEFT_JFR_FREQUENCY = 1 << 12,    /* @Frequency: hertz */
	WEFT_JFR_EXPERIMENTAL = 1 << 13, /* @Experimental */
};

struct weft_jfr_field {
	const char *name; /* a Java identifier */
	enum weft_jfr_kind kind;
	unsigned int flags;      /* enum weft_jfr_field_flag */
	const char *label;       /* NULL = none */
	const char *description; /* NULL = none */
};

enum weft_jfr_type_flag {
	WEFT_JFR_TYPE_CONTEXTUAL = 1 << 0, /* @jdk.jfr.Contextual on the type */
	WEFT_JFR_TYPE_EXPERIMENTAL = 1 << 1,
	/** Another type of this name, with other fields, may be declared beside it: two programs
	 * may mean different things by one name, as classes of two loaders do. */
	WEFT_JFR_TYPE_TWIN = 1 << 2,
};

/** A setting that a type declares in its metadata. */
struct weft_jfr_type_setting {
	const char *name;          /* "enabled", "threshold", "stackTrace", "select", ... */
	const char *default_value; /* NULL = none */
};

/**
 * An event type. Fields are written in the order given and none is added: a type that
 * wants startTime, duration, eventThread or stackTrace lists them (in this order, first). At most
 * 256 fields, no name twice.
 */
struct weft_jfr_type_def {
	const char *name;            /* "weft.Span" */
	const char *label;           /* NULL = none */
	const char *description;     /* NULL = none */
	const char *const *category; /* outermost first, NULL-terminated; NULL = none */
	unsigned int flags;          /* enum weft_jfr_type_flag */
	const struct weft_jfr_field *fields;
	size_t field_count;
	const struct weft_jfr_type_setting *settings; /* NULL = none */
	size_t setting_count;
};

struct weft_jfr_string { /* bytes, UTF-8; invalid sequences are replaced on writing */
	const char *data;
	size_t bytes;
};

struct weft_jfr_thread {
	int64_t os_id;         /* gettid() */
	const char *name;      /* osName; NULL = "" */
	const char *java_name; /* NULL = none */
	int64_t java_id;       /* 0 = none */
	const char *group;     /* name of the thread group: "name [pid]"; NULL = none */
};

/** Frame types; the numbers are the keys written. */
enum weft_jfr_frame_type {
	WEFT_JFR_FRAME_INTERPRETED = 0,
	WEFT_JFR_FRAME_JIT = 1,
	WEFT_JFR_FRAME_INLINED = 2,
	WEFT_JFR_FRAME_NATIVE = 3,
	WEFT_JFR_FRAME_CPP = 4,
	WEFT_JFR_FRAME_KERNEL = 5,
};

struct weft_jfr_frame {
	uint64_t method;        /* id from weft_jfr_method() */
	int32_t line;           /* 0 = not known */
	int32_t bytecode_index; /* native: offset of the code in its function, 0 = not known */
	enum weft_jfr_frame_type type;
};

enum weft_jfr_thread_state {
	WEFT_JFR_STATE_DEFAULT = 1,         /* STATE_DEFAULT */
	WEFT_JFR_STATE_RUNNABLE = 2,        /* STATE_RUNNABLE */
	WEFT_JFR_STATE_SLEEPING = 3,        /* STATE_SLEEPING */
	WEFT_JFR_STATE_UNINTERRUPTIBLE = 4, /* STATE_UNINTERRUPTIBLE */
	WEFT_JFR_STATE_WAITING_FOR_CPU = 5, /* STATE_WAITING_FOR_CPU */
};

/** One field's value; the member that matches the field's kind is read. */
struct weft_jfr_value {
	int64_t number;                /* BOOLEAN .. LONG, THREAD, STACK, STATE */
	double real;                   /* FLOAT, DOUBLE */
	struct weft_jfr_string string; /* STRING; data NULL = null */
};

/**
 * weft_jfr_create() - start a recording. NULL with errno (of open(2), or EINVAL, ENOMEM).
 * An older regular file of that name is replaced, unless another writer has it (EBUSY); a symbolic
 * link to a file is refused (ELOOP); a pipe or device is written as it is: of a pipe without a
 * reader one is waited for, until a signal (EINTR). /dev/fd/N is the caller's descriptor, which is
 * written from where it stands. Before the first event a chunk without events
 * is written, so that the file opens from then on: declare the types first, for tools look there
 * for the types that a file has.
 */
WEFT_JFR_API struct weft_jfr_writer *weft_jfr_create(const struct weft_jfr_options *options);

/**
 * weft_jfr_type() - declare an event type. Any time; it is in the metadata of this chunk
 * and every later one. Declaring the same name and fields again returns the same type;
 * the same name with other fields is NULL with EEXIST, unless both are WEFT_JFR_TYPE_TWIN. Labels,
 * categories and settings are those of the first declaration. @def is copied. NULL also with
 * EINVAL (malformed, or a standard type's name with other fields) or ENOMEM.
 */
WEFT_JFR_API struct weft_jfr_type *weft_jfr_type(struct weft_jfr_writer *w,
						 const struct weft_jfr_type_def *def);

/** Types that tools know by name, with these fields. */
enum weft_jfr_standard {
	/* jdk.ExecutionSample, its thread field named eventThread: startTime, eventThread,
	 * stackTrace, state */
	WEFT_JFR_EXECUTION_SAMPLE,
	WEFT_JFR_ACTIVE_SETTING, /* jdk.ActiveSetting: startTime, id (of a type), name, value */
	/* profiler.WallClockSample, as async-profiler has it, its thread field named
	 * eventThread: startTime, eventThread, stackTrace, state, samples */
	WEFT_JFR_WALL_CLOCK_SAMPLE,
};
/** weft_jfr_standard_type() - declare one of them, as weft_jfr_type(). */
WEFT_JFR_API struct weft_jfr_type *weft_jfr_standard_type(struct weft_jfr_writer *w,
							  enum weft_jfr_standard which);

/** weft_jfr_type_id() - the number that the file gives the type. Never fails. */
WEFT_JFR_API int64_t weft_jfr_type_id(const struct weft_jfr_type *type);

/**
 * Ids of entries in constant pools; 0 with errno ENOMEM. Arguments are copied. Equal arguments
 * give equal ids, but weft_jfr_thread() with @fresh always gives a new one: a thread id that the
 * kernel uses again is another thread.
 * weft_jfr_method(): @module becomes the class, "" or NULL = not known (JIT code); @function is the
 * demangled name. Both are written so that no reader sees a null descriptor, type or name, nor a
 * class that begins with a bracket, which readers take for an array ("[vdso]" becomes "<vdso>").
 * weft_jfr_stack(): @frames from the leaf outwards, @truncated: there were more. Frames beyond
 * 16384 are cut off. EINVAL for a frame with an unknown method or type.
 */
WEFT_JFR_API uint64_t weft_jfr_thread(struct weft_jfr_writer *w,
				      const struct weft_jfr_thread *thread, int fresh);
WEFT_JFR_API uint64_t weft_jfr_method(struct weft_jfr_writer *w, const char *module,
				      const char *function);
WEFT_JFR_API uint64_t weft_jfr_stack(struct weft_jfr_writer *w, const struct weft_jfr_frame *frames,
				     size_t count, int truncated);

/**
 * weft_jfr_method_in() - as weft_jfr_method(), for a function whose source file is known: the lines
 * of its frames are lines of @file, a path (NULL = not known). Functions of one name in several
 * files are several methods. The path is written as the method's descriptor: docs/jfr.md.
 */
WEFT_JFR_API uint64_t weft_jfr_method_in(struct weft_jfr_writer *w, const char *module,
					 const char *function, const char *file);

/**
 * weft_jfr_forget_stacks() - give back the memory of all stacks: the ids given so far are not
 * valid any more, and none of them comes again. Only while the open chunk has no event
 * yet, as right after weft_jfr_rotate(); else -EBUSY.
 */
WEFT_JFR_API int weft_jfr_forget_stacks(struct weft_jfr_writer *w);

/**
 * weft_jfr_keep_threads() - give back the memory of all threads but those of the @count @ids, which
 * come in any order, and of groups that none of these has: the other ids are not valid any more,
 * and none of them comes again. Only while the open chunk has no event yet; else -EBUSY. -ENOMEM:
 * all threads, or all groups, are kept.
 */
WEFT_JFR_API int weft_jfr_keep_threads(struct weft_jfr_writer *w, const uint64_t *ids,
				       size_t count);

/**
 * weft_jfr_event() - put one event. @values: one for each field of the type, in order.
 * Strings are copied (up to 64 bytes inline, longer ones pooled once per chunk). May
 * complete a chunk, by size. Cost: tens of nanoseconds, more when an id is new to the chunk.
 * Returns 0; -EINVAL when @count is not the type's, or an id or a state is unknown, -EMSGSIZE for a
 * string over 1 MiB: nothing is put; -ENOMEM: this event, or the chunk that was full, is lost and
 * counted; else -errno of writing the chunk that was full: its events are lost and counted, this
 * one is in the next chunk. After each of these the writer can still be used.
 */
WEFT_JFR_API int weft_jfr_event(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
				const struct weft_jfr_value *values, size_t count);

/**
 * weft_jfr_rotate() - end the chunk now if @force, or if it has events and its time or
 * size is reached at @now_ns (CLOCK_MONOTONIC). Returns 1 when a chunk was written, 0 when
 * not, -errno of writing it as weft_jfr_event(). Call it at least once in chunk_ns.
 */
WEFT_JFR_API int weft_jfr_rotate(struct weft_jfr_writer *w, uint64_t now_ns, int force);

/**
 * weft_jfr_retire() - leave @type out of later chunks; its name may then be declared with
 * other fields (a reader takes each chunk's fields from that chunk's own metadata). Only while
 * the open chunk has no event yet, as right after weft_jfr_rotate(); else -EBUSY. After 0, @type
 * must not be used again.
 */
WEFT_JFR_API int weft_jfr_retire(struct weft_jfr_writer *w, struct weft_jfr_type *type);

/** Bytes and events that reached the file, and events lost with chunks that did not. */
struct weft_jfr_written {
	uint64_t bytes, chunks, events, events_lost;
	uint64_t open_bytes; /* size that the open chunk has by now */
	/* How much of these was dropped again, by max_bytes and max_age_ns. */
	uint64_t dropped_bytes, dropped_chunks, dropped_events;
	int limit_error; /* -errno: chunks should have been dropped and could not be; else 0 */
};
WEFT_JFR_API void weft_jfr_written(const struct weft_jfr_writer *w, struct weft_jfr_written *out);

/**
 * weft_jfr_end() - write the last chunk and fsync. 0 or -errno. After it nothing but
 * weft_jfr_written() and weft_jfr_close() may be called.
 */
WEFT_JFR_API int weft_jfr_end(struct weft_jfr_writer *w);

/**
 * weft_jfr_close() - write the last chunk, fsync, unless weft_jfr_end() did, and free. Takes NULL.
 * 0 or -errno: of this chunk, of the fsync, or of a limit that could not be kept.
 */
WEFT_JFR_API int weft_jfr_close(struct weft_jfr_writer *w);

/* ------------------------------------------------------------------ reading */

struct weft_jfr_reader;
struct weft_jfr_class; /* a type of the file's metadata; owned by the reader */

/**
 * A decoded value (struct weft_jfr_node) is one of these. What belongs to the event lives until
 * the next event is read; what a constant-pool reference leads to, until the chunk is left.
 * References are followed when decoding, each entry once per chunk; one that leads nowhere, back
 * to itself or too deep is WEFT_JFR_V_NULL with its pool_key. So there are no cycles; but entries
 * are shared, and in a hostile file a generic walk can take exponential time: bound its steps.
 */
enum weft_jfr_shape {
	WEFT_JFR_V_NULL,
	WEFT_JFR_V_NUMBER, /* boolean .. long */
	WEFT_JFR_V_REAL,   /* float, double */
	WEFT_JFR_V_STRING,
	WEFT_JFR_V_STRUCT, /* fields of a struct or of a constant-pool entry */
	WEFT_JFR_V_ARRAY,
};

struct weft_jfr_node {
	enum weft_jfr_shape shape;
	const struct weft_jfr_class *type;
	uint64_t pool_key;    /* of a constant-pool reference; else 0 */
	__extension__ union { /* nameless: C11, and an extension in C99 and C++ */
		int64_t number;
		double real;
		struct weft_jfr_string string;
		struct {
			const struct weft_jfr_node *item; /* [count] */
			size_t count;
		} many; /* STRUCT: in order of the type's fields; ARRAY: elements */
	};
};

struct weft_jfr_event_view {
	const struct weft_jfr_class *type;
	uint64_t bytes;      /* size of the event in the file */
	uint64_t chunk;      /* number of its chunk, from 0 */
	int64_t start_ns;    /* epoch nanoseconds; INT64_MIN when it has no startTime */
	int64_t duration_ns; /* 0 when it has none */
	const struct weft_jfr_node *fields; /* as the type's fields */
	size_t field_count;
	uint64_t offset;                     /* of the event in the file (unpacked) */
	int64_t start_ticks, duration_ticks; /* as they stand in the file; 0 when it has none */
};

/**
 * weft_jfr_open() - open a recording for reading. NULL with errno: of open(2), EISDIR,
 * ESPIPE (neither file nor directory), EBADMSG (not a JFR file), EPROTONOSUPPORT (version), ENOMEM.
 * Reads any complete JFR 1.x/2.x file. The file is mapped: whoever cuts it shorter meanwhile kills
 * the reader by SIGBUS. weft_jfr_reader_free() takes NULL.
 * A file that is packed by gzip (of any number of members), zip (its first entry named *.jfr,
 * else the first), LZ4 or zstd is first unpacked, into a temporary file without a name in
 * $TMPDIR or /tmp: EOPNOTSUPP (the library was built without it), EFBIG (unpacked over 8 GiB, or
 * over 200 times its size and over 64 MiB). If it is cut short, weft_jfr_next() gives what came
 * before the cut, then -EBADMSG. Offsets in weft_jfr_error() are those of the unpacked recording.
 */
WEFT_JFR_API struct weft_jfr_reader *weft_jfr_open(const char *path);
WEFT_JFR_API void weft_jfr_reader_free(struct weft_jfr_reader *r);

/**
 * weft_jfr_next() - the next event, in file order (not always in order of time). 1: @view is
 * filled and valid until the next call; 0: end of a whole file; -EBADMSG: the rest is
 * truncated or damaged (what came before is good), or -ENOMEM: weft_jfr_error() tells where
 * and why, and every later call returns the same. Events of types that the metadata does not
 * declare are passed over, metadata and checkpoints too.
 */
WEFT_JFR_API int weft_jfr_next(struct weft_jfr_reader *r, struct weft_jfr_event_view *view);

/**
 * weft_jfr_next_here() - as weft_jfr_next(), but returns 0 at the end of the open chunk, which
 * stays open until weft_jfr_next() is called, and 0 if no chunk is open.
 */
WEFT_JFR_API int weft_jfr_next_here(struct weft_jfr_reader *r, struct weft_jfr_event_view *view);

/**
 * weft_jfr_again() - decodes an event of the open chunk once more, by the offset that its view
 * told, so that a chunk's events can be read in any order; also one that the filter skips, and
 * after damage further on. The next weft_jfr_next() is not affected. 1: @view is filled and valid
 * until the next call; -EBADMSG: there is none, or it is damaged; -ENOMEM. Damage that it finds,
 * and want of memory, are final for weft_jfr_next(), too.
 */
WEFT_JFR_API int weft_jfr_again(struct weft_jfr_reader *r, uint64_t offset,
				struct weft_jfr_event_view *view);

/**
 * weft_jfr_filter() - decode only the events for whose type @wanted(type, arg) returns true; NULL =
 * all. The others come, too, with type, size and times, but with fields NULL.
 */
WEFT_JFR_API void weft_jfr_filter(struct weft_jfr_reader *r,
				  int (*wanted)(const struct weft_jfr_class *type, void *arg),
				  void *arg);

/** Why weft_jfr_next() failed: "at byte 4711: chunk is cut short"; "" when it did not. */
WEFT_JFR_API const char *weft_jfr_error(const struct weft_jfr_reader *r);

/*
 * Classes live as long as the reader, and so do their names. Chunks whose metadata is the same
 * share them; a file whose metadata changes has several classes of one name.
 * weft_jfr_class_field(): the name of a field; NULL: there is none of that index.
 */
WEFT_JFR_API const char *weft_jfr_class_name(const struct weft_jfr_class *c);
WEFT_JFR_API int64_t weft_jfr_class_id(const struct weft_jfr_class *c);
WEFT_JFR_API size_t weft_jfr_class_fields(const struct weft_jfr_class *c);
WEFT_JFR_API const char *weft_jfr_class_field(const struct weft_jfr_class *c, size_t index);
/** Index of the field of this name; -ENOENT: there is none. */
WEFT_JFR_API int weft_jfr_class_find(const struct weft_jfr_class *c, const char *field);
/** Does the type (field = NULL) or one of its fields carry this annotation? 1 or 0. */
WEFT_JFR_API int weft_jfr_class_annotated(const struct weft_jfr_class *c, const char *field,
					  const char *annotation);
/** The annotation's value; "" = it has none, NULL = it is not there. */
WEFT_JFR_API const char *weft_jfr_class_annotation(const struct weft_jfr_class *c,
						   const char *field, const char *annotation);
/** Field of a STRUCT node by name; NULL when absent. */
WEFT_JFR_API const struct weft_jfr_node *weft_jfr_get(const struct weft_jfr_node *n,
						      const char *field);
/** Field of an event by name; NULL when absent. */
WEFT_JFR_API const struct weft_jfr_node *weft_jfr_event_get(const struct weft_jfr_event_view *e,
							    const char *field);
/**
 * All event types declared so far, one for each name, the latest (for summaries). Returns
 * their number; *@out is valid until the next weft_jfr_next().
 */
WEFT_JFR_API size_t weft_jfr_event_types(const struct weft_jfr_reader *r,
					 const struct weft_jfr_class *const **out);

/**
 * weft_jfr_ticks_ns() - a number of ticks (a field annotated @Timespan("TICKS")) of the
 * event that weft_jfr_next() gave last, in nanoseconds. Never fails; saturates.
 */
WEFT_JFR_API int64_t weft_jfr_ticks_ns(const struct weft_jfr_reader *r, int64_t ticks);

/*
 * Introspection: everything that the metadata says of a type. Arrays and texts live as long as
 * the reader.
 */
struct weft_jfr_field_view {
	const char *name;
	const struct weft_jfr_class *type; /* of the field, of its elements; NULL = not declared */
	int is_array, is_pooled; /* 0 or 1; pooled: its values are constant-pool references */
};

struct weft_jfr_annotation_view {
	const char *name;                  /* of its type; NULL = not declared */
	const struct weft_jfr_class *type; /* NULL = not declared */
	/* [count] Name and value of each member, as text; an array has an entry per element. */
	const char *const *member, *const *value;
	size_t count;
};

struct weft_jfr_setting_view {
	const char *name;
	const struct weft_jfr_class *type; /* NULL = not declared */
	const char *default_value;         /* NULL = none */
};

/** Its super type's name, "jdk.jfr.Event", "java.lang.annotation.Annotation" ...; "" = none. */
WEFT_JFR_API const char *weft_jfr_class_super(const struct weft_jfr_class *c);
/** 1: its values are written as their only field alone (simpleType in the metadata); else 0. */
WEFT_JFR_API int weft_jfr_class_is_simple(const struct weft_jfr_class *c);
/** 0; -ENOENT: it has no field of that index. */
WEFT_JFR_API int weft_jfr_class_field_view(const struct weft_jfr_class *c, size_t index,
					   struct weft_jfr_field_view *out);
/** Annotations, in order, of the type (@field SIZE_MAX) or of that field. Their number. */
WEFT_JFR_API size_t weft_jfr_class_annotations(const struct weft_jfr_class *c, size_t field,
					       const struct weft_jfr_annotation_view **out);
/** The settings that the type declares, in order. Returns their number. */
WEFT_JFR_API size_t weft_jfr_class_settings(const struct weft_jfr_class *c,
					    const struct weft_jfr_setting_view **out);
/** All classes that the open chunk's metadata declares, in its order; until the next chunk. */
WEFT_JFR_API size_t weft_jfr_classes(const struct weft_jfr_reader *r,
				     const struct weft_jfr_class *const **out);

struct weft_jfr_chunk_view {
	uint64_t number, offset, bytes;        /* number: from 0; offset: in the file (unpacked) */
	int64_t start_ns, duration_ns;         /* start: since the epoch */
	int64_t start_ticks, ticks_per_second; /* of the clock of the chunk's events */
	unsigned int major, minor, flags;      /* as in the chunk's header (docs/jfr.md) */
	int32_t gmt_offset_s; /* of the zone that it was recorded in, summer time included */
};
/** The open chunk: that of the event that weft_jfr_next() gave last. 0; -ENOENT: none is open. */
WEFT_JFR_API int weft_jfr_chunk(const struct weft_jfr_reader *r, struct weft_jfr_chunk_view *out);

/**
 * weft_jfr_open_follow() - open a recording that is being written, by weft (whose file grows by
 * whole chunks) or by a JVM (whose last chunk is open and grows by flushes). The file may still be
 * empty. Errors as weft_jfr_open(); a packed file is read as there.
 * weft_jfr_next() then returns -EAGAIN where the next chunk or flush is not there yet, and may be
 * called again later; 0 after the chunk that says that it is the recording's last one. If another
 * file takes the name (max_bytes), reading goes on in that one, after what was read.
 * weft_jfr_follow_ends() - the writer is known to have gone: instead of -EAGAIN weft_jfr_next()
 * returns 0, or -EBADMSG if a part of a chunk follows the last whole one or the last flush.
 */
WEFT_JFR_API struct weft_jfr_reader *weft_jfr_open_follow(const char *path);
WEFT_JFR_API void weft_jfr_follow_ends(struct weft_jfr_reader *r);

/** From when to when the chunks read so far reach: first start, last end; ns since the epoch. */
WEFT_JFR_API void weft_jfr_span(const struct weft_jfr_reader *r, int64_t *start_ns,
				int64_t *end_ns);

#ifdef __cplusplus
}
#endif
#endif
