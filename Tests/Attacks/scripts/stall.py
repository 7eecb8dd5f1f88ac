"""Blocks all callers with lines that are slow to parse (security-review H2 and appendix A.1).

Findings: A.1, H2

    stall.py PROGRAMS [MILLISECONDS]

Four connections send lines in shapes that were slow to decode, of nearly 1 MiB and of the greatest
length for a caller without rights. The attacker is a user without any rule, then one whose rule allows
nothing, then one who may call the methods in the lines. Another user's calls are measured meanwhile.
Without root, the attacker is this user under a rule that allows nothing, and the calls are made on the
admin socket.
"""

import os
import sys
import time

from attack import Connection, refused
from bystander import floor, judge
from harness import GROUP, SILENT, Attackers, Daemon, Place, precede

CONNECTIONS = 4
NOBODY, EXCLUDED, CUSTOMER = 200_100, 200_101, 200_102
LONG, SHORT = (1 << 20) - 1000, 3500

ELEMENTS = [b"{}", b"[]", b'""', b"1"]


def line(method, value):
    return b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' % (method, value)


def lines(size):
    for element in ELEMENTS:
        flat = b"[" + b",".join([element] * (size // (len(element) + 1))) + b"]"
        yield line(b"rpc.cancel", b'{"id":%s}' % flat)
        yield line(b"flow.start", b'{"provider":"silent","kind":"authorize","params":{"a":%s}}' % flat)
        yield line(b"flow.submit", b'{"flow":"flw_1","revision":1,"input":%s}' % flat)
        yield line(b"token.get", b'{"provider":"silent","x":%s}' % flat)
    keys = b",".join(b'"%d":1' % number for number in range(size // 12))
    yield line(b"rpc.cancel", b'{"id":{%s}}' % keys)
    yield line(b"rpc.hello", b"{%s}" % keys)


LINES = [each for size in (LONG, SHORT) for each in lines(size)]


def send(add):
    """Sends the lines over and over, each after the reply to the previous one."""
    connection = None
    while True:
        for each in LINES:
            add()
            try:
                connection = connection or Connection(daemon.socket)
                connection.send_line(each)
                answer = connection.receive()
            except OSError:
                answer = None  # Refused: the connection was closed before the line was complete.
            if answer is None:
                # A user who connects too often must wait.
                connection = None
                time.sleep(0.001)


rules = f'''
[access]
group = "{GROUP}"

[[client]]
name = "excluded"
match = {{ user = "{EXCLUDED if os.getuid() == 0 else os.getuid()}" }}
allow = []

[[client]]
name = "customer"
match = {{ user = "{CUSTOMER}" }}
allow = ["token.get silent", "flow.start silent", "flow.submit silent"]
'''
precede()
with Place() as place:
    daemon = Daemon(place, sys.argv[1], rules + SILENT)
    least = floor(sys.argv[1], *map(float, sys.argv[2:3]))
    words = []
    for who, uid in [("without rights", NOBODY), ("excluded by a rule", EXCLUDED), ("with rights", CUSTOMER)]:
        if uid == EXCLUDED or os.getuid() == 0:
            words.append(judge(
                "lines of a caller " + who, daemon, lambda: Attackers(uid, [send] * CONNECTIONS), least))
    refused(" / ".join(words))
