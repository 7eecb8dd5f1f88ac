"""Stops everybody's calls with lines that are slow to read (security-review H2 and appendix A.1).

Findings: A.1, H2

Usage: stall.py ATTACKED_SOCKET VICTIM_SOCKET

One connection to the attacked socket sends lines of nearly 1 MiB, one after the other, in shapes that
were slow to decode. A connection to the victim's socket measures its own calls meanwhile. No right is
needed for any of this: rpc.cancel is everybody's. Where both sockets may be the same, let the attacker
be another user.
"""

import os
import statistics
import subprocess
import sys
import time

from attack import Connection, refused, succeeded

LIMIT_SECONDS = 0.25
SIZE = (1 << 20) - 1000

SHAPES = {
    "empty objects": b"{}",
    "empty arrays": b"[]",
    "empty strings": b'""',
    "numbers": b"1",
}


def line(method, value):
    head = b'{"jsonrpc":"2.0","id":1,"method":"%s","params":' % method
    return head + value + b"}"


def lines():
    for element in SHAPES.values():
        flat = b"[" + b",".join([element] * (SIZE // (len(element) + 1))) + b"]"
        yield line(b"rpc.cancel", b'{"id":%s}' % flat)
        yield line(b"flow.start", b'{"provider":"p","kind":"k","params":{"a":%s}}' % flat)
        yield line(b"flow.submit", b'{"flow":"flw_1","revision":1,"input":%s}' % flat)
        yield line(b"token.get", b'{"x":%s}' % flat)
    keys = b",".join(b'"%d":1' % number for number in range(SIZE // 12))
    yield line(b"rpc.cancel", b'{"id":{%s}}' % keys)
    yield line(b"rpc.hello", b"{%s}" % keys)


def attack(path):
    connection = Connection(path)
    worst = 0
    for bad in list(lines()):
        began = time.monotonic()
        connection.send_line(bad)
        if connection.receive() is None:
            connection = Connection(path)
        worst = max(worst, time.monotonic() - began)
    print(worst)


def measure(connection, is_over, fewest=100):
    times = []
    while len(times) < fewest or not is_over():
        began = time.monotonic()
        connection.reply("system.status")
        times.append(time.monotonic() - began)
        time.sleep(0.002)
    return times


def main():
    attacked, victim = sys.argv[1:3]
    connection = Connection(victim)
    alone = measure(connection, lambda: True)
    attacker = subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), "attack", attacked], stdout=subprocess.PIPE, text=True
    )
    under = measure(connection, lambda: attacker.poll() is not None)
    longest_line = attacker.stdout.read().strip()
    words = "median %.1f ms alone, %.1f under attack, slowest %.0f; the attacker's slowest line took %s s" % (
        statistics.median(alone) * 1e3,
        statistics.median(under) * 1e3,
        max(under) * 1e3,
        longest_line,
    )
    if attacker.returncode != 0:
        succeeded("a line was not answered: " + words)
    if max(under) > LIMIT_SECONDS:
        succeeded("one line held up another caller: " + words)
    refused("by reading long lines beside the event loop: " + words)


if sys.argv[1] == "attack":
    attack(sys.argv[2])
else:
    main()
