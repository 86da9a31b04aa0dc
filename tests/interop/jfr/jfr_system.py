#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording says of machine, program and itself, against who knows better.

usage: jfr_system.py types|values|environment|loss|tools|limits|jmc WEFT JFR_DUMP

types        the JDK's own metadata has the same types, fields and annotations
values       uname, /proc and the recorded program's own mappings say the same
environment  variables are there when asked for, and no secret is in the file
loss         jdk.DataLoss tells what the counters tell, when records are lost
tools        jfr print, summary, metadata, disassemble, assemble; each chunk by itself
limits       the same of a file that is kept small, also while it is written and after SIGKILL
jmc          JDK Mission Control's loader reads the same counts and values

Exit 77: the tool is not to be had here.
"""
import collections
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # beside the sources
from jfr_interop import SKIP, dumped, jdks, run, same, summary

JMC_VERSION = '8.3.1'
JMC = 'org.openjdk.jmc:flightrecorder:' + JMC_VERSION
EACH_CHUNK = ['jdk.ActiveRecording', 'jdk.OSInformation', 'jdk.CPUInformation', 'jdk.CPULoad',
              'jdk.PhysicalMemory', 'jdk.NativeLibrary', 'weft.Recording']
TYPES = EACH_CHUNK[:-1] + ['jdk.InitialEnvironmentVariable', 'jdk.DataLoss', 'jdk.Shutdown',
                           'jdk.ThreadStart', 'jdk.ThreadEnd']
# later JDKs have no thread and no stack here, nor do we
LEFT_OUT = {'jdk.ActiveRecording': ['duration', 'eventThread', 'stackTrace']}
# 25 has it, 17 has not
ADDED = {'jdk.ActiveRecording': ['disk']}
LATE = 'libz.so.1'
BURN = 'import time\nend = time.process_time() + %s\nwhile time.process_time() < end: pass\n'


def record(weft, path, *command, options=(), status=0, environment=None):
    done = subprocess.run([weft, 'record', '-o', path, *options, '--', *command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False, env=environment)
    if done.returncode != status:
        sys.exit('weft record: status %d\n%s' % (done.returncode, done.stderr.decode()))
    return done.stdout.decode()


def python(program):
    return [sys.executable, '-c', program]


# ------------------------------------------------------------------ types

def classes(text):
    """name -> [(field, type, {annotations})] of `jfr metadata`."""
    found = {}
    for name, body in re.findall(r'^class (\w+) extends jdk\.jfr\.Event \{\n(.*?)^\}', text,
                                 re.M | re.S):
        fields, notes = [], []
        for line in body.splitlines():
            line = line.strip()
            if line.startswith('@'):
                if not line.startswith(('@Label', '@Description')):
                    notes.append(line)
            elif line:
                kind, field = line.rstrip(';').rsplit(None, 1)
                fields.append((field, kind.split('.')[-1], tuple(sorted(notes))))
                notes = []
        found[name] = fields
    return found


def types(weft, _, directory):
    path = directory + '/types.jfr'
    record(weft, path, 'true')
    for version, bin_dir in jdks().items():
        theirs = classes(run(bin_dir + 'jfr', 'metadata'))
        ours = classes(run(bin_dir + 'jfr', 'metadata', path))
        for name in TYPES:
            plain = name.split('.')[1]
            if plain not in theirs:
                sys.exit('JDK %d has no %s' % (version, name))
            expected = [f for f in theirs[plain] if f[0] not in LEFT_OUT.get(name, [])]
            known = [f[0] for f in expected]
            found = [f for f in ours.get(plain, []) if f[0] in known or
                     f[0] not in ADDED.get(name, [])]
            same('JDK %d %s' % (version, name), found, expected)
        print('JDK %d: %d types alike' % (version, len(TYPES)))
    return 0 if jdks() else SKIP


# ------------------------------------------------------------------ values

def places(maps):
    """path -> (base, top) of files with code, from the text of /proc/PID/maps."""
    found, code = {}, set()
    for line in maps.splitlines():
        match = re.match(r'(\w+)-(\w+) (\S+) \S+ \S+ (\d+)\s+(.*)', line)
        if match and match.group(4) != '0':
            path = match.group(5)
            base, top = int(match.group(1), 16), int(match.group(2), 16)
            found[path] = (min(base, found.get(path, (base,))[0]), top)
            if 'x' in match.group(3):
                code.add(path)
    return {path: found[path] for path in code}


def check_libraries(weft, dump, directory):
    path = directory + '/cat.jfr'
    program = ('import ctypes, time\nctypes.CDLL("%s")\ntime.sleep(1)\n'
               'print(open("/proc/self/maps").read())\n' % LATE)
    expected = places(record(weft, path, *python(program), options=['--chunk-time', '100ms']))
    found = {e['name']: (e['baseAddress'], e['topAddress'])
             for e in dumped(dump, path, 'jdk.NativeLibrary')}
    if not any('libz.so' in name for name in expected):
        sys.exit('the program did not load libz.so: %r' % expected)
    same('libraries', {n: p for n, p in found.items() if n in expected}, expected)


def one(dump, path, name):
    rows = dumped(dump, path, name)
    if not rows:
        sys.exit('no ' + name)
    return rows[0]


def check_machine(dump, path):
    if os.uname().release not in one(dump, path, 'jdk.OSInformation')['osVersion']:
        sys.exit('osVersion: ' + one(dump, path, 'jdk.OSInformation')['osVersion'])
    cpu = one(dump, path, 'jdk.CPUInformation')
    same('hwThreads', cpu['hwThreads'], os.sysconf('SC_NPROCESSORS_ONLN'))
    if not 1 <= cpu['sockets'] <= cpu['cores'] <= cpu['hwThreads']:
        sys.exit('CPUInformation: %r' % cpu)
    with open('/proc/meminfo', encoding='ascii') as text:
        total = int(re.match(r'MemTotal:\s+(\d+) kB', text.read()).group(1)) * 1024
    memory = one(dump, path, 'jdk.PhysicalMemory')
    same('totalSize', memory['totalSize'], total)
    if not 0 < memory['usedSize'] < total:
        sys.exit('usedSize: %r' % memory)


def check_load(dump, path, seconds, most, processors):
    """The shares, weighted by their time, add up to the CPU time that was used: more than what the
    program used by its own clock, less than what the kernel charged to it and to weft together.
    The kernel counts time by ticks here, looks are a second and more apart."""
    rows = dumped(dump, path, 'jdk.CPULoad')
    start = one(dump, path, 'weft.Recording')['start_ns']
    used = 0
    for row in sorted(rows, key=lambda r: r['start_ns']):
        user, kernel, machine = row['jvmUser'], row['jvmSystem'], row['machineTotal']
        if min(user, kernel, machine) < 0 or machine > 1 or user + kernel > machine + 1e-6:
            sys.exit('CPULoad: %r' % row)
        used += (user + kernel) * (row['start_ns'] - start) / 1e9 * processors
        start = row['start_ns']
    if not 0.6 * seconds < used < 1.4 * most:
        sys.exit('CPULoad: %.2f s used, and not %.2f to %.2f: %r' % (used, seconds, most, rows))


def children_used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def check_recording(dump, path):
    row = one(dump, path, 'jdk.ActiveRecording')
    same('destination', row['destination'], path)
    same('name', row['name'], os.path.basename(path))
    same('limits', (row['maxSize'], row['maxAge']), (5 << 20, 3600000))
    same('duration', row['recordingDuration'], 2**63 - 1)
    if abs(row['recordingStart'] / 1000 - time.time()) > 300:
        sys.exit('recordingStart: %r' % row)


def values(weft, dump, directory):
    path = directory + '/values.jfr'
    command = ['sh', '-c', '"$0" -c "$1"; exit 3', sys.executable, BURN % '1.5']
    before = children_used()
    record(weft, path, *command, options=['--max-size', '5M', '--max-age', '1h'], status=3)
    most = children_used() - before
    check_machine(dump, path)
    check_recording(dump, path)
    check_load(dump, path, 1.5, most, os.sysconf('SC_NPROCESSORS_ONLN'))
    same('reason', one(dump, path, 'jdk.Shutdown')['reason'], 'Exited with status 3')
    threads = collections.Counter(e['thread']['osName']
                                  for e in dumped(dump, path, 'jdk.ThreadStart'))
    ends = collections.Counter(e['thread']['osName']
                               for e in dumped(dump, path, 'jdk.ThreadEnd'))
    same('threads that end', ends, threads)
    if os.path.basename(os.path.realpath(sys.executable))[:15] not in threads and \
            os.path.basename(sys.executable)[:15] not in threads:
        sys.exit('threads: %r' % threads)
    record(weft, path, 'sh', '-c', 'kill -9 $$', status=137)
    if not one(dump, path, 'jdk.Shutdown')['reason'].startswith('Killed by signal 9 ('):
        sys.exit('reason: %r' % one(dump, path, 'jdk.Shutdown'))
    record(weft, path, 'true')
    same('loads of a short recording', len(dumped(dump, path, 'jdk.CPULoad')), 1)
    check_libraries(weft, dump, directory)
    return 0


# ------------------------------------------------------------------ environment

def environment(weft, dump, directory):
    path = directory + '/environment.jfr'
    mine = dict(os.environ, MY_API_TOKEN='verysecret1', MY_URL='ftp://me:verysecret2@h/x',
                MY_OPTIONS='--password=verysecret3 -v', MY_PLAIN='plain text')
    record(weft, path, 'true', environment=mine)
    same('variables, off', dumped(dump, path, 'jdk.InitialEnvironmentVariable'), [])
    record(weft, path, *python(BURN % '0.3'), options=['--environment', '--chunk-time', '100ms'],
           environment=mine)
    rows = dumped(dump, path, 'jdk.InitialEnvironmentVariable')
    shown = {e['key']: e['value'] for e in rows}
    same('token', shown['MY_API_TOKEN'], '[redacted]')
    same('URL', shown['MY_URL'], 'ftp://[redacted]@h/x')
    same('options', shown['MY_OPTIONS'], '--password=[redacted] -v')
    same('plain', shown['MY_PLAIN'], 'plain text')
    same('names', set(mine) - set(shown), set())
    if len(rows) < 2 * len(shown):
        sys.exit('variables are not in each chunk: %d rows of %d' % (len(rows), len(shown)))
    with open(path, 'rb') as file:
        if b'verysecret' in file.read():
            sys.exit('a secret is in the file')
    return 0


# ------------------------------------------------------------------ loss

def loss(weft, dump, directory):
    """weft stands still while a program is sampled: the ring runs full."""
    path = directory + '/loss.jfr'
    child = subprocess.Popen([weft, 'record', '-o', path, '--ring', '32K', '--stack', 'raw', '-i',
                              '1ms', '--', *python(BURN % '2')], stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    time.sleep(0.5)
    os.kill(child.pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(child.pid, signal.SIGCONT)
    if child.wait(timeout=120):
        sys.exit('weft record: status %d' % child.returncode)
    counted = collections.Counter()
    for row in dumped(dump, path, 'weft.Counter'):
        if row['kind'] == 'lost':
            counted[row['name']] += row['value']
    lost = sum(counted.values())
    if not lost:
        print('nothing was lost')
        return SKIP
    rows = dumped(dump, path, 'jdk.DataLoss')
    same('amount', sum(r['amount'] for r in rows), 152 * lost)
    same('total', max(r['total'] for r in rows), 152 * lost)
    print('%d samples lost: %r' % (lost, dict(counted)))
    return 0


# ------------------------------------------------------------------ tools

def check_chunks(bin_dir, path, directory, each):
    """Taken apart, each chunk stands for itself; put together they are the file."""
    parts, whole = directory + '/parts', directory + '/whole.jfr'
    shutil.rmtree(parts, ignore_errors=True)
    os.mkdir(parts)
    run(bin_dir + 'jfr', 'disassemble', '--output', parts, '--max-chunks', '1', path)
    names = sorted(glob.glob(parts + '/*.jfr'))
    if len(names) < 3:
        sys.exit('%d chunks' % len(names))
    for name in names:
        rows = summary(bin_dir + 'jfr', name)
        if not rows and name == names[0]:
            continue # without events, there from the first moment on
        # of processes that have ended before there is nothing more to tell in the last one
        missing = [e for e in each if e not in rows and
                   (e != 'jdk.NativeLibrary' or 'weft.Process' in rows)]
        same('chunk ' + name, missing, [])
    run(bin_dir + 'jfr', 'print', '--events', 'jdk.*', names[-1])
    if os.path.exists(whole):
        os.remove(whole)
    run(bin_dir + 'jfr', 'assemble', parts, whole)
    with open(path, 'rb') as one_file, open(whole, 'rb') as other:
        if one_file.read() != other.read():
            sys.exit('assembled, it is another file')
    return len(names)


def check_tools(version, bin_dir, dump, path, directory, each):
    theirs = {n: c for n, (c, _) in summary(bin_dir + 'jfr', path).items()}
    ours = {n: int(c) for n, c, _ in (
        line.split() for line in run(dump, 'summary', path).splitlines()) if int(c)}
    same('JDK %d counts' % version, theirs, ours)
    for option in [], ['--json'], ['--xml']:
        run(bin_dir + 'jfr', 'print', *option, path)
    run(bin_dir + 'jfr', 'metadata', path)
    chunks = check_chunks(bin_dir, path, directory, each) if each else 0
    print('JDK %d: %d events, %d chunks' % (version, sum(theirs.values()), chunks))


def tools(weft, dump, directory):
    path = directory + '/tools.jfr'
    record(weft, path, *python(BURN % '0.2' + 'time.sleep(1.5)\n'), options=['--chunk-time', '400ms'])
    each = EACH_CHUNK # one JDK takes it apart: a hundred commands
    for version, bin_dir in jdks().items():
        check_tools(version, bin_dir, dump, path, directory, each)
        each = []
    return 0 if jdks() else SKIP


# ------------------------------------------------------------------ limits

def limits(weft, dump, directory):
    path = directory + '/limits.jfr'
    if not jdks():
        return SKIP
    version, bin_dir = list(jdks().items())[0]
    child = subprocess.Popen([weft, 'record', '-o', path, '--max-age', '1s', '--chunk-time',
                              '200ms', '--', *python(BURN % '100')],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    now, first = directory + '/now.jfr', None
    try:
        for _ in range(5):
            time.sleep(0.8)
            if not os.path.exists(path):
                continue
            shutil.copy(path, now) # it may be replaced between two commands
            summary(bin_dir + 'jfr', now)
            begins = [e['start_ns'] for e in dumped(dump, now, 'jdk.CPULoad')]
            first = first or (begins and min(begins))
        if not begins or min(begins) <= first:
            sys.exit('the beginning stays where it is: %r' % begins)
    finally:
        child.kill()
        child.wait()
        os.killpg(child.pid, signal.SIGKILL)
    check_tools(version, bin_dir, dump, path, directory, EACH_CHUNK)
    same('files', sorted(os.listdir(directory)),
         ['limits.jfr', 'now.jfr', 'parts', 'whole.jfr'])
    return 0


# ------------------------------------------------------------------ jmc

def jmc_jars():
    """flightrecorder and what it needs; [] when it is not to be had."""
    home = os.path.expanduser('~/.m2/repository/')
    jar = home + 'org/openjdk/jmc/flightrecorder/%s/flightrecorder-%s.jar' % (JMC_VERSION,
                                                                              JMC_VERSION)
    if not os.path.exists(jar) and shutil.which('mvn'):
        try:
            subprocess.run(['mvn', '-q', 'dependency:get', '-Dartifact=' + JMC],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            pass
    if not os.path.exists(jar):
        return []
    needed = ['org/openjdk/jmc/common/*', 'org/owasp/encoder/encoder/*', 'org/lz4/lz4-java/*']
    return [jar] + [one_jar for place in needed for one_jar in glob.glob(home + place + '/*.jar')]


def load_with_jmc(java, jars, path):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'LoadWithJmc.java')
    counts, rows = {}, collections.defaultdict(list)
    for line in run(java, '-cp', ':'.join(jars), source, path).splitlines():
        if line.startswith('# '):
            counts[line.split()[1]] = int(line.split()[2])
        else:
            words = line.split('\t')
            rows[words[0]].append(dict(word.split('=', 1) for word in words[1:]))
    return counts, rows


def jmc(weft, dump, directory):
    jars = jmc_jars()
    java = [b for b in jdks().values() if os.path.exists(b + 'javac')]
    if not jars or not java:
        print('no %s or no JDK' % JMC)
        return SKIP
    path = directory + '/jmc.jfr'
    clocks = BURN.replace('pass', 'time.monotonic()') # some of it in [vdso]
    record(weft, path, *python(clocks % '1.2'), options=['--environment', '--chunk-time',
                                                         '400ms'])
    counts, rows = load_with_jmc(java[-1] + 'java', jars, path)
    ours = {n: int(c) for n, c, _ in (
        line.split() for line in run(dump, 'summary', path).splitlines()) if int(c)}
    same('counts', counts, ours)
    check_jmc_rows(dump, path, rows)
    print('JMC %s: %d events alike' % (JMC_VERSION, sum(counts.values())))
    return 0


def check_jmc_rows(dump, path, rows):
    cpu = one(dump, path, 'jdk.CPUInformation')
    seen = rows['jdk.CPUInformation'][0]
    same('processors', [seen[k] for k in ('cpu', 'sockets', 'cores', 'hwThreads')],
         [str(cpu[k]) for k in ('cpu', 'sockets', 'cores', 'hwThreads')])
    same('variables', {r['key']: r['value'] for r in rows['jdk.InitialEnvironmentVariable']},
         {r['key']: r['value'] for r in dumped(dump, path, 'jdk.InitialEnvironmentVariable')})
    same('libraries', sorted(r['name'] for r in rows['jdk.NativeLibrary']),
         sorted(r['name'] for r in dumped(dump, path, 'jdk.NativeLibrary')))
    same('reason', rows['jdk.Shutdown'][0]['reason'], 'Exited with status 0')
    if not any('<vdso>.' in r['stackTrace'] for r in rows['jdk.ExecutionSample']):
        sys.exit('no frame in [vdso]: nothing is shown')
    samples = collections.Counter(r['eventThread'] for r in rows['jdk.ExecutionSample'])
    same('threads', samples, collections.Counter(
        e['eventThread']['osName'] for e in dumped(dump, path, 'jdk.ExecutionSample')))


if __name__ == '__main__':
    with tempfile.TemporaryDirectory(prefix='weft-jfr-') as scratch:
        sys.exit(globals()[sys.argv[1]](sys.argv[2], sys.argv[3], scratch))
