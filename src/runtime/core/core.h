/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ground of the runtime: the session's memory in this process, its slots, and a thread's own
 * words. It uses libc and the kernel only, and knows none of the rooms above, which are told of the
 * beginning and end of slots by a table (struct weft_part).
 *
 * Runs on whichever thread calls, in handlers too: no allocation, no lock that a handler could find
 * taken, no errno. A thread writes its own slot and no other's; words with several writers are
 * changed by compare-and-swap. After a death between any two stores the collector can clean up.
 *
 *   runtime.h            the state of this process; start here
 *   own.h                where a thread's own words lie
 *   seats.c              those words without static TLS
 *   guard.c              the word that a fork wipes
 *   session.c            make or map a session, and its settings of events
 *   slot.c               claim, prime, release a slot
 *   key.c                the end of a thread
 *   filters.c            system call filters that exec handed down
 *   fork.c               before, after, and the child
 *   copies.c             two copies act as one
 *   handling.h           handlers that run
 *   ring.c               append to a ring
 *   ring_append.h        a record written in place
 *   log.c                dictionary and module log
 *   modules.c            which modules are loaded
 *   maps.c               mappings, as /proc lists them, and which are ours
 *   account.c            CPU time used, at the end
 *   label_store.c        the twin sets of labels
 *   label_places.c       where a slot's sets lie
 *   coro_blocks.c        memory for labels of coroutines
 *   customlabels_meet.c  libcustomlabels-weft.so, found
 *   custom_labels.h      what both libraries agree on
 *   loaded_object.c      an object, read where it is mapped
 *   hook_groups.c        which groups of hooks are on
 *   real.c               libc's own functions
 *   sys.h                system calls, without libc
 *   time_source.c        the clock, without libc
 *   decimal.h            numbers in decimal, without loops
 */
#ifndef WEFT_RUNTIME_CORE_ROOM_H
#define WEFT_RUNTIME_CORE_ROOM_H

#endif
