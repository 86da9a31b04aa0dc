/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file session_log.h
 * Records of a session's two logs, dictionary and modules (session.h says where these lie). Host
 * endian. Writer: the runtime; reader: the collector.
 */
#ifndef WEFT_ABI_SESSION_LOG_H
#define WEFT_ABI_SESSION_LOG_H

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Dictionary and module logs: records one after the other, 8-aligned; a record exists when
 * the log's head has passed it. Written outside signal handlers under a private lock, and
 * copied once into the session of a forked child.
 */
enum weft_log_type {
	/* 1, 2 and 7: in the dictionary log; the others: in the module log */
	WEFT_LOG_STRING = 1,     /* id: as weft_tag_intern() gives it; data: the string's bytes */
	WEFT_LOG_TAG_NAME = 2,   /* id: tag number 0..9; data: its name */
	WEFT_LOG_MODULE = 3,     /* id: module; data: struct weft_log_module, then the path */
	WEFT_LOG_COMMAND = 4,    /* data: the process's command name */
	WEFT_LOG_LOADED = 5,     /* id: module; data: struct weft_log_loaded, then the path; or, for
				  * one that is here again, its first two fields alone */
	WEFT_LOG_GONE = 6,       /* id: module; data: the first two fields of weft_log_loaded */
	WEFT_LOG_EVENT_TYPE = 7, /* id: number of the type; data: see abi/events.h */
};

struct weft_log_record {
	uint32_t bytes;      /* 0x00 whole record, multiple of 8 */
	uint16_t type;       /* 0x04 enum weft_log_type */
	uint16_t rsv;        /* 0x06 */
	uint32_t id;         /* 0x08 */
	uint32_t data_bytes; /* 0x0C bytes that follow, not padded */
};

struct weft_log_module {
	uint64_t bias;  /* 0x00 what to add to an address in the file's program headers */
	uint64_t start; /* 0x08 lowest mapped address */
	uint64_t end;   /* 0x10 one past the highest */
};

/**
 * The process looks at what it has loaded before and after each dlclose. A module was loaded (or
 * unloaded) between two such looks, whose times are since_ns and at_ns, CLOCK_MONOTONIC.
 */
struct weft_log_loaded {
	uint64_t since_ns;      /* 0x00 the look before: it was not loaded (GONE: it was) */
	uint64_t at_ns;         /* 0x08 this look */
	uint64_t bias;          /* 0x10 as in struct weft_log_module */
	uint64_t start, end;    /* 0x18 */
	uint64_t device, inode; /* 0x28 of its file, as stat(2) tells them; 0 = not known */
};
#define WEFT_LOG_LOADED_AGAIN_BYTES 16

WEFT_ABI_ASSERT(sizeof(struct weft_log_record) == 16, "log record");
WEFT_ABI_OFFSET(weft_log_record, bytes, 0x00);
WEFT_ABI_OFFSET(weft_log_record, type, 0x04);
WEFT_ABI_OFFSET(weft_log_record, id, 0x08);
WEFT_ABI_OFFSET(weft_log_record, data_bytes, 0x0C);
WEFT_ABI_ASSERT(sizeof(struct weft_log_module) == 24, "log module");
WEFT_ABI_ASSERT(sizeof(struct weft_log_loaded) == 56, "log loaded");

#ifdef __cplusplus
}
#endif
#endif
