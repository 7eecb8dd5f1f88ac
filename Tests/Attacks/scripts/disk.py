"""Loses a sign-in: the disk fills up before or during a refresh, then kill -9 before there is space.

Findings: L.6

    disk.py PROGRAMS

The state directory is a small tmpfs in the script's own mount namespace.
"""

import os
import subprocess
import sys
import threading

from attack import eventually, impossible, refused, succeeded
from harness import Daemon, Place, Sandbox, must_sign_in

if "inside" not in sys.argv:
    names = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    inside = ["/usr/bin/unshare", "--mount", "--propagation", "private", *names]
    os.execv(inside[0], [*inside, sys.executable, "-B", *sys.argv, "inside"])


def refresh(caller):
    return caller.reply("token.get", {"provider": "demo", "forceRefresh": True})


def fill(path):
    with open(path, "ab", buffering=0) as file:
        try:
            while file.write(b"\xba" * 4096):
                pass
        except OSError:
            pass


def lives_after_kill(daemon, ballast, when):
    """Kills the daemon, frees space, and refreshes again: the sign-in must still exist."""
    daemon.kill()
    os.unlink(ballast)
    daemon.start()
    reply = refresh(daemon.connect())
    if "error" in reply:
        succeeded(f"the log-in is lost where the disk is full {when}: {reply['error']['message']}")


with Place() as place:
    state = place.file("state")
    ballast = state + "/ballast"
    os.mkdir(state)
    mount = ["/usr/bin/mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", state]
    if subprocess.run(mount, check=False).returncode != 0:
        impossible("no small disk can be mounted")
    sandbox = Sandbox(place, sys.argv[1])
    config = "[limits]\nforce_refresh_seconds = 1\n" + sandbox.provider()
    daemon = Daemon(place, sys.argv[1], config)
    must_sign_in(daemon.connect())

    fill(ballast)
    before = sandbox.requests("token", "refresh_token")
    reason = refresh(daemon.connect()).get("error", {}).get("data", {}).get("reason")
    sent = sandbox.requests("token", "refresh_token") - before
    lives_after_kill(daemon, ballast, "before a refresh")
    if sent:
        succeeded(f"a refresh is sent though its result cannot be stored: {reason}")

    sandbox.fault("token", {"held": True}, "refresh_token")
    caller, answers = daemon.connect(), []
    asking = threading.Thread(target=lambda: answers.append(refresh(caller)))
    daemon.kill()
    daemon.start()  # Resets the limit for repeated refreshes.
    caller = daemon.connect()
    before = sandbox.requests("token", "refresh_token")
    asking.start()
    eventually(
        "the refresh is on its way", lambda: sandbox.requests("token", "refresh_token") > before)
    fill(ballast)
    sandbox.control("DELETE", "faults")
    asking.join()
    during = answers[0].get("error", {}).get("data", {}).get("reason", "a token")
    lives_after_kill(daemon, ballast, "during a refresh")
    daemon.kill()
    subprocess.run(["/usr/bin/umount", "--lazy", state], check=False)
    refused(f"before a refresh by {reason}; during one its result ({during}) is stored all the same")
