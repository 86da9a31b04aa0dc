#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes context_v1_checksum.txt: span, root span, checksum; hex; from the definition alone."""
import random

M = (1 << 64) - 1


def checksum(span, root):
    swapped = ((root & 0xFFFFFFFF) << 32) | (root >> 32)
    value = ((span * 0x9E3779B97F4A7C15) & M) ^ ((swapped * 0x9E3779B97F4A7C15) & M)
    return value or M


corners = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 63, M, M - 1,
           0x0123456789ABCDEF, 0xDEADBEEFCAFEBABE]
pairs = [(a, b) for a in corners for b in corners]
# Equal products: span equal to the swapped root gives 0, which becomes all ones.
pairs += [(((r & 0xFFFFFFFF) << 32) | (r >> 32), r) for r in corners]
rng = random.Random(20240229)
pairs += [(rng.getrandbits(64), rng.getrandbits(64)) for _ in range(256)]
print("# span root checksum (hex); written by context_v1_checksum.py")
for span, root in pairs:
    print(f"{span:016x} {root:016x} {checksum(span, root):016x}")
