#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares functions' shares by weft with those by perf, for perf_agrees.sh.

usage: perf_shares.py LIMIT PERF.txt WEFT.json [PERF.txt WEFT.json]...

PERF.txt is from `perf script --no-inline -F comm,ip,sym,symoff,dso`, WEFT.json from `weft
report --by function --no-inlines --json`. Prints the ten functions that use most by either,
with their shares by themselves and with what they call; of several pairs each share is the
median. Exit 1 if one of these is more than LIMIT points apart. What they call is judged only
where perf's own stacks are whole: they end at code of a JIT compiler, and at the copy's limit.

What no symbol names is grouped as weft does it, by the unwind entry that it lies in. Names of
one address are one: of several symbols there each tool takes another.
"""
import bisect
import collections
import functools
import json
import re
import statistics
import subprocess
import sys

FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@functools.lru_cache(maxsize=None)
def entries(dso):
    """Starts and ends of the unwind entries of a file."""
    found = re.findall(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", output("readelf", "-wf", dso))
    return sorted((int(start, 16), int(end, 16)) for start, end in found)


def debug_file(dso):
    found = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", dso))
    build_id = found[1] if found else "0"
    return f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


@functools.lru_cache(maxsize=None)
def aliases(dso):
    """Name of a function in a file: all names of its address, the first of them."""
    by_address = collections.defaultdict(set)
    for options in (["-D", dso], [dso], [debug_file(dso)]):
        for line in output("nm", "-C", "--defined-only", *options).splitlines():
            parts = line.split(" ", 2)
            if len(parts) == 3 and parts[1] in "tTwWiI":
                by_address[parts[0]].add(parts[2].split("@")[0])
    return {name: min(names) for names in by_address.values() for name in names}


def base(path):
    return path.rsplit("/", 1)[-1]


@functools.lru_cache(maxsize=None)
def segments(dso):
    """(file offset, address, bytes) of what is loaded."""
    rows = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", output("readelf", "-lW", dso))
    return [tuple(int(number, 16) for number in row) for row in rows]


def unnamed(dso, offset):
    ip = next((a + offset - o for o, a, n in segments(dso) if o <= offset < o + n), offset)
    at = bisect.bisect_right(entries(dso), (ip, sys.maxsize)) - 1
    if at >= 0 and ip < entries(dso)[at][1]:
        return f"{base(dso)}+{entries(dso)[at][0]:#x}"
    return f"{base(dso)}+?"


def plain(name):
    """Without what one tool writes and the other does not: arguments, returned type."""
    kept, depth = "", 0
    name = name.split("@")[0].replace("(anonymous namespace)", "{anonymous}")
    if "::" not in name and "(" not in name:
        return name
    for char in name:
        if char == "(" and depth == 0:
            break
        if char == " " and depth == 0 and not kept.endswith("operator"):
            kept = ""
        else:
            kept += char
        depth += (char in "(<") - (char in ")>")
    return kept or name


def perf_name(ip, symbol, dso):
    if symbol.startswith("[unknown]"):
        return unnamed(dso, ip) if dso.startswith(("/usr", "/bin", "/lib")) else "[unknown]"
    name = re.sub(r"\+0x[0-9a-f]+$", "", symbol)
    return plain(aliases(dso).get(name.split("@")[0], name) if dso.startswith("/usr") else name)


def in_kernel(frame):
    return int(frame[1], 16) >= 1 << 63


def perf_shares(path):
    self_count, total_count, samples = collections.Counter(), collections.Counter(), 0
    with open(path, encoding="utf-8", errors="replace") as text:
        for sample in text.read().split("\n\n"):
            frames = [FRAME.match(line) for line in sample.splitlines()]
            names = [perf_name(int(f[1], 16), f[2], f[3]) for f in frames if f and not in_kernel(f)]
            if not names:
                continue
            samples += 1
            self_count[names[0]] += 1
            total_count.update(set(names))
    return self_count, total_count, samples


def weft_shares(path, known):
    with open(path, encoding="utf-8") as text:
        report = json.load(text)
    self_count, total_count = collections.Counter(), collections.Counter()
    for row in report["rows"]:
        name = row["key"]
        name = plain(known.get(name.split("@")[0], name))
        self_count[name] += row["self_samples"]
        # Overloads have one name here, and may call each other.
        total_count[name] = max(total_count[name], row["samples"])
    return self_count, total_count, report["samples"]


def median_shares(runs):
    """Name to (by itself, in all) in percent."""
    names = set().union(*(run[1] for run in runs))
    return {
        name: tuple(statistics.median(100 * run[i][name] / run[2] for run in runs) for i in (0, 1))
        for name in names
    }


def all_aliases():
    known = {}
    for dso in SEEN:
        known.update(aliases(dso))
    return known


SEEN = set()
OUTERMOST = ("_start", "__libc_start_main", "__libc_start_call_main")


def main():
    limit, files = float(sys.argv[1]), sys.argv[2:]
    for path in files[::2]:
        with open(path, encoding="utf-8", errors="replace") as text:
            SEEN.update(re.findall(r"\((/usr[^)]*)\)$", text.read(), re.MULTILINE))
    by_perf = [perf_shares(path) for path in files[::2]]
    known = all_aliases()
    by_weft = [weft_shares(path, known) for path in files[1::2]]
    perf, weft = median_shares(by_perf), median_shares(by_weft)
    for tool, runs in (("perf", by_perf), ("weft", by_weft)):
        print(f"samples by {tool}:", *(run[2] for run in runs))
    whole = max(perf.get(name, (0.0, 0.0))[1] for name in OUTERMOST)
    judged = (0, 1) if whole >= 98 else (0,)
    print(f"perf's own stacks reach the outermost frame in {whole:.2f} % of its samples")
    if whole < 98:
        print("... so what a function calls is not compared")
    nothing = (0.0, 0.0)
    worst = 0.0
    print(f"{'perf':>7} {'weft':>7} {'differ':>7}   {'perf':>7} {'weft':>7} {'differ':>7}")
    top = set()
    for shares in (perf, weft):
        for i in judged:
            top.update(sorted(shares, key=lambda n: -shares[n][i])[:10])
    for name in sorted(top, key=lambda n: -perf.get(n, nothing)[0]):
        p, w = perf.get(name, nothing), weft.get(name, nothing)
        d = [w[i] - p[i] for i in (0, 1)]
        worst = max(worst, *(abs(d[i]) for i in judged))
        print(f"{p[0]:7.2f} {w[0]:7.2f} {d[0]:+7.2f}   {p[1]:7.2f} {w[1]:7.2f} {d[1]:+7.2f}  {name}")
    print(f"furthest apart: {worst:.2f} points")
    return worst > limit


sys.exit(main())
