#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vandals.py [--seconds N] [--seed N]: programs that own the memory of their sessions, rewrite any
part of it while it is read, ask the rendezvous what nobody asks, and die at any moment; beside them
an honest one (vandal.c). TAP.

Each recording ends, has its program's status and output, and is silent of sanitizers; the collector
takes no more memory than it may, and no more the longer it runs; the honest program's samples are
in the file, where it may be as large as it likes; what reads it reads it to its end, and prints nothing that a terminal obeys. While the
vandals live, they are looked into from outside.

New recordings are begun for so many seconds (WEFT_SECONDS, 60), and then one that lasts a third as
long. A seed (WEFT_SEED; else another each time, and told) makes the same choices again, though not
at the same moments. What cannot be read is kept beside the build's logs.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.realpath(os.environ.get('BUILD', 'build'))
WEFT = os.path.join(BUILD, 'weft')
VANDAL = os.path.join(BUILD, 'tests/hostile/guests/vandal')
# What hangs; no figure is made of it.
PATIENCE = 600
# MiB. A sanitizer has shadows of what is mapped, and keeps what was freed.
IS_SANITIZED = os.environ.get('SANITIZED', 'none') != 'none'
MEMORY_MAX, GROWTH_MAX = (2048, 256) if IS_SANITIZED else (512, 64)
COMMANDS_TO_A_TERMINAL = re.compile(
    rb'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]')
REPORT_OF_SANITIZER = re.compile(rb'Sanitizer|runtime error:')
CHILDREN = 20
MANY = 1000000

READERS = [['report'], ['report', '--by', 'thread', '--json', '--top', '0'], ['report', '--counters'],
           ['summary']]
HONEST = ['report', '--by', 'function', '--json', '--top', '0']
# Each prints thirty times what is in the file: one of them, of small ones.
PRINTERS = [['print'], ['print', '--json'], []]
PRINTED_MAX = 2 << 20


class Fault(Exception):
    pass


def options_for(choose):
    options = ['-F', choose.choice(['199', '997']), '-e', choose.choice(['cpu', 'wall', 'cpu,wall']),
               '--stack', choose.choice(['auto', 'raw', 'table', 'fp']),
               '--ring', choose.choice(['32K', '64K', '256K']),
               '--chunk-time', choose.choice(['20ms', '200ms', '10s']),
               '--memory', choose.choice(['16M', '64M'])]
    options += choose.choice([[], [], ['--inline-context']])
    size = choose.choice(['1M', '1M', '2M', '2M', '4M', None])
    return options + (['--max-size', size] if size else [])


def shown(data):
    return data[-2000:].decode('utf-8', 'replace')


class Scene:
    """A directory, and what weft leaves there."""

    def __init__(self, work):
        self.work, self.file = work, os.path.join(work, 'v.jfr')
        self.most = 0
        silent = 'log_path=%s/sanitizer' % work
        self.env = dict(os.environ)
        for name, more in (('ASAN_OPTIONS', ':quarantine_size_mb=16'), ('UBSAN_OPTIONS', '')):
            given = os.environ.get(name)
            self.env[name] = (given + ':' if given else '') + silent + more

    def judge(self, what, data):
        """What a command of weft printed."""
        reports = glob.glob(os.path.join(self.work, 'sanitizer.*'))
        for path in reports:
            with open(path, 'rb') as report:
                data += report.read()
        if reports or REPORT_OF_SANITIZER.search(data):
            raise Fault('%s: a sanitizer reports:\n%s' % (what, shown(data)))
        # JSON that goes to no terminal may have more than a terminal should
        found = COMMANDS_TO_A_TERMINAL.search(data)
        if found and '--json' not in what:
            raise Fault('%s: prints %r' % (what, data[max(0, found.start() - 80):found.end() + 20]))
        try:
            data.decode('utf-8')
        except UnicodeDecodeError as error:
            raise Fault('%s: is no UTF-8: %s' % (what, error)) from error

    def run(self, words, statuses=(0,), excuse=None):
        """A command of weft: its status, and what it prints on its standard output. Status 1 is none
        of @statuses, but all right if that is why."""
        what = 'weft ' + ' '.join(words)
        try:
            done = subprocess.run([WEFT, *words], env=self.env, cwd=self.work, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired as error:
            raise Fault(what + ': hangs') from error
        self.judge(what, done.stdout + done.stderr)
        is_excused = excuse and done.returncode == 1 and excuse in done.stderr
        if done.returncode not in statuses and not is_excused:
            raise Fault('%s: status %d\n%s' % (what, done.returncode, shown(done.stderr)))
        return done.returncode, done.stdout

    def read(self, choose, is_whole):
        """How many samples of the honest program there are. If the file may have lost its oldest
        part, that can have been all of them."""
        readers, excuse = list(READERS), None if is_whole else b': no samples\n'
        if os.path.getsize(self.file) <= PRINTED_MAX:
            readers += filter(None, [choose.choice(PRINTERS)])
        for words in readers:
            status, printed = self.run([*words, self.file], excuse=excuse)
            if '--json' in words and status == 0:
                json.loads(printed)
        status, printed = self.run([*HONEST, self.file], excuse=excuse)
        rows = json.loads(printed)['rows'] if status == 0 else []
        honest = sum(row['self_samples'] for row in rows if row['key'] == 'honest_work')
        if honest == 0 and is_whole:
            raise Fault('no sample of the honest program')
        return honest

    def look(self, pid):
        """Into one who lies, and may be gone by now."""
        status, printed = self.run(['inspect', '--json', str(pid)], (0, 1))
        if status == 0:
            json.loads(printed)


def children_of(pid):
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as text:
            return [int(word) for word in text.read().split()]
    except OSError:
        return []


def memory_of(pid):
    """In MiB: all that is resident, and what of it is the process's own, thus neither a file's nor
    the memory of sessions, which goes when their programs do; 0, 0: it is gone."""
    try:
        with open('/proc/%d/statm' % pid, encoding='ascii') as text:
            resident, shared = (int(word) for word in text.read().split()[1:3])
    except (OSError, ValueError):
        return 0, 0
    mib = os.sysconf('SC_PAGE_SIZE') / 2**20
    return resident * mib, (resident - shared) * mib


def watch(scene, recorder, choose, seconds):
    """Until it has ended: its memory, time after time. From then on that it has lasted
    so long (None: it ends by itself) the honest program begins no more children."""
    began, memory = time.monotonic(), []
    while recorder.poll() is None:
        passed = time.monotonic() - began
        memory.append(memory_of(recorder.pid))
        honest = children_of(recorder.pid)[:1]
        if seconds is not None and passed > seconds and honest:
            os.kill(honest[0], signal.SIGTERM)
        if passed > (seconds or 0) + PATIENCE:
            raise Fault('weft record: hangs')
        pids = children_of(honest[0]) if honest else []
        if pids and choose.random() < 0.1:
            scene.look(choose.choice(pids))
        time.sleep(0.1)
    return memory


def record(scene, options, choose, seconds):
    words = [WEFT, 'record', *options, '-o', scene.file, '--', VANDAL,
             str(choose.randrange(1, 2**31)), str(CHILDREN if seconds is None else MANY),
             VANDAL + '-stranger']
    with open(os.path.join(scene.work, 'out'), 'w+b') as out, \
            open(os.path.join(scene.work, 'err'), 'w+b') as err:
        recorder = subprocess.Popen(words, env=scene.env, cwd=scene.work, stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=err, start_new_session=True)
        try:
            memory = watch(scene, recorder, choose, seconds)
        finally:
            if recorder.poll() is None:
                os.killpg(recorder.pid, signal.SIGKILL)
                recorder.wait()
        out.seek(0)
        err.seek(0)
        printed, told = out.read(), err.read()
    scene.judge('weft record', told)
    if recorder.returncode != 7 or printed != b'done\n':
        raise Fault('weft record: status %d\n%s%s' % (recorder.returncode, shown(printed), shown(told)))
    scene.most = max([scene.most, *(resident for resident, _ in memory)])
    return [own for _, own in memory]


def one_recording(scene, seed, seconds=None):
    """Its own memory, and how many samples of the honest program there are."""
    choose = random.Random(seed)
    options = options_for(choose)
    try:
        memory = record(scene, options, choose, seconds)
        return memory, scene.read(choose, '--max-size' not in options)
    except Fault as fault:
        kept = os.path.join(BUILD, 'meson-logs', 'vandals-%s.jfr' % seed)
        if os.path.exists(scene.file):
            shutil.copy(scene.file, kept)
        raise Fault('seed %s, %s: %s\n(%s)' % (seed, ' '.join(options), fault, kept)) from fault


def grown(memory):
    """By how much the last quarter had more than the second."""
    quarter = len(memory) // 4
    return max(memory[-quarter:]) - max(memory[quarter:2 * quarter]) if quarter else 0


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def say(self, text, fault=None):
        self.number += 1
        self.failed += fault is not None
        print('%s %d - %s' % ('not ok' if fault else 'ok', self.number, text), flush=True)
        for line in (fault or '').splitlines():
            print('#   ' + line, flush=True)

    def finish(self):
        print('1..%d' % self.number)
        return 1 if self.failed else 0


def short_ones(scene, seed, seconds, tap):
    end, count, honest = time.monotonic() + seconds, 0, 0
    try:
        while count == 0 or time.monotonic() < end:
            honest += one_recording(scene, '%s.%d' % (seed, count))[1]
            count += 1
    except Fault as fault:
        tap.say('recordings of vandals', str(fault))
        return
    tap.say('%d recordings of vandals, %d samples of an honest program' % (count, honest))


def long_one(scene, seed, seconds, tap):
    try:
        memory = one_recording(scene, '%s.long' % seed, seconds)[0]
    except Fault as fault:
        tap.say('one recording of many vandals', str(fault))
        return
    more = grown(memory)
    tap.say('one recording of many vandals: the collector does not grow',
            None if more <= GROWTH_MAX else 'by %d MiB from the second quarter on, of %d at most' %
            (more, GROWTH_MAX))
    print('# %d MiB more in the last quarter than in the second' % more)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--seconds', type=float, default=float(os.environ.get('WEFT_SECONDS', 60)))
    parser.add_argument('--seed', default=os.environ.get('WEFT_SEED', str(int(time.time()))))
    args = parser.parse_args()
    tap = Tap()
    print('# seed %s' % args.seed, flush=True)
    with tempfile.TemporaryDirectory(prefix='weft-vandals-') as work:
        scene = Scene(work)
        short_ones(scene, args.seed, args.seconds, tap)
        long_one(scene, args.seed, args.seconds / 3, tap)
        tap.say('the collector takes %d MiB at most' % MEMORY_MAX,
                None if scene.most <= MEMORY_MAX else '%d MiB' % scene.most)
        print('# %d MiB at most' % scene.most)
    return tap.finish()


if __name__ == '__main__':
    sys.exit(main())
