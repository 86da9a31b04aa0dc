#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft merge: what it writes, read by the JDK's tools; what it keeps, against a model.

usage: merge_interop.py jvm|several|select|model WEFT JFR_WRITE MAKE_EVENTS [SEED COUNT]

jvm      a JVM's recording has the same events before and after, by each JDK's own `jfr print`
several  so have those of several JVMs and of weft in one, which is whole for the JDK's tools; times
         agree to 10 us, for the tools take one chunk's clock for others
select   a JVM's contextual events (JDK 25 and later) and what is in them, over chunks
model    random events in random chunks, under random settings: exactly those are kept that a
         model of the rules in docs/merge.md keeps

Exit 77: the tool is not to be had here.
"""
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # beside the sources
from jfr_interop import SKIP, epoch_ns, jdks, run, same
from print_interop import record


def events(jfr, path):
    text = run(jfr, 'print', '--json', '--stack-depth', '64', path, timeout=240)
    return json.loads(text)['recording']['events']


def counted(rows, ids=True):
    """Events as a multiset. Numbers of types are the one thing that a merge of several changes."""
    out = collections.Counter()
    for row in rows:
        if not ids and row['type'] == 'jdk.ActiveSetting':
            row['values']['id'] = 0
        out[json.dumps(row, sort_keys=True)] += 1
    return out


def same_events(what, found, expected):
    if found != expected:
        sys.exit('%s: %d events are missing, %d are new:\n- %s\n+ %s' % (
            what, sum((expected - found).values()), sum((found - expected).values()),
            list(expected - found)[:1], list(found - expected)[:1]))
    if not sum(found.values()):
        sys.exit(what + ': no events at all')


def check_starts(path):
    """Each chunk starts later than the one before it: readers drop an equal start."""
    data, at, starts = open(path, 'rb').read(), 0, []
    while at < len(data):
        size, start = struct.unpack('>8xQ16xQ', data[at:at + 40])
        starts.append(start)
        at += size
    same('starts', starts, sorted(set(starts)))
    return len(starts)


def check_tools(bin_dir, version, path, directory):
    for verb in 'summary', 'metadata':
        run(bin_dir + 'jfr', verb, path)
    pieces = directory + '/pieces'
    os.makedirs(pieces)
    run(bin_dir + 'jfr', 'disassemble', '--max-chunks', '1', '--output', pieces, path)
    run(bin_dir + 'jfr', 'assemble', pieces, directory + '/whole.jfr')
    same('assembled', open(directory + '/whole.jfr', 'rb').read(), open(path, 'rb').read())
    if version >= 25:
        run(bin_dir + 'jfr', 'view', 'hot-methods', path)
        run(bin_dir + 'jfr', 'scrub', '--include-events', 'jdk.*', path, directory + '/scrubbed.jfr')


# ------------------------------------------------------------------ jvm, several

def check_jvm(weft, _write, _make):
    for version, bin_dir in jdks().items():
        with tempfile.TemporaryDirectory() as directory:
            path = record(bin_dir, directory, 'Every', directory + '/written')
            run(weft, 'merge', '-o', directory + '/merged.jfr', path)
            same_events('JDK %d' % version, counted(events(bin_dir + 'jfr', directory + '/merged.jfr')),
                        counted(events(bin_dir + 'jfr', path)))


TIME = re.compile(r'"(\d{4}-\d\d-\d\dT[^"]*)"')


def timeless(rows):
    """Events without their times, and for each such event the times."""
    out = collections.defaultdict(list)
    for row in counted(rows, ids=False).elements():
        out[TIME.sub('0', row)].append([epoch_ns(t) for t in TIME.findall(row)])
    return {row: sorted(times) for row, times in out.items()}


def same_times(found, expected):
    same_events('but for times', collections.Counter({r: len(t) for r, t in found.items()}),
                collections.Counter({r: len(t) for r, t in expected.items()}))
    for row, all_times in expected.items():
        for ours, theirs in zip(found[row], all_times):
            if any(abs(a - b) > 10000 for a, b in zip(ours, theirs)):
                sys.exit('%s\n  found    %r\n  expected %r' % (row, ours, theirs))


def check_several(weft, write, _make):
    found = jdks()
    newest = max(found)
    jfr = found[newest] + 'jfr'
    with tempfile.TemporaryDirectory() as directory:
        paths, merged = [directory + '/weft.jfr'], directory + '/merged.jfr'
        run(write, paths[0])
        for version, bin_dir in found.items():
            own = '%s/%d' % (directory, version)
            os.mkdir(own)
            paths.append(record(bin_dir, own, 'Every', own + '/written'))
        paths.append(directory + '/again.jfr') # other chunks at the same times
        run('cp', paths[0], paths[-1])
        expected = timeless([e for path in paths for e in events(jfr, path)])
        for order in paths, paths[::-1]:
            run(weft, 'merge', '-o', merged, *order)
            same_times(timeless(events(jfr, merged)), expected)
            if check_starts(merged) < 10:
                sys.exit('too few chunks')
        once = counted(events(jfr, merged), ids=False)
        run(weft, 'merge', '-o', merged, merged) # in its own place
        same_events('once more', counted(events(jfr, merged), ids=False), once)
        check_tools(found[newest], newest, merged, directory)


# ------------------------------------------------------------------ select

def contexts(jfr, path):
    lines = run(jfr, 'print', '--events', 'app.Work', path).splitlines()
    if sum('Context: ' in line for line in lines) < 20:
        sys.exit('too few contexts')
    return lines


def check_select(weft, _write, _make):
    found = {v: b for v, b in jdks().items() if v >= 25}
    if not found:
        sys.exit(SKIP)
    for bin_dir in found.values():
        with tempfile.TemporaryDirectory() as directory:
            path, merged = record(bin_dir, directory, 'Contexts'), directory + '/merged.jfr'
            # joined by the thread's key, also over chunks
            run(weft, 'merge', '-o', merged, path)
            same('contexts', contexts(bin_dir + 'jfr', merged), contexts(bin_dir + 'jfr', path))
            run(weft, 'merge', '-o', merged, '--set', 'app.Work#select=if-context', path)
            before = sorted(e['values']['n'] for e in events(bin_dir + 'jfr', path)
                            if e['type'] == 'app.Work')
            after = sorted(e['values']['n'] for e in events(bin_dir + 'jfr', merged)
                           if e['type'] == 'app.Work')
            # 0 comes before any context, 9 and 5000 behind all, 101 behind the other thread's
            same('in context', after, [n for n in before if n not in (0, 9, 101, 5000)])
            same('some were not', len(before) - len(after), 4)
            run(weft, 'merge', '-o', merged, '--set', '*#enabled=false,app.Trace#enabled=true,'
                'app.Order#enabled=true,app.Trace#select=if-triggered', path)
            rows = events(bin_dir + 'jfr', merged)
            # the order began in it, and before the one that crosses it; those without are out
            same('triggered', [e['values']['id'] for e in rows if e['type'] == 'app.Trace'],
                 ['outer "q" \n x'])
            said = collections.Counter((e['values']['name'], e['values']['value']) for e in rows
                                       if e['type'] == 'jdk.ActiveSetting')
            same('recorded', (said['enabled', 'true'], said['enabled', 'false'] > 100,
                              said['select', 'if-triggered'], len(said)), (2, True, 1, 3))


# ------------------------------------------------------------------ model

TYPES = {  # name: (contextual, lasts)
    'app.Span': ('type', True), 'app.Field': ('field', True), 'weft.Span': ('none', True),
    'app.Wait': ('none', True), 'app.Sample': ('none', False), 'jdk.ThreadPark': ('none', True),
    'weft.Switch': ('none', True), 'app.Point': ('type', False),
}
CONTEXTUAL = {'app.Span', 'app.Field', 'weft.Span', 'app.Point'}
SILENT = {'weft.Span', 'weft.Switch'}  # what weft tells of itself
REAL_NS = 1700000000000000000


def random_events(rnd):
    rows, now = [], 0
    for number in range(rnd.randint(1, 120)):
        name = rnd.choice(sorted(TYPES))
        thread = rnd.randint(0, 3)
        end = now + rnd.randint(0, 6)
        begin = max(0, end - rnd.choice([0, 1, 2, 5, 20, 100])) if TYPES[name][1] else end
        rows.append((name, thread, begin, end, number))
        now = max(now, end)
    # chunks tell events late, and out of order
    rows.sort(key=lambda r: r[3] + rnd.choice([0, 0, 3, 30]))
    return [(n, t, b, e, i) for i, (n, t, b, e, _) in enumerate(rows)]


def random_settings(rnd):
    out = []
    for _ in range(rnd.randint(1, 6)):
        glob = rnd.choice(sorted(TYPES) + ['*', 'app.*', 'Wait', '*Span'])
        out.append((glob,) + rnd.choice([
            ('enabled', 'true'), ('enabled', 'false'), ('select', 'if-context'),
            ('select', 'if-context'), ('select', 'if-triggered'), ('select', 'if-triggered'),
            ('select', 'all'), ('select', 'never'), ('threshold', '3 ns'), ('threshold', '20 ns'),
            ('threshold', 'infinity'), ('throttle', '3/us'), ('throttle', '0/s'),
            ('throttle', 'off')]))
    return out


def matches(glob, name):
    """Of the globs above alone."""
    if glob == '*':
        return True
    if glob.startswith('*'):
        return name.endswith(glob[1:])
    if glob.endswith('*'):
        return name.startswith(glob[:-1])
    return name in (glob, 'app.' + glob)


def in_force(settings, name):
    now = {'enabled': True, 'select': 'all', 'threshold': 0, 'throttle': None}
    for glob, setting, value in settings:
        if not matches(glob, name):
            continue
        if setting == 'enabled':
            now[setting] = value == 'true'
        elif setting == 'select':
            now[setting] = value
        elif setting == 'threshold':
            now[setting] = float('inf') if value == 'infinity' else int(value.split()[0])
        else:
            now[setting] = {'3/us': (3, 1000), '0/s': (0, 10**9), 'off': None}[value]
    if now['select'] not in ('if-triggered' if name in CONTEXTUAL else 'if-context',):
        now['select'] = 'all'
    return now


def model(rows, settings):
    """From the rules alone: every question is answered by looking at all events."""
    def order(row):
        name, _, begin, end, number = row
        return (end, name in CONTEXTUAL, -begin if name in CONTEXTUAL else 0, number)

    kept, windows = [], collections.Counter()
    for row in sorted(rows, key=order):
        name, thread, begin, end, number = row
        rule = in_force(settings, name)
        if not rule['enabled']:
            continue
        if rule['select'] == 'if-context' and not any(
                n in CONTEXTUAL and in_force(settings, n)['enabled'] and t == thread and thread and
                b <= end <= e for n, t, b, e, _ in rows):
            continue
        if rule['select'] == 'if-triggered' and not any(
                n not in SILENT and t == thread and thread and
                (b >= begin if n in CONTEXTUAL else e >= begin) for n, t, b, e, _ in kept):
            continue
        if TYPES[name][1] and end - begin < rule['threshold']:
            continue
        if rule['throttle']:
            count, window = rule['throttle']
            place = (name, (REAL_NS + end) // window)
            windows[place] += 1
            if windows[place] > count:
                continue
        kept.append(row)
    return sorted(r[4] for r in kept)


def check_one(weft, make, rnd, directory):
    rows, settings = random_events(rnd), random_settings(rnd)
    text = ''.join('type %s %s %s\n' % (n, c, 'lasts' if l else 'instant')
                   for n, (c, l) in TYPES.items())
    for row in rows:
        text += 'event %s %d %d %d %d\n' % row
        if rnd.random() < 0.1:
            text += 'chunk\n'
    path, merged = directory + '/events.jfr', directory + '/merged.jfr'
    subprocess.run([make, path], input=text.encode(), check=True)
    words = ['%s#%s=%s' % s for s in settings]
    done = subprocess.run([weft, 'merge', '-o', merged, '--set', ','.join(words), path],
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit('exit %d: %s' % (done.returncode, done.stderr.decode()))
    found = sorted(e['values']['id'] for e in events(weft, merged) if e['type'] in TYPES)
    expected = model(rows, settings)
    if found != expected:
        sys.exit('%s\n%s\n  found    %r\n  expected %r' % ('\n'.join(words), text, found, expected))
    return len(rows), len(found)


def check_model(weft, _write, make):
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    count = int(sys.argv[6]) if len(sys.argv) > 6 else 150
    rnd = random.Random(seed)
    all_rows = all_kept = 0
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(count):
            rows, kept = check_one(weft, make, rnd, directory)
            all_rows += rows
            all_kept += kept
    if not all_rows / 10 < all_kept < all_rows * 9 / 10:
        sys.exit('of %d events %d are kept: that tells nothing' % (all_rows, all_kept))
    print('# %d of %d events kept, as the model says' % (all_kept, all_rows))


def main():
    what, weft, write, make = sys.argv[1:5]
    if what != 'model' and not jdks():
        sys.exit(SKIP)
    {'jvm': check_jvm, 'several': check_several, 'select': check_select,
     'model': check_model}[what](weft, write, make)


if __name__ == '__main__':
    main()
