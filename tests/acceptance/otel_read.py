#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a process's OpenTelemetry process context as its readers do: finds the mapping by name,
checks the header, copies the payload between two looks at the time.

usage: otel_read.py PID [PAYLOAD_FILE]: prints `mappings N`, and of the first its header"""
import struct
import sys

NAMES = ("[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX", "/memfd:OTEL_CTX (deleted)")


def mappings(pid):
    found = []
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            columns = line.rstrip("\n").split(None, 5)
            if len(columns) == 6 and columns[5] in NAMES:
                start, end = (int(x, 16) for x in columns[0].split("-"))
                found.append((start, end, columns[1], columns[5]))
    return found


def read(pid, at, size):
    with open(f"/proc/{pid}/mem", "rb") as mem:
        mem.seek(at)
        return mem.read(size)


def boot_ns():
    import time
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def main():
    pid = sys.argv[1]
    found = mappings(pid)
    print("mappings", len(found))
    if not found:
        return 1
    start, end, rights, name = found[0]
    print("name", name)
    print("bytes", end - start)
    print("rights", rights)
    for _ in range(1000):
        signature, version, size, time, payload = struct.unpack("=8sIIQQ", read(pid, start, 32))
        if time == 0:
            continue
        data = read(pid, payload, size)
        if struct.unpack("=Q", read(pid, start + 16, 8))[0] == time:
            break
    else:
        print("never whole")
        return 1
    print("signature", signature.decode())
    print("version", version)
    print("time", time)
    print("is_past", int(0 < time <= boot_ns()))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "wb") as out:
            out.write(data)
    return 0


sys.exit(main())
