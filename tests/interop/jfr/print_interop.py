#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft print against `jfr print`, byte by byte, and value by value where bytes may differ.

usage: print_interop.py jvm|written|context WEFT JFR_WRITE

jvm      recordings that every JDK found makes (four chunks, every kind of field, the JDK's own
         events), in all three forms
written  what libweft-jfr writes, the same
context  Context lines of a recording with contextual events, by JDK 25 or later

Exit 77: the tool is not to be had here.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True  # beside the sources
from jfr_interop import SKIP, jdks, quickly, run, same

HERE = os.path.dirname(os.path.abspath(__file__))
ZONES = ['UTC', 'Asia/Kolkata', 'America/St_Johns']


def printed(*command):
    done = subprocess.run(quickly(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=240, check=False)
    if done.returncode:
        sys.exit('%s: exit %d\n%s' % (' '.join(command), done.returncode,
                                      done.stderr.decode('utf-8', 'replace')))
    # not splitlines(): a text may hold other ends of lines
    return done.stdout.decode('utf-8', 'surrogateescape').split('\n')


def record(bin_dir, directory, program, *arguments, zone='UTC'):
    path = '%s/%s.jfr' % (directory, program)
    run(bin_dir + 'javac', '-encoding', 'UTF-8', '-d', directory, '%s/%s.java' % (HERE, program))
    os.environ['TZ'] = zone
    run(bin_dir + 'java', '-XX:StartFlightRecording:filename=%s,settings=default' % path,
        '-cp', directory, program, *arguments)
    del os.environ['TZ']
    return path


def single(text):
    return struct.pack('f', float(text)) if abs(float(text)) < 3e38 else text


REAL = re.compile(r'-?\d+\.\d+(?:E-?\d+)?')


def is_alike(a, b):
    """Numbers that are equal though one has a digit more (JDKs before 19)."""
    if REAL.sub('#', a) != REAL.sub('#', b):
        return False
    pairs = zip(REAL.findall(a), REAL.findall(b))
    return all(float(x) == float(y) or single(x) == single(y) for x, y in pairs)


def compare(what, ours, theirs, version=17):
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if a != b and (version > 17 or not is_alike(a, b)):
            sys.exit('%s, line %d:\n  weft %r\n  jfr  %r' % (what, number, a, b))
    same(what + ': lines', len(ours), len(theirs))


def without(lines, start, end):
    """Leaves out blocks from a line to another."""
    kept, skipping = [], False
    for line in lines:
        skipping = skipping or line == start
        if not skipping:
            kept.append(line)
        skipping = skipping and line != end
    return kept


def as_17(lines):
    """What newer JDKs write, in the words of 17; unsigned numbers and the longest times are not
    comparable and left out."""
    out = []
    for line in lines:
        line = re.sub(r' \([-+]?\d{4,}-\d\d-\d\d\)$', '', line)
        line = re.sub(r'( = |": "?|>)(Forever|PT2562047788015215H30M7\.999999999S)', r'\1-', line)
        line = re.sub(r'( = |": "?|>)(106751991167 d 7 h|106752 d 0 h|PT2562047788015H12M55\.807S|'
                      r'PT2562047H47M16\.854775807S)', r'\1-', line)
        line = re.sub(r'( = |": |>)18446744073709551615', r'\1-1', line)
        line = re.sub(r'(javaThreadId = \d+), virtual\)', r'\1)', line)
        out.append(line)
    return out


def blocks(lines):
    """Each event of the text form, by its lines."""
    out, block = [], []
    for line in lines:
        block.append(line)
        if line == '}':
            out.append('\n'.join(block))
            block = []
        elif not line and block == ['']:
            block = []
    return out


BLOCKS = {
    '--xml': [('    <event type="app.Nasty">', '    </event>'),
              ('    <event type="test.Kinds">', '    </event>')],
    '': [('app.Nasty {', '}'), ('test.Kinds {', '}')],
}


def compare_forms(weft, version, jfr, path, depths):
    for form in '--json', '--xml', '':
        for depth in depths if form != '--xml' else depths[:1]:
            options = [form] * bool(form) + ['--stack-depth', str(depth)] * bool(depth)
            ours = printed(weft, 'print', *options, path)
            theirs = printed(jfr, 'print', *options, path)
            for start, end in BLOCKS.get(form, []):
                ours, theirs = without(ours, start, end), without(theirs, start, end)
            if version > 17:
                ours, theirs = as_17(ours), as_17(theirs)
            if version > 17 and not form: # newer ones sort the text of all chunks together
                ours, theirs = sorted(blocks(ours)), sorted(blocks(theirs))
            if len(ours) < 100 * bool(form):
                sys.exit('too little was printed to compare anything')
            compare('JDK %d jfr print %s' % (version, ' '.join(options)), ours, theirs, version)


def check_readable(weft, path):
    """What cannot be compared can be read all the same."""
    data = printed(weft, 'print', '--json', path)
    events = json.loads('\n'.join(data))['recording']['events']
    tree = xml.etree.ElementTree.fromstring('\n'.join(printed(weft, 'print', '--xml', path)))
    types = [e.get('type') for e in tree.find('events')]
    same('types', types, [e['type'] for e in events])
    text = '\n'.join(printed(weft, 'print', path))
    bad = re.search('[\0-\x08\x0b-\x1f\x7f-\x9f]', text)
    if bad:
        sys.exit('control character %r in the text' % bad.group(0))
    return len(events), len(set(types))


def check_selections(weft, jfr, path):
    for options in (['--events', 'Kinds'], ['--events', 'app.*,CPULoad'], ['--events', 'K?nds'],
                    ['--events', '*Kinds, GarbageCollection'], ['--categories', 'App'],
                    ['--categories', 'All of*'], ['--categories', 'JVM'], ['--categories', 'GC,FR'],
                    ['--categories', 'App', '--events', 'OSInformation']):
        ours = printed(weft, 'print', '--json', *options, path)
        compare(' '.join(options), ours, printed(jfr, 'print', '--json', *options, path))
        if len(ours) < 20:
            sys.exit('%s selects nothing' % ' '.join(options))


def jvm(weft, _, directory):
    done = 0
    for (version, bin_dir), zone in zip(jdks().items(), ZONES * 9):
        if not os.path.exists(bin_dir + 'javac'):
            continue
        own = '%s/%d' % (directory, version)
        path = record(bin_dir, own, 'Every', own + '/written', zone=zone)
        compare_forms(weft, version, bin_dir + 'jfr', path, [0, 64])
        if version == 17:
            check_selections(weft, bin_dir + 'jfr', path)
        print('JDK %d: %d events of %d types alike' % (version, *check_readable(weft, path)))
        done += 1
    return 0 if done else SKIP


def written(weft, write, directory):
    path = directory + '/written.jfr'
    run(write, path)
    for version, bin_dir in jdks().items():
        if version == 17:
            compare_forms(weft, version, bin_dir + 'jfr', path, [0, 1, 100])
            print('JDK 17: %d events of %d types alike' % check_readable(weft, path))
            return 0
    return SKIP


# ------------------------------------------------------------------ context

def check_structured(weft, path, text):
    """JSON and XML tell the same contexts as the text."""
    lines = [len(re.findall(r'^  Context: (?:Trace\.id|Order\.id) ', b, re.M)) for b in text]
    events = json.loads('\n'.join(printed(weft, 'print', '--context', '--json', '--events', 'app.*', path)))
    same('JSON', [len(e['context']) for e in events['recording']['events']], lines)
    tree = xml.etree.ElementTree.fromstring(
        '\n'.join(printed(weft, 'print', '--context', '--xml', '--events', 'app.*', path)))
    same('XML', [len(e.findall('context')) for e in tree.find('events')], lines)
    for e, x in zip(events['recording']['events'], tree.find('events')):
        same('types', [c['type'] for c in e['context']],
             [c.get('type') for c in x.findall('context')])
        for c in e['context']:
            if c['type'] == 'app.Trace':
                same('fields', sorted(c['values']), ['id', 'name'])


def context(weft, _, directory):
    done = 0
    for version, bin_dir in jdks().items():
        if version < 25 or not os.path.exists(bin_dir + 'javac'):
            continue
        path = record(bin_dir, directory, 'Contexts')
        for options in [], ['--events', 'Work'], ['--events', 'app.*']:
            theirs = blocks(as_17(printed(bin_dir + 'jfr', 'print', *options, path)))
            ours = blocks(as_17(printed(weft, 'print', '--context', *options, path)))
            # that tool sorts the events of all chunks together
            compare('events of ' + ' '.join(options), sorted(ours), sorted(theirs), version)
        found = sum(b.count('  Context: ') for b in ours)
        if found < 80 or not any('border 3' in b and 'n = 2003' in b for b in ours):
            sys.exit('too few contexts: %d' % found)
        check_structured(weft, path, ours)
        print('JDK %d: %d lines of context alike' % (version, found))
        done += 1
    return 0 if done else SKIP


if __name__ == '__main__':
    with tempfile.TemporaryDirectory(prefix='weft-print-') as scratch:
        sys.exit({'jvm': jvm, 'written': written, 'context': context}[sys.argv[1]](
            sys.argv[2], sys.argv[3], scratch))
