#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces for the tests of timelines, and what must hold of the timelines made of them.

usage: timelines.py make KIND SEED EVENTS >trace.jsonl
         plain    runs nest on their threads, coroutines change threads, nothing is missing
         lost     the same with events left out
         unsorted plain, as an engine writes it that reads a station slot by slot
         crossed  one thread id for all, so that runs overlap in every way
       timelines.py check KIND N trace.jsonl chrome.json perfetto.txt
         perfetto.txt: what protoc --decode says of it; N: how many longest waits were asked for
"""
import collections
import json
import random
import re
import sys
from decimal import Decimal


def make(kind, seed, events):
    """A scheduler of three threads; a running coroutine may resume another inside itself."""
    rng = random.Random(seed)
    lines = []
    now, seq, stacks, idle = 10**9, collections.Counter(), {t: [] for t in (501, 502, 503)}, list(range(1, 41))
    for _ in range(events):
        now += rng.randrange(1, 5000)
        tid = rng.choice(list(stacks))
        stack = stacks[tid]
        if kind == "crossed":
            running = [c for s in stacks.values() for c in s]
            leave = bool(running) and (len(running) > 6 or rng.random() < 0.5)
        else:
            leave = bool(stack) and (len(stack) > 3 or rng.random() < 0.6)
        if leave:
            if kind == "crossed":
                stack = rng.choice([s for s in stacks.values() if s])
                coroutine = stack.pop(rng.randrange(len(stack)))
            else:
                coroutine = stack.pop()
            idle.append(coroutine)
        else:
            coroutine = idle.pop(rng.randrange(len(idle)))
            stack.append(coroutine)
        seq[coroutine] += 2
        if kind == "lost" and rng.random() < 0.1:
            continue
        lines.append(json.dumps({"probe_id": coroutine, "tid": 7 if kind == "crossed" else tid,
                          "addr": f"0x{0x400000 + 16 * coroutine:016x}", "seq": seq[coroutine],
                          "is_active": not leave, "ts": now}, separators=(",", ":")))
    if kind == "unsorted":
        # each sweep: coroutine by coroutine, eight slots in any order
        sweeps = [lines[i:i + 60] for i in range(0, len(lines), 60)]
        lines = [line for sweep in sweeps for line in
                 sorted(sweep, key=lambda l: (json.loads(l)["probe_id"], json.loads(l)["seq"] // 2 % 8))]
    print("\n".join(lines))


def said(path):
    """What a trace says by itself: runs, waits, and how many events are missing."""
    runs, waits, lost, last = [], [], 0, {}
    for event in sorted(map(json.loads, open(path)), key=lambda e: e["ts"]):
        before = last.get(event["probe_id"])
        last[event["probe_id"]] = event
        if not before:
            continue
        missing = (event["seq"] - before["seq"]) // 2 - 1
        lost += missing
        if missing or before["is_active"] == event["is_active"]:
            continue
        span = (before["ts"], event["ts"], event["probe_id"])
        if before["is_active"]:
            runs.append(span + (before["tid"],))
        else:
            waits.append(span)
    end = max(e["ts"] for e in last.values())
    waits += [(e["ts"], end, c) for c, e in last.items() if not e["is_active"]]
    return runs, waits, lost


def nanoseconds(text):
    assert re.fullmatch(r"\d+\.\d{3}", text), f"not three decimals: {text}"
    return int(Decimal(text) * 1000)


def read_chrome(path):
    """(threads: tid -> slices, waits, counters, flows), times in nanoseconds."""
    text = open(path).read()
    for time in re.findall(r'"(?:ts|dur)":([^,}]*)', text):
        nanoseconds(time)
    trace = json.loads(text, parse_float=Decimal)
    threads, open_waits, waits, flows = collections.defaultdict(list), {}, [], collections.defaultdict(list)
    counters = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        at = int(event.get("ts", 0) * 1000)
        if event["ph"] == "X":
            args = event["args"]
            threads[event["pid"], event["tid"]].append(
                (at, at + int(event["dur"] * 1000), int(args["coroutine"]), args.get("end"), args.get("cut")))
            if "bind_id" in event:
                flows[event["bind_id"]].append((at, bool(event.get("flow_in")), bool(event.get("flow_out"))))
        elif event["ph"] == "b":
            open_waits[event["id"]] = (at, int(event["args"]["coroutine"]))
        elif event["ph"] == "e":
            begin, coroutine = open_waits.pop(event["id"])
            waits.append((begin, at, coroutine))
        elif event["ph"] == "C":
            for name, value in event["args"].items():
                counters[name].append((at, value))
    assert not open_waits
    return threads, waits, counters, flows


def read_text(path):
    """Protobuf's text format: a message is a list of (name, value)."""
    stack = [[]]
    for line in open(path):
        line = line.strip()
        if line.endswith("{"):
            stack.append([])
            stack[-2].append((line[:-2], stack[-1]))
        elif line == "}":
            stack.pop()
        elif line:
            name, value = line.split(": ", 1)
            assert not name.isdigit(), f"a field that the format does not have: {line}"
            stack[-1].append((name, value))
    return stack[0]


def read_perfetto(path):
    tracks, begun, slices = {}, collections.defaultdict(list), collections.defaultdict(list)
    counters, flows, dropped, stats = collections.defaultdict(list), collections.defaultdict(list), 0, 0
    for _, packet in read_text(path):
        fields = dict(packet)
        assert fields["trusted_packet_sequence_id"] == "1"
        dropped += fields.get("previous_packet_dropped") == "true"
        for _, buffer in fields.get("trace_stats", []):
            stats += int(dict(buffer)["trace_writer_packet_loss"])
        if "track_descriptor" in fields:
            track = dict(fields["track_descriptor"])
            assert track.get("parent_uuid") is None or track["parent_uuid"] in tracks
            tracks[track["uuid"]] = track
        if "track_event" not in fields:
            continue
        event, at = dict(fields["track_event"]), int(fields["timestamp"])
        uuid = event["track_uuid"]
        assert uuid in tracks, "an event before its track"
        if event["type"] == "SLICE_BEGIN":
            notes = [dict(v) for k, v in fields["track_event"] if k == "debug_annotations"]
            notes = {n["name"]: n.get("uint_value", n.get("string_value", "")) for n in notes}
            begun[uuid].append((at, int(notes['"coroutine"']), notes.get('"end"'), notes.get('"cut"')))
            for kind in ("flow_ids", "terminating_flow_ids"):
                if kind in event:
                    flows[event[kind]].append((at, kind == "flow_ids"))
        elif event["type"] == "SLICE_END":
            begin, coroutine, end, cut = begun[uuid].pop()
            assert at >= begin
            slices[uuid].append((begin, at, coroutine, end, cut))
        else:
            counters[tracks[uuid]["name"].strip('"')].append((at, int(event["counter_value"])))
    assert not any(begun.values()), "a slice without an end"
    waits = [s[:3] for u, v in slices.items() if '"thread' not in tracks[u].get("name", "") for s in v]
    threads = {tracks[u]["name"]: v for u, v in slices.items() if '"thread' in tracks[u].get("name", "")}
    return threads, waits, counters, flows, dropped, stats


def nests(slices):
    """In the order of the file, what is outside first."""
    stack = []
    for begin, end in slices:
        while stack and stack[-1] <= begin:
            stack.pop()
        assert not stack or end <= stack[-1], f"{begin}..{end} crosses the end {stack[-1]} of another"
        stack.append(end)


def check_runs(kind, threads, runs):
    ended = [(b, e, c) for s in threads.values() for b, e, c, end, _ in s if not end]
    if kind != "crossed":
        assert sorted(ended) == sorted(r[:3] for r in runs), "runs differ"
        assert not any(cut for s in threads.values() for *_, cut in s)
        return
    assert any(cut for s in threads.values() for *_, cut in s), "nothing was cut"
    shown, true = collections.Counter(), collections.Counter()
    for begin, end, coroutine in ended:
        shown[coroutine] += end - begin
    for begin, end, coroutine, _ in runs:
        true[coroutine] += end - begin
    assert shown == true, "cut runs do not add up"


def check_counters(counters, lost, runs, waits):
    assert [n for n in ("running", "suspended", "live") if not counters[n]] == []
    for name, series in counters.items():
        assert [t for t, _ in series] == sorted({t for t, _ in series}), f"{name} is out of order"
        assert all(v >= 0 for _, v in series), f"{name} is below 0"
    steps = collections.Counter()
    for begin, end, *_ in waits:
        if end > begin:
            steps[begin] += 1
            steps[end] -= 1
    level, at = 0, dict(counters["suspended"])
    for time in sorted(steps):
        level += steps[time]
        assert at.get(time, level) == level, f"suspended at {time}: {at[time]}, not {level}"
    named = "lost" if "lost" in counters else "lost events"
    assert counters[named][-1][1] == lost, f"lost {counters[named][-1][1]}, not {lost}"


def check(kind, longest, trace, chrome, perfetto):
    runs, waits, lost = said(trace)
    assert kind != "lost" or lost > 10
    threads, shown, counters, flows = read_chrome(chrome)
    for slices in threads.values():
        nests([s[:2] for s in slices])
    check_runs(kind, threads, runs)
    lengths = sorted((e - b for b, e, _ in waits), reverse=True)[:longest]
    assert sorted((e - b for b, e, _ in shown), reverse=True) == lengths, "not the longest waits"
    assert set(shown) <= set(waits)
    check_counters(counters, lost, runs, waits)
    for steps in flows.values():
        steps.sort()
        assert len(steps) > 1 and not steps[0][1] and not steps[-1][2], "a flow without both ends"
        assert all(s[2] for s in steps[:-1]) and all(s[1] for s in steps[1:])

    tracks, other, their_counters, their_flows, dropped, stats = read_perfetto(perfetto)
    assert sorted(s for v in tracks.values() for s in ((b, e, c) for b, e, c, *_ in v)) == \
        sorted(s for v in threads.values() for s in ((b, e, c) for b, e, c, *_ in v)), "the two differ"
    assert sorted(other) == sorted(shown)
    check_counters(their_counters, lost, runs, waits)
    assert (dropped > 0) == (lost > 0) and stats == lost
    assert len(their_flows) == len(flows)
    for steps in their_flows.values():
        steps.sort()
        assert all(s[1] for s in steps[:-1]) and not steps[-1][1]
    print(f"{len(runs)} runs, {len(shown)} waits, {lost} lost")


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    check(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
