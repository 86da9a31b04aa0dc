#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows our recordings to other tools, and other recorders' recordings to our reader.

usage: jfr_interop.py written|jvm|converter JFR_WRITE JFR_DUMP

written    jfr summary, metadata, print of every JDK found open what the writer wrote, and
           show the right counts, values and (JDK 25 and later) contexts
jvm        the reader gives the same counts, sizes and values as the JDK's own tool for a
           recording that a JVM made
converter  async-profiler's converter reads what the writer wrote

Exit 77: the tool is not to be had here.
"""
import collections
import datetime
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SKIP = 77
START_NS = 3000000000
REAL_NS = 1700000000000000000
CONVERTER = 'tools.profiler:jfr-converter:4.1'
EVENTS = {'jdk.ExecutionSample': 15, 'weft.Span': 6, 'test.Kinds': 5, 'jdk.ActiveSetting': 2}
INTERNAL = {'jdk.Metadata', 'jdk.CheckPoint', 'jdk.Checkpoint'}


# A tool that runs for a moment: the best code and more threads for garbage come too late for it.
FOR_A_MOMENT = ['-J-XX:TieredStopAtLevel=1', '-J-XX:+UseSerialGC']


def quickly(command):
    is_tool = os.path.basename(command[0]) in ('jfr', 'javac')
    return [command[0], *(FOR_A_MOMENT if is_tool else []), *command[1:]]


def run(*command, timeout=120):
    done = subprocess.run(quickly(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout, check=False)
    out = done.stdout.decode('utf-8')
    if done.returncode:
        sys.exit('%s: exit %d\n%s%s' % (' '.join(command), done.returncode, out,
                                        done.stderr.decode('utf-8', 'replace')))
    return out


def same(what, found, expected):
    if found != expected:
        sys.exit('%s:\n  found    %r\n  expected %r' % (what, found, expected))


def jdks():
    """Homes by major version, one each; the first found counts."""
    homes = [os.environ.get('JAVA_HOME', '')] + sorted(glob.glob('/usr/lib/jvm/*'))
    if shutil.which('jfr'):
        homes.append(os.path.dirname(os.path.dirname(os.path.realpath(shutil.which('jfr')))))
    found = {}
    for home in homes:
        if os.path.exists(home + '/bin/jfr') and os.path.exists(home + '/bin/java'):
            version = re.search(r'(\d+)', run(home + '/bin/java', '--version')).group(1)
            found.setdefault(int(version), home + '/bin/')
    return {v: b for v, b in sorted(found.items()) if v >= 17}


def epoch_ns(text):
    """2023-11-14T22:13:20.000001Z, with any number of digits and any offset."""
    match = re.match(r'(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$', text)
    zone = '+00:00' if match.group(3) == 'Z' else match.group(3)
    whole = match.group(1) if match.group(1).count(':') == 2 else match.group(1) + ':00'
    seconds = int(datetime.datetime.fromisoformat(whole + zone).timestamp())
    return seconds * 10**9 + int((match.group(2) or '0').ljust(9, '0'))


def summary(jfr, path):
    rows = {}
    for line in run(jfr, 'summary', path).splitlines():
        match = re.match(r' (\S+\.\S+)\s+(\d+)\s+(\d+)$', line)
        if match and int(match.group(2)) and match.group(1) not in INTERNAL:
            rows[match.group(1)] = (int(match.group(2)), int(match.group(3)))
    return rows


def printed(jfr, path, event):
    text = run(jfr, 'print', '--json', '--stack-depth', '100', '--events', event, path)
    return [e['values'] for e in json.loads(text)['recording']['events']]


def dumped(dump, path, event):
    return [json.loads(line) for line in run(dump, 'events', path, event).splitlines()]


# ------------------------------------------------------------------ written

def samples_with_context(text):
    """(leaf function, [span ids]) of each execution sample that jfr print shows."""
    out = []
    for block in re.findall(r'^jdk\.ExecutionSample \{(.*?)^\}', text, re.M | re.S):
        leaf = re.search(r'libwork\.so\.(\w+)\(\)', block).group(1)
        out.append((leaf, re.findall(r'Context: Span\.spanId = "(\w+)"', block)))
    return out


def check_kinds(rows):
    first, _, third, fourth, fifth = sorted(rows, key=lambda r: epoch_ns(r['startTime']))
    same('null text', first['text'], None)
    same('numbers -1', [third[k] for k in 'ysild'], [-1, -1, -1, -1, -0.25])
    same('text', third['text'], 'caf\u00e9 \U0001F600 "quoted\\"')
    same('long text', fourth['text'], 'x' * 300)
    same('largest', (fourth['l'], fourth['i']), (2**63 - 1, -1))
    same('repaired text', fifth['text'], 'bad \ufffd\ufffd\ufffd end')
    same('time', epoch_ns(first['startTime']), REAL_NS + 5700)


def check_samples(rows):
    same('sample times', sorted(epoch_ns(r['startTime']) - REAL_NS for r in rows)[:3],
         [1000, 2000, 2500])
    for row in rows:
        frames = row['stackTrace']['frames']
        same('frames', [f['type'] for f in frames], ['Native', 'C++', 'Native'])
        same('second', frames[1]['method']['name'], 'ns::serve(int)')
        same('module', frames[0]['method']['type']['name'], 'libwork.so')
        same('line', frames[0]['lineNumber'], 42)
        same('group', row['eventThread']['group']['name'], 'server [99]')
        same('state', row['state'], 'STATE_RUNNABLE')
    threads = collections.Counter(r['eventThread']['osName'] for r in rows)
    same('threads', threads, {'one': 11, 'two': 4})


def check_context(text):
    shown = samples_with_context(text)
    same('samples', len(shown), EVENTS['jdk.ExecutionSample'])
    for leaf, spans in shown:
        same('context of ' + leaf, ['in'] + spans, leaf.split('_'))


def written(write, dump, directory):
    path = directory + '/written.jfr'
    run(write, path)
    same('our summary', {n: c for n, c, _ in (
        line.split() for line in run(dump, 'summary', path).splitlines())},
         {n: str(c) for n, c in EVENTS.items()})
    for version, bin_dir in jdks().items():
        jfr = bin_dir + 'jfr'
        found = {name: count for name, (count, _) in summary(jfr, path).items()}
        same('JDK %d jfr summary' % version, found, EVENTS)
        metadata = run(jfr, 'metadata', path)
        if not re.search(r'@Contextual.*?class Span extends jdk\.jfr\.Event', metadata, re.S):
            sys.exit('JDK %d jfr metadata: no contextual weft.Span\n%s' % (version, metadata))
        check_samples(printed(jfr, path, 'jdk.ExecutionSample'))
        check_kinds(printed(jfr, path, 'test.Kinds'))
        text = run(jfr, 'print', path)
        if version >= 25:
            check_context(text)
            if 'libwork.so.in_first()' not in run(jfr, 'view', 'hot-methods', path):
                sys.exit('JDK %d jfr view hot-methods does not show the frames' % version)
        print('JDK %d: jfr summary, metadata, print%s' % (
            version, ', Context lines, view' if version >= 25 else ''))
    return 0 if jdks() else SKIP


# ------------------------------------------------------------------ jvm

def single(value):
    return struct.unpack('f', struct.pack('f', value))[0]


def check_values(theirs, ours):
    ours = {e['i']: e for e in ours}
    same('app.Values', sorted(e['i'] for e in theirs), sorted(ours))
    for e in theirs:
        mine = ours[e['i']]
        for key in 'text', 'l', 'd', 'y', 's':
            same('app.Values.' + key, mine[key], e[key])
        same('float', single(mine['f']), single(e['f']))
        same('boolean', bool(mine['b']), e['b'])
        same('char', chr(mine['c']), e['c'])
        same('class', mine['k']['name'], e['k']['name'])
        same('thread', mine['t']['javaName'], e['t']['javaName'])
        same('start', mine['start_ns'], epoch_ns(e['startTime']))


def sample_key(e, start_ns):
    frames = e['stackTrace']['frames']
    return (start_ns, e['sampledThread']['javaName'], e['state'], len(frames),
            tuple((f['method']['type']['name'], f['method']['name'], f['lineNumber'],
                   f['bytecodeIndex'], f['type']) for f in frames))


def check_executions(theirs, ours):
    same('jdk.ExecutionSample',
         sorted(sample_key(e, e['start_ns']) for e in ours),
         sorted(sample_key(e, epoch_ns(e['startTime'])) for e in theirs))


def record_jvm(bin_dir, version, directory):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'Burn.java')
    path = '%s/jvm-%d.jfr' % (directory, version)
    classes = '%s/classes-%d' % (directory, version)
    run(bin_dir + 'javac', '-encoding', 'UTF-8', '-d', classes, source)
    run(bin_dir + 'java', '-XX:StartFlightRecording:filename=%s,settings=profile' % path,
        '-Dfile.encoding=UTF-8', '-cp', classes, 'Burn')
    return path


def jvm(_, dump, directory):
    done = 0
    for version, bin_dir in jdks().items():
        if not os.path.exists(bin_dir + 'javac'):
            continue
        path = record_jvm(bin_dir, version, directory)
        ours = {n: (int(c), int(b)) for n, c, b in (
            line.split() for line in run(dump, 'summary', path).splitlines())}
        same('JDK %d counts and sizes' % version, ours, summary(bin_dir + 'jfr', path))
        if len(ours) < 30 or 'app.Values' not in ours:
            sys.exit('JDK %d recorded too little: %r' % (version, ours))
        check_values(printed(bin_dir + 'jfr', path, 'app.Values'),
                     dumped(dump, path, 'app.Values'))
        check_executions(printed(bin_dir + 'jfr', path, 'jdk.ExecutionSample'),
                         dumped(dump, path, 'jdk.ExecutionSample'))
        print('JDK %d: %d types, %d events read alike' % (
            version, len(ours), sum(c for c, _ in ours.values())))
        done += 1
    return 0 if done else SKIP


# ------------------------------------------------------------------ converter

def converter_jar():
    group, name, version = CONVERTER.split(':')
    jar = os.path.expanduser('~/.m2/repository/%s/%s/%s/%s-%s.jar' % (
        group.replace('.', '/'), name, version, name, version))
    if not os.path.exists(jar) and shutil.which('mvn'):
        try:
            subprocess.run(['mvn', '-q', 'dependency:get', '-Dartifact=' + CONVERTER,
                            '-Dtransitive=false'], stdin=subprocess.DEVNULL, timeout=90,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            pass
    return jar if os.path.exists(jar) else None


def converter(write, _, directory):
    jar = converter_jar()
    if not jar or not jdks():
        print('no %s or no JDK' % CONVERTER)
        return SKIP
    path, out = directory + '/written.jfr', directory + '/written.collapsed'
    run(write, path)
    java = list(jdks().values())[-1] + 'java'
    run(java, '-jar', jar, '-o', 'collapsed', path, out)
    with open(out, encoding='utf-8') as lines:
        counts = dict(line.rsplit(' ', 1) for line in lines.read().splitlines())
    same('samples', sum(int(c) for c in counts.values()), EVENTS['jdk.ExecutionSample'])
    same('stack', counts.get('0x1234;ns::serve(int);in_first'), '2')
    print('%s: all samples' % CONVERTER)
    return 0


if __name__ == '__main__':
    with tempfile.TemporaryDirectory(prefix='weft-jfr-') as scratch:
        sys.exit({'written': written, 'jvm': jvm, 'converter': converter}[sys.argv[1]](
            sys.argv[2], sys.argv[3], scratch))
