"""Distinguishes another user's account id from an unused id by the time of the reply.

Findings: L.9

    timing.py PROGRAMS, as root
"""

import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from attack import Connection, refused, succeeded, unprepared  # noqa: E402
from harness import GROUP, Daemon, Place, Sandbox, as_user, must_sign_in, need_root  # noqa: E402

PAIRS = 20_000
# The difference was 12 µs, with z above 20. A few microseconds cannot be told from other noise
# here.
MICROSECONDS, DEVIATIONS = 4, 6

need_root("be two users")


def new_account():
    caller = daemon.connect()
    must_sign_in(caller)
    return caller.reply("account.list")["result"]["accounts"][0]["id"]


def other(account):
    """Returns an unused id of the same form that sorts before this one: on a machine with several
    accounts, there is nearly always one that sorts after it."""
    letters = list(account[4:])
    while "".join(letters) >= account[4:]:
        random.shuffle(letters)
    return account[:4] + "".join(letters)


def differences(known):
    connection = Connection(daemon.socket)
    none, found = other(known), []
    for method in ["account.get", "token.get"]:
        lines = [b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{"account":"%s"}}\n' % (
            method.encode(), each.encode()) for each in (known, none)]
        pairs = []
        for _ in range(PAIRS):
            times = [0, 0]
            for place in random.sample([0, 1], 2):
                began = time.perf_counter_ns()
                connection.socket.sendall(lines[place])
                if b'"not_found"' not in connection.file.readline():
                    return f"{method} of another user's account is not answered by not_found"
                times[place] = time.perf_counter_ns() - began
            pairs.append((times[0] - times[1]) / 1000)
        # Without the tenth at each end, which contains other work of the machine.
        inner = sorted(pairs)[PAIRS // 10:-PAIRS // 10]
        found.append((method, statistics.mean(inner), statistics.stdev(inner) / len(inner) ** 0.5))
    return found


with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    daemon = Daemon(place, sys.argv[1], f'[access]\ngroup = "{GROUP}"\n' + sandbox.provider())
    known = as_user(54_001, new_account)
    found = as_user(54_002, lambda: differences(known))
    if isinstance(found, str):
        unprepared(found)
    words = ", ".join(f"{name} {mean:+.2f} ± {error:.2f} µs" for name, mean, error in found)
    if any(mean > MICROSECONDS and mean > DEVIATIONS * error for _, mean, error in found):
        succeeded("a known id takes longer: " + words)
    refused("a known id and one that nobody has take as long: " + words)
