"""Runs ../connectflood.py for half a minute with three processes of a user without rights.

Findings: L.5

    connect_flood.py PROGRAMS [MINUTES [MILLISECONDS]], as root

MILLISECONDS (default: 5, for release builds) is the delay that ../connectflood.py always accepts.
"""

import os
import sys

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

milliseconds = sys.argv[3] if len(sys.argv) > 3 else "5"
attack = [sys.executable, "-B", SCRIPTS + "/connectflood.py", sys.argv[1], "30", "3", milliseconds]
os.execv(attack[0], attack)
