#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs that look at recordings say what the JDK's tool says.

usage: looking_interop.py summary|metadata|live WEFT JFR_WRITE JFR_DUMP

summary    weft summary and jfr summary agree on version, chunks, start, counts and sizes, for a
           recording of a JVM, one of ours, and one twice over
metadata   weft metadata but for its comments is line by line jfr metadata, of both recordings,
           with globs of names and of categories, and in JSON
live       the open chunk of a running JVM is followed to its end: what came is what a stream
           inside that JVM was given, and what the JVM was asked to record

Exit 77: there is no JDK here.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # beside the sources
from jfr_interop import SKIP, jdks, record_jvm, run, same


def rows_of(text):
    """Head lines but the duration, and {name: (count, bytes)}; a name may be there twice."""
    rows = {}
    for name, count, size in re.findall(r'^ (\S+)\s+(\d+)\s+(\d+)$', text, re.M):
        name = name.replace('jdk.Checkpoint', 'jdk.CheckPoint')  # as JDK 25 spells it
        before = rows.get(name, (0, 0))
        rows[name] = (before[0] + int(count), before[1] + int(size))
    head = re.findall(r'^ (?:Version|Chunks|Start): .*$', text, re.M)
    same('head lines', len(head), 3)
    return head, rows


def recordings(write, bin_dir, version, directory):
    ours = directory + '/ours.jfr'
    jvm = record_jvm(bin_dir, version, directory)
    twice = directory + '/twice.jfr'
    run(write, ours)
    with open(twice, 'wb') as out:
        for path in jvm, jvm:
            with open(path, 'rb') as part:
                out.write(part.read())
    return [ours, jvm, twice]


def summary(weft, write, _, directory):
    for version, bin_dir in jdks().items():
        for path in recordings(write, bin_dir, version, directory):
            name = 'JDK %d, %s' % (version, os.path.basename(path))
            theirs = run(bin_dir + 'jfr', 'summary', path)
            mine = run(weft, 'summary', path)
            same(name, rows_of(mine), rows_of(theirs))
            told = json.loads(run(weft, 'summary', '--json', path))
            rows = {e['name']: (e['count'], e['bytes']) for e in told['events']}
            same(name + ', JSON', rows, rows_of(theirs)[1])
            same(name + ', bytes', told['bytes'], os.path.getsize(path))
            print('%s: %d events agree' % (name, sum(c for c, _ in rows.values())))
    return 0 if jdks() else SKIP


# ------------------------------------------------------------------ metadata

SELECTIONS = [], ['--events', 'ThreadPark,*Sample'], ['--categories', 'JVM,Java*'], [
    '--categories', 'Flight Recorder'], ['--events', 'jdk.CPULoad']


def declarations(text):
    return [line for line in text.splitlines() if not line.startswith('  // setting ')]


def check_json(name, told, text):
    types = {t['name']: t for t in told['types']}
    same(name + ', types', len(types), text.count('\nclass ') + text.startswith('class '))
    same(name + ', fields', sum(len(t['fields']) for t in told['types']),
         len(re.findall(r'^  [\w\[\]]+ \w+;$', text, re.M)))
    park = types.get('jdk.ThreadPark')
    if park:
        settings = {s['name']: s['type'] for s in park['settings']}
        same('settings', settings['threshold'], 'jdk.settings.Threshold')
        same('enabled', settings['enabled'], 'jdk.settings.Enabled')


def metadata(weft, write, _, directory):
    for version, bin_dir in jdks().items():
        for path in recordings(write, bin_dir, version, directory)[:2]:
            for select in SELECTIONS:
                name = 'JDK %d, %s %s' % (version, os.path.basename(path), ' '.join(select))
                theirs = run(bin_dir + 'jfr', 'metadata', *select, path)
                mine = subprocess.run([weft, 'metadata', *select, path], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, check=False).stdout.decode()
                same(name, declarations(mine), theirs.splitlines())
            text = run(weft, 'metadata', path)
            check_json(name, json.loads(run(weft, 'metadata', '--json', path)), text)
            print('JDK %d, %s: %d lines agree' % (version, os.path.basename(path),
                                                  len(text.splitlines())))
    return 0 if jdks() else SKIP


# ------------------------------------------------------------------ live

TICKS = 100


def repository_file(directory, java):
    """The chunk that a JVM is writing; it has one as soon as it records."""
    while java.poll() is None:
        found = glob.glob(directory + '/repository-*/*/*.jfr')
        if found:
            return found[0]
        time.sleep(0.01)
    sys.exit('no repository: the JVM is gone')


def live(_, __, dump, directory):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'Live.java')
    done = 0
    for version, bin_dir in jdks().items():
        if not os.path.exists(bin_dir + 'javac'):
            continue
        classes = '%s/classes-%d' % (directory, version)
        run(bin_dir + 'javac', '-d', classes, source)
        java = subprocess.Popen(
            [bin_dir + 'java', '-XX:FlightRecorderOptions:repository=%s/repository-%d' % (
                directory, version), '-cp', classes, 'Live', str(TICKS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        follower = subprocess.Popen([dump, 'follow', repository_file(directory, java),
                                     'app.Tick', str(TICKS)], stdout=subprocess.PIPE)
        out = follower.communicate(timeout=120)[0].decode()
        # the program waits until it is told: all of it was read while the chunk was open
        same('running', java.poll(), None)
        given = java.communicate(b'\n', timeout=60)[0].decode()
        same('JDK %d, followed' % version, [json.loads(line)['n'] for line in out.splitlines()],
             list(range(TICKS)))
        same('JDK %d, text' % version, json.loads(out.splitlines()[-1])['text'],
             'tick %d' % (TICKS - 1))
        same('JDK %d, its own stream' % version, int(given), TICKS)
        for path in glob.glob(directory + '/repository-*'):
            shutil.rmtree(path, ignore_errors=True)
        print('JDK %d: %d events of an open chunk' % (version, TICKS))
        done += 1
    return 0 if done else SKIP


if __name__ == '__main__':
    with tempfile.TemporaryDirectory(prefix='weft-looking-') as scratch:
        sys.exit({'summary': summary, 'metadata': metadata, 'live': live}[sys.argv[1]](
            *sys.argv[2:5], scratch))
