"""Lets three processes without rights connect and close for half a minute, against programs that do not block.

Findings: L.5

    connect_flood.py PROGRAMS [MINUTES [MILLISECONDS]], as root

MILLISECONDS are 5, for release builds: what ../connectflood.py may let another user wait in any case.
"""

import os
import sys

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

milliseconds = sys.argv[3] if len(sys.argv) > 3 else "5"
attack = [sys.executable, "-B", SCRIPTS + "/connectflood.py", sys.argv[1], "30", "3", milliseconds]
os.execv(attack[0], attack)
