"""M1: a configuration in the home directory of the daemon's user replaces root's configuration.

Findings: A.3, M1

    config_home.py USHERD UNIT

Starts USHERD like the system manager does, as a user that may write to its own home directory.
"""

import contextlib
import os
import subprocess
import sys
import tempfile

from attack import Connection, eventually, impossible, refused, succeeded, unprepared
from harness import die_with_parent

NOBODY = 65534
program, unit = sys.argv[1:3]
if os.getuid() != 0:
    impossible("it takes root to become the daemon's user")
with open(unit) as file:
    starts = [line.strip() for line in file if line.startswith("ExecStart=")]
if not any("--config /etc/" in line for line in starts):
    succeeded("the unit names no configuration: " + " ".join(starts))
with tempfile.TemporaryDirectory() as home:
    folder = home + "/.config/usherd"
    os.makedirs(folder)
    with open(folder + "/usherd.toml", "w") as file:
        file.write("[limits]\nconnections = 99\n")
    for path in (home, home + "/.config", folder):
        os.chown(path, NOBODY, NOBODY)
    daemon = subprocess.Popen(
        [program, "--socket", home + "/u.sock", "--admin-socket", home + "/a.sock"],
        user=NOBODY, group=NOBODY, extra_groups=[], preexec_fn=die_with_parent,
        env={"HOME": home, "STATE_DIRECTORY": home, "INVOCATION_ID": "0123"})
    try:
        def connected():
            if daemon.poll() is not None:
                unprepared("the daemon ended with status %d" % daemon.returncode)
            with contextlib.suppress(OSError):
                return Connection(home + "/u.sock")

        caller = eventually("the daemon listens", connected)
        limits = caller.reply(
            "rpc.hello", {"client": {"name": "x", "version": "1"}})["result"]["limits"]
    finally:
        daemon.kill()
        daemon.wait()
if limits["connections"] == 99:
    succeeded("the file in the daemon's own home directory is in force")
refused("the file in the daemon's own home directory is not read")
