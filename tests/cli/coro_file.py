# SPDX-License-Identifier: Apache-2.0
"""coro_file.py FILE STATIONS: an empty shared file of cTP with weft's extensions, no engine."""
import struct
import sys

path, stations = sys.argv[1], int(sys.argv[2])
header = struct.pack("<QIIII", 0x434F524F54524352, 1, stations, 0, 0)
# extension, features (timer, recycle), engine_epoch, engine_pid, clock_id
header += struct.pack("<IIQii", 0x31585443, 1 | 2, 1, 0, 1)
header = header.ljust(0x60, b"\0") + struct.pack("<I", 6)
with open(path, "xb") as out:
    out.write(header.ljust(1024, b"\0"))
    out.truncate(1024 * (stations + 1))
