"""Blocks the event loop for seconds with one deeply nested id in rpc.cancel (attack-report § 4.1).

Findings: L.3, H2

    deep_id.py PROGRAMS [MILLISECONDS]

Any user may call rpc.cancel. The reply to the line took 7 s, in which no other user was served. The
attacker is first a user without rights, whose lines must be short, then a user who may only call
account.list. Each sends one line, then many. Without root, it is this user under a rule that allows
nothing.
"""

import os
import sys
import time

from attack import Connection, Deadline, refused, succeeded
from bystander import floor, judge
from harness import GROUP, Attackers, Daemon, Place, as_user, precede

# A debug build parses 1 MiB in some tenths of a second. Decoding the id took 7 s in a release
# build. The seconds are those of an idle machine.
LINE_SECONDS = 3
NOBODY, CUSTOMER = 200_100, 200_101


def line(strings):
    deep = b"[" * 28 + b"[" + b",".join([b'""'] * strings) + b"]" + b"]" * 28
    return b'{"jsonrpc":"2.0","id":1,"method":"rpc.cancel","params":{"id":' + deep + b"}}"


SHORT, LONG = line(1200), line(340_000)


def once(lines):
    """Returns whether the reply to the last line came too late, the time until then, and the reply."""
    connection = Connection(daemon.socket)
    began, deadline = time.monotonic(), Deadline(LINE_SECONDS)
    connection.send_line(lines[-1])
    reply = connection.receive()
    return deadline.is_over(), time.monotonic() - began, reply


def again_and_again(lines):
    def act(add):
        connection = Connection(daemon.socket)
        while True:
            for each in lines:
                add()
                connection.send_line(each)
                connection.receive()
    return act


config = f'''
[access]
group = "{GROUP}"

[[client]]
name = "customer"
match = {{ user = "{CUSTOMER if os.getuid() == 0 else os.getuid()}" }}
allow = [{'"account.list"' if os.getuid() == 0 else ""}]
'''
precede()
with Place() as place:
    daemon = Daemon(place, sys.argv[1], config)
    least = floor(sys.argv[1], *map(float, sys.argv[2:3]))
    words = []
    for who, uid, lines in [("nobody", NOBODY, [SHORT]), ("a customer", CUSTOMER, [SHORT, LONG])]:
        if os.getuid() == 0:
            is_late, took, reply = as_user(uid, lambda: once(lines), groups=())
        elif uid == CUSTOMER:
            is_late, took, reply = once(lines)
        else:
            continue
        if reply is None or reply.get("error", {}).get("data", {}).get("field") != "id":
            succeeded(f"the id of {who} is not refused: {reply}")
        if is_late:
            succeeded(f"the line of {who} was answered after {took:.2f} s")
        words.append(judge(
            f"a line of {who} took {took:.2f} s; such lines", daemon,
            lambda: Attackers(uid, [again_and_again(lines)] * 3), least))
    refused(" / ".join(words))
