"""M7: a program that can write to the state directory of a stopped daemon unlocks the daemon, and
reverts revocations.

Findings: A.10, M7

    stored_rows.py USHERD

Starts USHERD on its own state directory, and changes the database between starts.
"""

import contextlib
import sqlite3
import subprocess
import sys
import tempfile

from attack import PATIENCE, Connection, eventually, refused, succeeded, unprepared
from harness import die_with_parent

program = sys.argv[1]


class Daemon:
    """A daemon on the state directory; `caller` is its admin socket, None if it did not start."""

    def __init__(self, place):
        self.process = subprocess.Popen(
            [program, "--config", place + "/usherd.toml", "--state", place + "/state",
             "--socket", place + "/u.sock", "--admin-socket", place + "/a.sock"],
            stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        self.caller = None
        self.words = ""

        def has_begun():
            if self.process.poll() is not None:
                self.words = self.process.stderr.read()
                return True
            with contextlib.suppress(OSError):
                self.caller = Connection(place + "/a.sock")
            return self.caller is not None

        eventually("the daemon listens or ends", has_begun)

    def is_locked(self):
        return self.caller.reply("system.status")["result"].get("locked", False)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def tamper(place, sql):
    database = sqlite3.connect(place + "/state/usherd.db")
    database.executescript(sql)
    database.close()


def attempt(place, sql):
    """Changes the database; exits if the daemon then starts unlocked."""
    tamper(place, sql)
    daemon = Daemon(place)
    if daemon.caller is not None:
        locked = daemon.is_locked()
        daemon.stop()
        if not locked:
            succeeded("the daemon is unlocked after " + sql)
        return "it is still locked"
    if "usherctl restore" not in daemon.words:
        succeeded("the daemon does not say what to do: " + daemon.words)
    return daemon.words.strip()


with tempfile.TemporaryDirectory() as place:
    with open(place + "/usherd.toml", "w"):
        pass
    first = Daemon(place)
    if first.caller is None:
        unprepared("the daemon does not start: " + first.words)
    if "result" not in first.caller.reply("system.lock"):
        unprepared("the daemon cannot be locked")
    first.stop()
    attempt(place, "DELETE FROM notes WHERE name = 'lock'")
    attempt(place, "DELETE FROM notes WHERE name <> 'audit.head'")
with tempfile.TemporaryDirectory() as place:
    with open(place + "/usherd.toml", "w"):
        pass
    first = Daemon(place)
    first.stop()
    words = attempt(
        place, "CREATE TRIGGER k BEFORE DELETE ON consents BEGIN SELECT RAISE(IGNORE); END")
refused(words)
