"""Gets the tokens of a person who has left, as the next person with the same uid.

Findings: A.9, M6

    inherited_account.py PROGRAMS, as root

The script mounts its own files over /etc/passwd and /etc/group, in a mount namespace.
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
    """Mounts a copy over a file of /etc. Returns a function that writes the copy with one more line."""
    path = place.file(name)
    with open("/etc/" + name) as file:
        lines = file.read()

    def write(line):
        # Written in place, because the file itself is mounted.
        with open(path, "w") as file:
            file.write(lines.rstrip("\n") + "\n" + line + "\n")

    write("")
    if subprocess.run(["/usr/bin/mount", "--bind", path, "/etc/" + name]).returncode != 0:
        impossible(f"nothing can be mounted over /etc/{name}")
    return write


def hire(name, number):
    """Gives the uid to this person; a previous person with the uid is removed."""
    set_user(f"{name}:x:{UID}:{GROUP}:{name} {number}:/nonexistent:/usr/sbin/nologin")


def sign_in():
    must_sign_in(daemon.connect())


def gains():
    """Returns what the next person gets without a sign-in."""
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
    # The daemon caches the name of a uid for ten seconds; a restart clears the cache.
    daemon.kill()
    daemon.start()
    *got, reason = as_user(UID, gains)
    if any(got):
        succeeded("ben has of anna: " + ", ".join(each for each in got if each))
    refused(reason)
