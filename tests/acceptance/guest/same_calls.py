#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""same_calls.py BARE RECORDED TABLES_OPENED [ANSWER]: compares two runs of a program by what
strace saw.

BARE and RECORDED are what `strace -ff -o NAME` was told: each thread has a file of its own,
NAME.TID. A thread says in a write to descriptor -1 "begin WHO" and "end WHO"; those that do not
are left out. In between both runs must make the same calls with the same arguments and results;
only addresses, numbers of threads and points in time may differ. What the recorded run may have
besides is: signal SIGPROF from a timer, rt_sigreturn, timer_*, an mprotect for each time that
more of the unwind tables was opened, a getrusage behind a tick, and in a row the calls that open
a thread's hrtimer (perf_event_open to close) or close it (munmap of its page), with its SIGURG, at
which the thread's CPU time is asked for.
Before and after, what the bare run does must be there, in
its order; what is more is listed (start) or must be a timer_delete or so (end).

Traced, a thread stops at the entry of each call, and a tick of its timer that came just before is
told there: then the call is cut short. Each one that is must have that tick behind it, and stands
for the whole call, or is one more if it was made anew. ANSWER, what the recorded run printed
(lines "WHO waits=N eintr=N early=N failed=N"), must not count more than strace saw of WHO.
"""
import collections
import glob
import re
import sys

OURS = re.compile(r"^(--- SIGPROF \{.*si_code=SI_TIMER|--- SIGURG \{.*si_code=(POLL_IN|0x1),|rt_sigreturn\(|timer_"
                  r"|getrusage\(RUSAGE_THREAD|rt_sigaction\(SIGURG, NULL|hrtimer\("
                  r"|clock_gettime\(PTR /\* CLOCK_\?\?\? \*/"
                  r"|rt_sigtimedwait\(\[URG\], (.*EAGAIN|\{si_signo=SIGURG, si_code=(POLL_IN|0x1),)"
                  r"|ioctl\(\d+, PERF_EVENT_IOC_ID|fcntl\(\d+, F_GETSIG\))")
CPU_TIME = re.compile(r"clock_gettime\(PTR /\* CLOCK_\?\?\? \*/")
OPENING = [re.compile(p) for p in (
    r"perf_event_open\(\{type=PERF_TYPE_SOFTWARE, .*exclude_kernel=1", r"fcntl\(\d+, F_SETOWN_EX, ",
    r"fcntl\(\d+, F_SETSIG, SIGURG", r"fcntl\(\d+, F_SETFL, O_RDWR\|(O_ASYNC|FASYNC)",
    r"mmap\(NULL, 4096, PROT_READ, MAP_SHARED, \d+, 0\)",
    r"ioctl\(\d+, PERF_EVENT_IOC_ENABLE, ", r"close\(\d+\)")]
PAGE_GONE = re.compile(r"munmap\(PTR, 4096\) = 0")
TICK = re.compile(r"^--- SIGPROF \{.*si_code=SI_TIMER")
CUT_SHORT = re.compile(r"^(?!rt_sigreturn\().* = (-1 EINTR|\? ERESTART)")
# Whether a lock is met taken, where memory lies and who allocates first: chance, but in the middle.
CHANCE = re.compile(r"^(futex|restart_syscall|brk|munmap|madvise|getrandom|exit_group|\+\+\+)")
# What ld.so takes for the threads' words: more where a library has some of its own.
ANONYMOUS = re.compile(r"^(mmap\(NULL, )\d+(, .*MAP_ANONYMOUS)")
# libc's own locks, met taken by two of the program's threads.
LOCK = re.compile(r"^futex\(PTR, FUTEX_(WAIT_PRIVATE, 2, NULL|WAKE_PRIVATE, 1)\)")
# Only these tell of threads: elsewhere such a number may be a size.
OF_THREADS = re.compile(r"^(---|v?fork|clone|set_tid_|get(t|p|pp)id|t?g?kill|wait|futex|timer_create)")
AT_END = {"clock_gettime", "hrtimer", "getrusage", "ioctl", "fcntl", "rt_sigaction", "timer_delete", "rt_sigprocmask", "rt_sigreturn", "munmap", "futex", "madvise",
          "timer_settime", "timer_create"}


def normalised(line, tids):
    line = re.sub(r"\s+=\s+", " = ", line.rstrip())
    line = re.sub(r"0x[0-9a-f]{4,}", "PTR", line)
    line = re.sub(r"tv_sec=\d{4,}, tv_nsec=\d+", "TIME", line)
    line = re.sub(r"^((?:semget|msgget)\(.* = )\d+", r"\1ID", line)
    line = re.sub(r"^((?:semtimedop|semctl|msgrcv|msgsnd|msgctl)\()\d+", r"\1ID", line)
    if not OF_THREADS.match(line):
        return line
    return re.sub(r"\b\d{3,}\b", lambda m: "TID" if m.group() in tids else m.group(), line)


def threads(prefix):
    """who -> (start, main part, end), each a list of calls."""
    files = glob.glob(glob.escape(prefix) + ".*")
    tids = {f.rsplit(".", 1)[1] for f in files}
    found = {}
    for f in files:
        with open(f, errors="replace") as text:
            lines = text.read().splitlines()
        execs = [i for i, l in enumerate(lines) if l.startswith("execve(") and l.endswith("= 0")]
        if execs:
            lines = lines[execs[-1] + 1:]
        begin = [(i, m.group(1)) for i, l in enumerate(lines)
                 if (m := re.match(r'write\(-1, "begin ([^"]*)"', l))]
        end = [i for i, l in enumerate(lines) if l.startswith('write(-1, "end ')]
        if len(begin) != 1 or len(end) != 1:
            continue
        calls = with_hrtimers([normalised(l, tids) for l in lines])
        at = next(i for i, l in enumerate(calls) if l.startswith('write(-1, "begin '))
        last = next(i for i, l in enumerate(calls) if l.startswith('write(-1, "end '))
        found[begin[0][1]] = (calls[:at], calls[at + 1:last], calls[last + 1:])
    return found


def with_hrtimers(calls):
    """The calls that open and close a thread's hrtimer as one each: hrtimer(open), hrtimer(close)."""
    out, i, opened = [], 0, 0
    while i < len(calls):
        row = calls[i:i + len(OPENING) + 1]
        asks = len(row) > 5 and CPU_TIME.match(row[5]) is not None  # at a first gap
        row = row[:5] + row[6:] if asks else row[:len(OPENING)]
        if len(row) == len(OPENING) and all(p.match(c) for p, c in zip(OPENING, row)):
            out.append("hrtimer(open)")
            opened += 1
            i += len(OPENING) + asks
        elif opened and PAGE_GONE.match(calls[i]):
            out.append("hrtimer(close)")
            opened -= 1
            i += 1
        else:
            out.append(calls[i])
            i += 1
    return out


def name(call):
    return call.split("(", 1)[0]


def without_result(call):
    return call.rpartition(" = ")[0]


def cut_by_ticks(who, calls):
    """The calls without those that a tick cut short, and these, counted; None: another cause."""
    rest, cut = [], collections.Counter()
    for call, after in zip(calls, calls[1:] + [""]):
        if not CUT_SHORT.match(call):
            rest.append(call)
        elif TICK.match(after):
            cut[without_result(call)] += 1
        else:
            print(f"{who}: cut short, and by no tick: {call}, then {after}")
            return None, cut
    return rest, cut


def main_part(who, bare, recorded, spare, cut):
    """The recorded run's own, with ours taken out; counts of ours."""
    bare = [call for call in bare if not LOCK.match(call)]
    recorded = [call for call in recorded if not LOCK.match(call)]
    ours = collections.Counter()
    rest = []
    for call in recorded:
        if OURS.match(call):
            ours["SIGPROF" if call.startswith("---") else name(call)] += 1
        else:
            rest.append(call)
    left = []
    cut = cut.copy()
    wanted = iter(bare)
    want = next(wanted, None)
    for call in rest + [None]:
        while want is not None and call != want and cut[without_result(want)] > 0:
            cut[without_result(want)] -= 1
            want = next(wanted, None)
        if call is None:
            break
        if call == want:
            want = next(wanted, None)
        elif name(call) == "mprotect" and spare[0] > 0:
            spare[0] -= 1
            ours["mprotect"] += 1
        else:
            left.append(call)
    bad = 0
    for call in left:
        print(f"{who}: only under weft: {call}")
        bad = 1
    if want is not None:
        print(f"{who}: only without weft: {want} (and what follows)")
        bad = 1
    return bad, ours


def added(who, where, bare, recorded):
    """Calls of the recorded run that the other has not, by name; None if one is missing."""
    bare = [ANONYMOUS.sub(r"\1SIZE\2", c) for c in bare if not CHANCE.match(c)]
    more = collections.Counter()
    place = 0
    for call in recorded:
        if CHANCE.match(call):
            continue
        call = ANONYMOUS.sub(r"\1SIZE\2", call)
        if place < len(bare) and name(call) == name(bare[place]) and call == bare[place]:
            place += 1
        else:
            more["SIGPROF" if call.startswith("---") else name(call)] += 1
    if place < len(bare):
        print(f"{who}: {where}: only without weft: {bare[place]}")
        return None
    return more


def too_many_cut(answer, cut):
    """Does the program count more of a kind of wait than ticks explain?"""
    bad = 0
    with open(answer, encoding="utf-8") as lines:
        for who, counts in (line.split(" ", 1) for line in lines):
            n = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", counts)}
            if max(n["eintr"], n["early"]) > cut.get(who, 0) or n["failed"]:
                print(f"{who}: {counts.strip()}, by ticks {cut.get(who, 0)}")
                bad = 1
    return bad


def main():
    bare, recorded = threads(sys.argv[1]), threads(sys.argv[2])
    spare = [int(sys.argv[3])]
    bad = 0
    total, start = collections.Counter(), collections.Counter()
    calls = 0
    if not bare or bare.keys() != recorded.keys():
        print("threads:", sorted(bare), "under weft:", sorted(recorded))
        return 1
    cut = {}
    for who in sorted(bare):
        part, cut_here = cut_by_ticks(who, recorded[who][1])
        if part is None:
            return 1
        cut[who] = sum(cut_here.values())
        wrong, ours = main_part(who, bare[who][1], part, spare, cut_here)
        bad |= wrong
        total += ours
        calls += len(bare[who][1])
        before = added(who, "start", bare[who][0], recorded[who][0])
        after = added(who, "end", bare[who][2], recorded[who][2])
        bad |= before is None or after is None
        start += before or {}
        if who != "main" and after and set(after) - AT_END - {"SIGPROF"}:
            print(f"{who}: at the end only under weft: {dict(after)}")
            bad = 1
    print(f"{len(bare)} threads, {calls} calls without weft; with it also:", dict(total))
    print("at the start also:", dict(start))
    print("cut short by a tick at their entry:", sum(cut.values()))
    if len(sys.argv) > 4:
        bad |= too_many_cut(sys.argv[4], cut)
    return bad


sys.exit(main())
