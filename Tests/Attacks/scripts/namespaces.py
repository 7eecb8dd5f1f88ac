"""Drops its groups, and acquires 65,535, in a user namespace like those of newuidmap and newgidmap.

Findings: A.7, M5, L3

    namespaces.py PROGRAMS, as root

A rule denies flow.list to the group of user 1. In the namespace, a process of user 1 is only in the
group of all users of the daemon. `unshare --map-auto` does the same if uidmap is installed.
"""

import os
import sys

from attack import Connection, impossible, refused, succeeded, unprepared
from harness import GROUP, LIBC, Daemon, Place, as_user, need_root

CLONE_NEWUSER = 0x10000000
FIRST, COUNT = 300_000, 65_536
ATTACKER = 1  # A user of every Debian system. In the user database, its group is 1.

need_root("write the maps of a namespace")


def in_namespace(act):
    """Runs `act` as user 1, as root of a namespace with subordinate ids, and returns its result."""
    ready, go = os.pipe(), os.pipe()
    mapper = os.fork()
    if mapper == 0:
        child = int(os.read(ready[0], 20))
        for name, own in [("uid_map", ATTACKER), ("gid_map", GROUP)]:
            with open(f"/proc/{child}/{name}", "w") as file:
                file.write(f"0 {own} 1\n1 {FIRST} {COUNT}\n")
        os.write(go[1], b"go")
        os._exit(0)

    def inside():
        if LIBC.unshare(CLONE_NEWUSER) != 0:
            return "no namespace can be made"
        os.write(ready[1], str(os.getpid()).encode())
        os.read(go[0], 2)
        return act()

    answer = as_user(ATTACKER, inside, groups=(1,), gid=GROUP)
    os.waitpid(mapper, 0)
    if answer == "no namespace can be made":
        impossible(answer)
    return answer


def leave():
    os.setgroups([])
    return Connection(daemon.socket).reply("flow.list")


def take_on():
    os.setgroups(list(range(1, COUNT)))
    connection = Connection(daemon.socket)
    try:
        connection.send_line(b'{"jsonrpc":"2.0","id":1,"method":"flow.list"}')
    except OSError:
        pass
    return connection.receive()


with Place() as place:
    daemon = Daemon(place, sys.argv[1], f'''
[access]
group = "{GROUP}"

[[client]]
name = "restricted"
match = {{ group = "1" }}
allow = ["account.list"]
''')
    others = as_user(2, lambda: Connection(daemon.socket).reply("flow.list"))
    if "result" not in others:
        unprepared(f"the group gives no rights: {others}")
    left = in_namespace(leave)
    if "result" in left:
        succeeded("the rule of a group does not hold for a process that has left it in a namespace")
    many = in_namespace(take_on)
    if many is None or "result" in many:
        succeeded(f"a process with 65,535 groups of a namespace gets {many}")
    refused(f"{left['error']['data']['reason']}; {many['error']['message']}")
