"""Lets three processes without rights connect and close for half a minute, against programs that do not block.

Findings: L.5

    connect_flood.py PROGRAMS, as root
"""

import os
import subprocess
import sys

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SCRIPTS)

from harness import Daemon, Place  # noqa: E402

with Place() as place:
    daemon = Daemon(place, sys.argv[1])
    attack = [sys.executable, "-B", SCRIPTS + "/connectflood.py", daemon.socket, "30", "3"]
    sys.exit(subprocess.run(attack).returncode)
