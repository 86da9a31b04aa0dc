# SPDX-License-Identifier: Apache-2.0
"""Compares what typed-events says that it committed with what `jfr print --json` reads.

typed_events.py OWN JSON: each event value by value, its duration to a microsecond.
"""
import json
import struct
import sys

own = {}
for line in open(sys.argv[1], encoding="utf-8"):
    event = json.loads(line)
    own[event["key"]] = event
recorded = [e for e in json.load(open(sys.argv[2], encoding="utf-8"))["recording"]["events"]]
problems = []


def complain(*words):
    problems.append(" ".join(str(w) for w in words))


def duration_ns(text):  # "PT0.000123456S"
    assert text.startswith("PT") and text.endswith("S"), text
    whole, _, part = text[2:-1].partition(".")
    return int(whole) * 10**9 + int((part + "000000000")[:9])


def as_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


seen = set()
stacks = 0
for event in recorded:
    if event["type"] != "test.All":
        continue
    values = event["values"]
    expect = own.get(values["l"])
    if expect is None or values["l"] in seen:
        complain("an event that nobody committed, or twice:", values["l"])
        continue
    seen.add(values["l"])
    if values["c"] != chr(expect["c"]):
        complain(values["l"], "c", values["c"], chr(expect["c"]))
    for name in ("b", "y", "s", "i", "text", "pooled", "id"):
        if values[name] != expect[name]:
            complain(values["l"], name, repr(values[name]), repr(expect[name]))
    if as_float(values["f"]) != as_float(expect["f"]) or values["d"] != expect["d"]:
        complain(values["l"], "f, d", values["f"], values["d"], expect)
    if values["size"] != values["l"]:
        complain(values["l"], "size", values["size"])
    if not values["thread"]["osThreadId"] == values["eventThread"]["osThreadId"] == expect["tid"]:
        complain(values["l"], "thread", values["thread"], values["eventThread"], expect["tid"])
    # Where the ring had no room for a stack any more the event has none, and is there.
    if values["stackTrace"]:
        stacks += 1
        frames = [f["method"]["name"] for f in values["stackTrace"]["frames"]]
        if frames[0] != "one" and frames[0] != "work" or "work" not in frames:
            complain(values["l"], "stack", frames)
    lasted = duration_ns(values["duration"])
    least = expect["end"][0] - expect["begin"][1] - 1000
    most = expect["end"][1] - expect["begin"][0] + 1000
    if not least <= lasted <= most:
        complain(values["l"], "lasted", lasted, "expected", least, most)
if len(seen) != len(own):
    complain(len(own), "committed,", len(seen), "recorded")
for kind in ("test.Instant", "test.Empty"):
    count = sum(e["type"] == kind for e in recorded)
    if count != len(own):
        complain(kind, count, "expected", len(own))
if not stacks:
    complain("no stack at all")
for problem in problems[:20]:
    print(problem)
print(len(seen), "events,", stacks, "with a stack,", len(problems), "problems")
sys.exit(bool(problems) or not own)
