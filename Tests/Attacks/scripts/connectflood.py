"""Connects and closes, or calls, as fast as possible with processes of a user without rights. Programs
of another user that connect without blocking, as with Python's asyncio, must be served all the same.

Findings: L.5

    connectflood.py PROGRAMS [SECONDS [PROCESSES [MILLISECONDS]]], as root

Each connect of the other user must succeed, and must get a reply within three times the time without
the flood, or within twice MILLISECONDS.
"""

import socket
import sys

from attack import Connection, refused
from bystander import floor, judge
from harness import GROUP, Attackers, Daemon, Place, need_root, precede

FLOODING = 200_100
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"system.status"}'

need_root("be the other user")


def come_and_go(add):
    while True:
        end = socket.socket(socket.AF_UNIX)
        end.setblocking(False)
        try:
            end.connect(daemon.socket)
        except OSError:
            pass
        end.close()
        add()


def ask(add):
    """Sends as many calls as the daemon reads."""
    connection = Connection(daemon.socket)
    lines = (STATUS + b"\n") * 50
    while True:
        connection.socket.sendall(lines)
        for _ in range(50):
            connection.receive()
        add()


seconds, processes, milliseconds = [*map(float, sys.argv[2:5]), *[3, 1, None][len(sys.argv[2:5]):]]
precede()
with Place() as place:
    daemon = Daemon(place, sys.argv[1], f'[access]\ngroup = "{GROUP}"\n')
    # The kernel has one queue for all users: a connect waits for earlier connects of the flood.
    least = 2 * floor(sys.argv[1], milliseconds)
    refused(" / ".join(
        judge(what, daemon, lambda: Attackers(FLOODING, [act] * int(processes)), least, seconds)
        for what, act in [("connects", come_and_go), ("fifty calls", ask)]))
