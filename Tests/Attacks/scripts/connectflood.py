"""Processes of a user without rights connect and close as fast as they can. Programs that connect
without blocking (Python's asyncio) must be served all the same. Run it as root.

Findings: L.5

connectflood.py SOCKET SECONDS PROCESSES
"""

import asyncio
import os
import signal
import socket
import sys
import time

import attack

path, seconds, processes = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
FLOODING = 200_100
TRIES = 60
# The queue of 4,096 is full after some 40 ms in which a busy machine does not run the daemon. When each
# connect of the flood was let in, all 60 failed.
FAILURES = 5


def flood():
    if processes > 1:
        # systemd gives the daemon's slice as much of the processors as all users' together; without it
        # the daemon is one of many that want them, and a queue of 4,096 fills up whatever it does.
        os.nice(19)
    os.setgroups([])
    os.setgid(FLOODING)
    os.setuid(FLOODING)
    deadline = time.monotonic() + seconds + 30
    while time.monotonic() < deadline:
        end = socket.socket(socket.AF_UNIX)
        end.setblocking(False)
        try:
            end.connect(path)
        except OSError:
            pass
        end.close()


async def call():
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(b'{"jsonrpc":"2.0","id":1,"method":"system.status"}\n')
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    return b'"result"' in line


async def calls():
    failures, times = [], []
    for _ in range(TRIES):
        start = time.monotonic()
        try:
            if not await call():
                failures.append("no result")
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            failures.append(f"{type(error).__name__}: {error}")
        times.append(time.monotonic() - start)
        await asyncio.sleep(seconds / TRIES)
    return failures, max(times)


if os.getuid() != 0:
    attack.impossible("only root can become the other user")
children = []
try:
    for _ in range(processes):
        child = os.fork()
        if child == 0:
            try:
                flood()
            finally:
                os._exit(0)
        children.append(child)
    time.sleep(0.5)
    failures, slowest = asyncio.run(calls())
    if len(failures) > FAILURES:
        attack.succeeded(f"{len(failures)} of {TRIES} fail: {failures[0]}")
    served = TRIES - len(failures)
    attack.refused(f"{served} of {TRIES} are served, the slowest after {slowest * 1000:.0f} ms")
finally:
    for child in children:
        os.kill(child, signal.SIGKILL)
