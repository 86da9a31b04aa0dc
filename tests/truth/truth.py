#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of truth.c under weft and holds its shares against theirs.

    BUILD=build tests/truth/truth.py [options]

Each program measures by the CPU clocks of its threads what A and B used (with --engine wall: what
time they took). Of the samples that carry A or B the share of B is judged, and the sum: weight
seen of what was used. Judged by statistics alone: how many standard errors, and how often the
truth lies in the 95 % interval. Never by a time, so that a busy machine has no say.

What is not judged is shown all the same, with its reason (NOT_JUDGED). Exit 1: something is off.
"""
import argparse
import collections
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(os.path.dirname(__file__), "../../build")))
WEFT = os.path.join(BUILD, "weft")
TRUTH = os.path.join(BUILD, "tests/truth/truth")

# One program of each kind; of ticks only what they cannot fall in with.
SAMPLE = ["thread-0.5", "thread-5", "pool", "burst", "loop-20", "reads", "spans",
          "fork", "exec"]
LOCKSTEP = ("loop-", "burst", "tick-sleep", "many-", "huge-writes", "reads", "pipes", "spans",
            "coroutines")
BRIEF = ("thread-0", "fork", "exec", "vfork", "many-100", "many-2000", "timer-threads")
WAITS = "wait-"   # they use next to nothing
PATIENCE_S = 300
SIGMAS = 5        # beyond this it is no chance
POINTS = 0.01     # the bias that is allowed
SEEN = 0.03       # and of the sum
# By ticks alone, on a busy machine (docs/accuracy.md).
TICKS_POINTS, TICKS_SEEN = 0.05, 0.35


def not_judged(name, options, clocks):
    """Why, or None."""
    if options.engine == "wall" and name.startswith(BRIEF):
        return "what such short threads waited is not seen"
    if name == "deaf":
        return "a thread that blocks all signals is the account's to tell"
    if options.engine == "cpu" and "ticks" in clocks and name.startswith(LOCKSTEP):
        return "ticks: the work repeats with them, or may"
    return None


Run = collections.namedtuple("Run", "truth share low high n seen used process weight clocks perf account")


def wilson(share, n):
    """95 % interval of a share that n independent samples told (Wilson, JASA 22, 1927)."""
    if n <= 0:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def binomial_tail(k, n, p):
    """P(X <= k)"""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


# ---- running


def quota_group():
    """A group with 0.2 of a CPU: (file for pids, how to remove it), or None."""
    name = f"weft-truth-{os.getpid()}"
    for base, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}),
                        ("/sys/fs/cgroup", {"cpu.max": "20000 100000"})):
        group = os.path.join(base, name)
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            for file, text in files.items():
                if not os.path.exists(os.path.join(group, file)):
                    raise OSError
                with open(os.path.join(group, file), "w", encoding="ascii") as f:
                    f.write(text)
            return os.path.join(group, "cgroup.procs"), lambda: os.rmdir(group)
        except OSError:
            os.rmdir(group)
    return None


def perf_works():
    if not shutil.which("perf"):
        return False
    with tempfile.TemporaryDirectory() as work:
        return subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", work + "/try", "true"],
                              capture_output=True, check=False).returncode == 0


def perf_share(file):
    """Of B, by the functions that all work of A and B is done in."""
    text = subprocess.run(["perf", "script", "-i", file, "-F", "comm,ip,sym"], capture_output=True,
                          text=True, check=False).stdout
    a = b = 0
    for block in text.split("\n\n"):
        a += " act_a" in block
        b += " act_b" in block
    return b / (a + b) if a + b else None


def entered(group):
    """For the child: enter the group before it is weft."""
    if not group:
        return None

    def enter():
        with open(group[0], "w", encoding="ascii") as f:
            f.write("0")
    return enter


def record_flags(options, work):
    flags = ["record", "-o", work + "/r.jfr", "-e", options.engine]
    if options.engine == "cpu" and options.clock:
        flags += ["--clock", options.clock]
    if options.frequency:
        flags += ["-F", str(options.frequency)]
    return flags


def run_attached(program, options, work):
    with subprocess.Popen(program + ["--wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as target:
        pid = target.stdout.readline().strip()
        with subprocess.Popen([WEFT] + record_flags(options, work) + ["-p", pid],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as weft:
            until = time.monotonic() + 60
            while '"recorded"' not in states(pid) and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.5)  # the order must have been carried out
            target.stdin.write("\n")
            target.stdin.close()
            target.wait(timeout=PATIENCE_S)
            weft.communicate(timeout=PATIENCE_S)


def states(pid):
    text = subprocess.run([WEFT, "ps", "--json"], capture_output=True, text=True, check=False).stdout
    try:
        programs = json.loads(text)["programs"]
    except (ValueError, KeyError):
        return ""
    return json.dumps([p.get("state") for p in programs if str(p.get("pid")) == pid])


def run_program(name, options, seed, with_perf):
    """One run: a Run, or a text that says why there is none."""
    group = quota_group() if name == "quota" else None
    if name == "quota" and not group:
        return "no cgroup can be made here"
    try:
        with tempfile.TemporaryDirectory() as work:
            program = [TRUTH, "--seconds", str(options.seconds), "--seed", str(seed), "--phase",
                       str(seed * 0.6180339887 % 1), "--out", work + "/truth.json",
                       "pool" if name == "quota" else name]
            if options.attach:
                run_attached(program, options, work)
            else:
                command = [WEFT] + record_flags(options, work) + ["--"] + program
                if with_perf:
                    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-o",
                               work + "/perf.data", "--"] + command
                subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                               preexec_fn=entered(group), timeout=PATIENCE_S, check=False)
            return read_run(options, work, perf_share(work + "/perf.data") if with_perf else None)
    except subprocess.TimeoutExpired:
        return f"took more than {PATIENCE_S} s"
    except (OSError, ValueError) as error:
        return f"no figures: {error}"
    finally:
        if group:
            time.sleep(0.2)
            group[1]()


def report(work, options, *more):
    out = subprocess.run([WEFT, "report", "--json", "--event", options.engine, *more, work + "/r.jfr"],
                         capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return json.loads(out.stdout)


def read_run(options, work, perf):
    with open(work + "/truth.json", encoding="ascii") as f:
        own = json.load(f)
    used = own["used_ns" if options.engine == "cpu" else "passed_ns"]
    both = report(work, options, "--by", "tag:work", "--where", "tag:work=on-*")
    everything = report(work, options)
    rows = {row["key"]: row for row in both["rows"]}
    b = rows.get("on-B", {"self_ns": 0, "self_samples": 0})
    share = b["self_ns"] / both["weight_ns"] if both["weight_ns"] else 0.0
    n = both.get("independent_samples", sum(row["self_samples"] for row in both["rows"]))
    low, high = wilson(share, n)
    if b.get("self_share_low") is not None:  # the report's own, which knows of weights and clusters
        low, high = b["self_share_low"], b["self_share_high"]
    clocks = {c.get("clock") for c in everything.get("clocks", [])}
    if not clocks and options.engine == "cpu":
        clocks = clocks_of(work)
    whole = used["A"] + used["B"]
    return Run(used["B"] / whole, share, low, high, n, both["weight_ns"], whole, own["process_ns"],
               everything["weight_ns"], clocks, perf,
               everything.get("account", {}).get("share"))


def clocks_of(work):
    """From the rows of weft.Clock, where the report does not tell."""
    out = subprocess.run([WEFT, "print", "--json", "--events", "weft.Clock", work + "/r.jfr"],
                         capture_output=True, text=True, check=False).stdout
    try:
        return {e["values"]["clock"] for e in json.loads(out)["recording"]["events"]}
    except (ValueError, KeyError, TypeError):
        return set()


# ---- judging

Row = collections.namedtuple(
    "Row", "name runs truth share low high perf bias bias_error inside seen seen_error account n clocks")


def summarize(name, runs):
    bias = [r.share - r.truth for r in runs]
    p = statistics.fmean(r.truth for r in runs)
    n = sum(r.n for r in runs)
    by_chance = math.sqrt(max(p * (1 - p), 0.25 / max(n, 1)) / max(n, 1))
    perf = [r.perf for r in runs if r.perf is not None]
    seen = sum(r.seen for r in runs) / sum(r.used for r in runs)
    account = [r.account for r in runs if r.account is not None]
    return Row(name, len(runs), p, statistics.fmean(r.share for r in runs),
               statistics.fmean(r.low for r in runs), statistics.fmean(r.high for r in runs),
               statistics.fmean(perf) if perf else None, statistics.fmean(bias),
               max(by_chance, statistics.stdev(bias) / math.sqrt(len(bias)) if len(bias) > 2 else 0),
               sum(r.low <= r.truth <= r.high for r in runs), seen, 1 / math.sqrt(max(n, 1)),
               statistics.fmean(account) if account else None, n,
               set().union(*(r.clocks for r in runs)))


def faults(row, sigmas):
    """What is off, in words."""
    found = []
    by_ticks = row.clocks == {"ticks"}
    points, part = (TICKS_POINTS, TICKS_SEEN) if by_ticks else (POINTS, SEEN)
    if abs(row.bias) > points + sigmas * row.bias_error:
        found.append(f"B is {100 * row.bias:+.1f} points off, standard error {100 * row.bias_error:.1f}")
    if row.runs >= 20 and not by_ticks and binomial_tail(row.inside, row.runs, 0.95) < 1e-3:
        found.append(f"the truth lies in {row.inside} of {row.runs} intervals")
    if abs(row.seen - 1) > part + sigmas * row.seen_error:
        found.append(f"seen {100 * row.seen:.1f} % of what A and B used, standard error "
                     f"{100 * row.seen_error:.1f}")
    return found


# ---- output

HEAD = ("program", "true B %", "weft %", "95 % interval", "bias", "s.e.", "inside", "perf %",
        "seen/used %", "s.e.", "account %", "samples")


def cells(row):
    return (row.name, f"{100 * row.truth:.1f}", f"{100 * row.share:.1f}",
            f"{100 * row.low:.1f}-{100 * row.high:.1f}", f"{100 * row.bias:+.2f}",
            f"{100 * row.bias_error:.2f}", f"{row.inside}/{row.runs}",
            "-" if row.perf is None else f"{100 * row.perf:.1f}", f"{100 * row.seen:.1f}",
            f"{100 * row.seen_error:.1f}",
            "-" if row.account is None else f"{100 * row.account:.1f}", f"{row.n:.0f}")


class Text:
    def __init__(self, markdown):
        self.markdown = markdown

    def line(self, columns):
        if self.markdown:
            print("| " + " | ".join(columns) + " |", flush=True)
        else:
            widths = (15, 8, 7, 14, 7, 6, 8, 7, 11, 6, 9, 8)
            print(" ".join(f"{c:>{w}}" for c, w in zip(columns, widths)), flush=True)

    def begin(self):
        self.line(HEAD)
        if self.markdown:
            print("|" + "---|" * len(HEAD), flush=True)

    def add(self, row, bad, why_not):
        self.line(cells(row))
        for text in bad:
            print(f"{'' if not self.markdown else '| '}  {row.name}: "
                  f"{'not judged (' + why_not + '): ' if why_not else 'OFF: '}{text}",
                  file=sys.stderr, flush=True)

    def skip(self, name, why):
        print(f"  {name}: skipped: {why}", file=sys.stderr, flush=True)

    def end(self):
        pass


class Tap:
    def __init__(self):
        self.number = 0

    def begin(self):
        pass

    def add(self, row, bad, why_not):
        self.number += 1
        ok = not bad or why_not
        text = " ".join(f"{h} {c}," for h, c in zip(HEAD[1:], cells(row)[1:])).rstrip(",")
        print(f"{'ok' if ok else 'not ok'} {self.number} - {row.name}"
              f"{' # SKIP ' + why_not if why_not else ''}\n# {text}")
        for line in bad:
            print("# " + line)
        sys.stdout.flush()

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.number}")


class Json:
    def __init__(self):
        self.rows = []

    def begin(self):
        pass

    def add(self, row, bad, why_not):
        self.rows.append({**row._asdict(), "clocks": sorted(map(str, row.clocks)), "off": bad,
                          "not_judged": why_not})

    def skip(self, name, why):
        self.rows.append({"name": name, "skipped": why})

    def end(self):
        print(json.dumps(self.rows, indent=2))


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--engine", choices=("cpu", "wall"), default="cpu")
    p.add_argument("--clock", choices=("auto", "ticks"), help="of weft record")
    p.add_argument("--frequency", "-F", type=float, help="of weft record")
    p.add_argument("--attach", action="store_true", help="by weft record -p")
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--load", action="store_true", help="two busy loops for each CPU beside it")
    p.add_argument("--only", action="append", metavar="NAME", help="programs whose name begins so")
    p.add_argument("--sample", action="store_true", help="a few programs: " + ", ".join(SAMPLE))
    p.add_argument("--seconds", type=float, help="CPU time of each program; 2, of a sample 1")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--sigmas", type=float, default=SIGMAS, help="beyond which it is no chance")
    p.add_argument("--no-perf", action="store_true")
    p.add_argument("--json", action="store_true")
    p.add_argument("--markdown", action="store_true")
    p.add_argument("--tap", action="store_true")
    options = p.parse_args()
    options.seconds = options.seconds or (1 if options.sample else 2)
    return options


def chosen(options):
    listed = subprocess.run([TRUTH, "--list"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()] + ["quota"]
    if options.sample:
        names = [n for n in names if n in SAMPLE]
    if options.only:
        names = [n for n in names if n.startswith(tuple(options.only))]
    if options.engine == "cpu":
        names = [n for n in names if not n.startswith(WAITS)]
    return names


def loops(options):
    count = 2 * (os.cpu_count() or 1) if options.load else 0
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]


def run_all(options, out):
    with_perf = not (options.no_perf or options.tap or options.attach) and perf_works()
    if not with_perf and not options.tap:
        print("  perf's share is left out", file=sys.stderr)
    failed = False
    for name in chosen(options):
        results = [run_program(name, options, options.seed + i, with_perf) for i in range(options.runs)]
        runs = [r for r in results if isinstance(r, Run)]
        if not runs:
            out.skip(name, results[0])
            failed |= name != "quota"
            continue
        row = summarize(name, runs)
        bad, why_not = faults(row, options.sigmas), not_judged(name, options, row.clocks)
        out.add(row, bad, why_not)
        failed |= bool(bad) and not why_not
    return failed


def main():
    options = parse()
    out = Tap() if options.tap else Json() if options.json else Text(options.markdown)
    busy = loops(options)
    try:
        out.begin()
        failed = run_all(options, out)
        out.end()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
