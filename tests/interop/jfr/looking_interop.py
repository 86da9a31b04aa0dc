#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs that look at recordings say what the JDK's tool says.

usage: looking_interop.py summary WEFT JFR_WRITE

summary    weft summary and jfr summary agree on version, chunks, start, counts and sizes, for a
           recording of a JVM, one of ours, and one twice over

Exit 77: there is no JDK here.
"""
import json
import os
import re
import sys
import tempfile

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


def summary(weft, write, directory):
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


if __name__ == '__main__':
    with tempfile.TemporaryDirectory(prefix='weft-looking-') as scratch:
        sys.exit({'summary': summary}[sys.argv[1]](sys.argv[2], sys.argv[3], scratch))
