"""Locks a database against all other programs until this program is terminated.

    hold_database.py FILE     prints "held" when the lock is acquired
"""

import signal
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA locking_mode = EXCLUSIVE")
database.execute("BEGIN EXCLUSIVE")


def end(*_):
    database.execute("ROLLBACK")
    database.close()
    sys.exit()


signal.signal(signal.SIGTERM, end)
print("held", flush=True)
while True:
    signal.pause()
