# SPDX-License-Identifier: Apache-2.0
"""What turns.h says, for Python: the same work, the same lines."""

import ctypes
import os
import sys
import threading
import time

TENANTS = ("acme", "globex")
CPU = {"acme": 0.007, "globex": 0.003, None: 0.002}
PR_SET_NAME = 15
lock = threading.Lock()
spent = {tenant: [0, 0, 0] for tenant in (*TENANTS, None)}  # None: whatever the workers did
done = 0


def read(schedstat):
    """What the thread has had, in ns: of a CPU, at all, of a CPU or waiting for one."""
    words = os.pread(schedstat, 128, 0).split()
    return time.thread_time_ns(), time.monotonic_ns(), int(words[0]) + int(words[1])


def account(tenant, since, now):
    with lock:
        spent[tenant] = [s + n - b for s, n, b in zip(spent[tenant], now, since)]


def serve(schedstat, tenant):
    began = read(schedstat)
    begin = time.thread_time()
    while time.thread_time() - begin < CPU[tenant]:
        sum(i * i for i in range(200))
    time.sleep(2 * CPU[tenant])
    return began, read(schedstat)


def work(turns, within):
    global done
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"worker", 0, 0, 0)
    schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    start = read(schedstat)
    for _ in range(turns):
        for tenant in TENANTS:
            with within(tenant):
                times = serve(schedstat, tenant)
            account(tenant, *times)
        serve(schedstat, None)
        with lock:
            done += 1
    account(None, start, read(schedstat))


def tell(name, span, t):
    print(name, span, t[0], max(t[1] - t[2], 0), t[1])


def run(within, span):
    """The whole program. within(tenant): a context in which the request is shown; span(tenant): its id."""
    turns, pause = int(sys.argv[1]), float(sys.argv[2])
    print("ready", flush=True)
    time.sleep(pause)
    workers = [threading.Thread(target=work, args=(turns, within)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for tenant in TENANTS:
        tell(tenant, format(span(tenant), "016x"), spent[tenant])
    tell("none", "-", [n - a - g for n, a, g in zip(spent[None], spent["acme"], spent["globex"])])
    print("turns", done)
    sys.exit(3)
