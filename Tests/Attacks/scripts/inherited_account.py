"""Gets the tokens of a person who has left, as the next one who is given the same uid.

Findings: A.9, M6

    inherited_account.py PROGRAMS, as root

The users are in files of the script's own, mounted over /etc/passwd and /etc/group in a mount namespace.
"""

import os
import subprocess
import sys

from attack import impossible, refused, succeeded, unprepared
from harness import GROUP, Daemon, Place, Sandbox, as_user, must_sign_in, need_root

UID = 54_123

need_root("have users of its own")
if "inside" not in sys.argv:
    os.execv("/usr/bin/unshare", [
        "unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv, "inside"])


def over(name, place):
    """Lays a copy over a file of /etc, and returns a function that adds one line to what was in it."""
    path = place.file(name)
    with open("/etc/" + name) as file:
        lines = file.read()

    def write(line):
        # In place: the file itself is mounted.
        with open(path, "w") as file:
            file.write(lines.rstrip("\n") + "\n" + line + "\n")

    write("")
    if subprocess.run(["/usr/bin/mount", "--bind", path, "/etc/" + name]).returncode != 0:
        impossible(f"nothing can be mounted over /etc/{name}")
    return write


def hire(name, number):
    """From now on the uid is this person's; whoever had it before is gone."""
    set_user(f"{name}:x:{UID}:{GROUP}:{name} {number}:/nonexistent:/usr/sbin/nologin")


def sign_in():
    must_sign_in(daemon.connect())


def gains():
    """What the next person gets without a sign-in."""
    caller = daemon.connect()
    token = caller.reply("token.get", {"provider": "demo"})
    accounts = caller.reply("account.list").get("result", {}).get("accounts", [])
    refresh = caller.reply("token.get", {"provider": "demo", "forceRefresh": True})
    return [
        "a token" if "result" in token else None,
        f"{len(accounts)} accounts" if accounts else None,
        "a refreshed token" if "result" in refresh else None,
        token.get("error", {}).get("data", {}).get("reason")]


with Place() as place:
    set_user, set_group = over("passwd", place), over("group", place)
    set_group(f"attacked:x:{GROUP}:")
    hire("anna", 1)
    sandbox = Sandbox(place, sys.argv[1])
    access = '[access]\ngroup = "attacked"\n\n'
    daemon = Daemon(place, sys.argv[1], access + sandbox.provider())
    as_user(UID, sign_in)
    if as_user(UID, gains)[0] is None:
        unprepared("anna has no token of her own")
    hire("ben", 2)
    # The name of a uid counts for ten seconds, but not for another process of the daemon.
    daemon.kill()
    daemon.start()
    *got, reason = as_user(UID, gains)
    if any(got):
        succeeded("ben has of anna: " + ", ".join(each for each in got if each))
    refused(reason)
