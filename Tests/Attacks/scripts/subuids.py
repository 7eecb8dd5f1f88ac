"""Multiplies each limit, and escapes a rule, as one user with subordinate ids. Then takes all
connections as eight users without rights.

Findings: A.6, M5

    subuids.py PROGRAMS, as root

The script mounts its own file over /etc/subuid, in a mount namespace. To the daemon, a process in a user
namespace has such an id and its user's groups, like the processes here, which change to such an id.
"""

import os
import subprocess
import sys

from attack import Connection, impossible, refused, succeeded, unprepared
from harness import GROUP, SILENT, Daemon, Place, eventually, need_root

# A group that has rights through a rule; subordinate ids in the group have them, too.
SHOP = GROUP + 1
ANNA, BEN, CARL = 54_001, 54_002, 54_003
OF_ANNA, OF_CARL, COUNT = 300_000, 400_000, 65_536
LIMITS = {"connections_per_user": 16, "live_flows_per_user": 4, "subscriptions_per_user": 6}
UNAUTHORIZED = 64

CONFIG = f'''
[access]
group = "{GROUP}"

[[client]]
name = "shop"
match = {{ group = "{SHOP}" }}
allow = ["flow.*", "account.*", "events.*"]

[[client]]
name = "carl"
match = {{ user = "{CARL}" }}
allow = ["account.list"]

[limits]
''' + "".join(f"{name} = {most}\n" for name, most in LIMITS.items())

need_root("have subordinate ids of its own")
if "inside" not in sys.argv:
    os.execv("/usr/bin/unshare", [
        "unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv, "inside"])


def grant(place):
    path = place.file("subuid")
    with open(path, "w") as file:
        file.write(f"{ANNA}:{OF_ANNA}:{COUNT}\n{CARL}:{OF_CARL}:{COUNT}\n")
    if subprocess.run(["/usr/bin/mount", "--bind", path, "/etc/subuid"], check=False).returncode != 0:
        impossible("nothing can be mounted over /etc/subuid")


def connect(uid, groups):
    """Connects as a user; the kernel tells the daemon the user's id."""
    os.setgroups(groups)
    os.setegid(uid)
    os.seteuid(uid)
    try:
        return Connection(daemon.socket)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])


def connections(uid, groups, most):
    """Returns as many connections as are served, at most one more than is allowed."""
    held = []
    for _ in range(most + 1):
        try:
            caller = connect(uid, groups)
            if "result" in caller.reply("system.status"):
                held.append(caller)
        except OSError:
            pass
    return held


def served(uid, groups):
    """Returns a connection that is served, which takes longer if the user connected often."""
    return eventually("a connection is served", lambda: connections(uid, groups, 0))[0]


def flows(uid, most):
    caller = served(uid, [SHOP])
    call = {"provider": "silent", "kind": "authorize", "params": {}}
    return ["result" in caller.reply("flow.start", call) for _ in range(most + 1)].count(True)


def subscriptions(uid, most):
    caller = served(uid, [SHOP])
    held.append(caller)
    call = {"topics": ["flow"]}
    return ["result" in caller.reply("events.subscribe", call) for _ in range(most + 1)].count(True)


def sockets(uid, most):
    found = connections(uid, [SHOP], most)
    held.extend(found)
    return len(found)


def let_go():
    for each in held:
        each.close()
    held.clear()
    eventually("the connections are gone", lambda: daemon.admin().reply(
        "system.status")["result"]["connections"] < 3)


with Place() as place:
    grant(place)
    daemon, held = Daemon(place, sys.argv[1], CONFIG + SILENT), []
    ids = [ANNA, *range(OF_ANNA, OF_ANNA + 3), OF_ANNA + COUNT - 1]
    for name, act in zip(LIMITS, [sockets, flows, subscriptions]):
        most = LIMITS[name]
        had = sum(act(uid, most) for uid in ids)
        if had > most:
            succeeded(f"one user with subordinate ids has {had} for {name} = {most}")
        # The limit applies to anna; the first id after her range is another user.
        for uid in [BEN, OF_ANNA + COUNT]:
            if (others := act(uid, most)) != most:
                unprepared(f"another user has {others} for {name} = {most}")
        if had != most:
            unprepared(f"anna has {had} for {name} = {most}")
        let_go()

    # A rule denies flow.list to carl, who is a member. The subordinate ids keep that group, and can
    # also be in the group of the shop.
    if "result" not in served(BEN, [GROUP]).reply("flow.list"):
        unprepared("the group gives no rights")
    if "error" not in served(CARL, [GROUP]).reply("flow.list"):
        unprepared("the rule does not hold for carl")
    for uid in [OF_CARL, OF_CARL + COUNT - 1]:
        for groups in [[GROUP], [SHOP], [GROUP, SHOP]]:
            reply = served(uid, groups).reply("flow.list")
            if "result" in reply:
                succeeded(f"uid {uid} of carl's escapes the rule about carl in the groups {groups}")
    reason = reply["error"]["data"]["reason"]

    let_go()
    for uid in range(200_001, 200_009):
        held += connections(uid, [], LIMITS["connections_per_user"])
    total = len(held)
    try:
        served(BEN, [GROUP])
    except TimeoutError:
        succeeded(f"{total} connections of users without rights keep everybody out")
    if total > UNAUTHORIZED:
        succeeded(f"eight users without rights have {total} connections")
    if total == 0:
        unprepared("users without rights are not served at all")
    refused(f"one user has {', '.join(f'{most} of {name}' for name, most in LIMITS.items())} with all its ids; "
            f"a rule holds for them ({reason}); eight users without rights have {total} connections")
