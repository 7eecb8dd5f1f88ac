"""Makes the daemon hold the replies of batches whose client does not read.

Findings: A.8, M5

    unread_batches.py PROGRAMS
"""

import json
import sys
import time

from attack import refused, succeeded, unprepared
from harness import Daemon, Place

CONNECTIONS = 60
LIMIT = 1 << 16
# Per connection: the limit, one reply above it, and the same again for the allocator.
ALLOWED = CONNECTIONS * 4 * LIMIT + (16 << 20)


def memory(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024


with Place() as place:
    daemon = Daemon(place, sys.argv[1], f"[limits]\nunread_reply_bytes = {LIMIT}\n")
    admin = daemon.admin()
    if "result" not in admin.reply("rpc.discover"):
        unprepared("rpc.discover is not answered")
    calls = [{"jsonrpc": "2.0", "id": n, "method": "rpc.discover"} for n in range(64)]
    line = json.dumps(calls).encode()
    start, most, held = memory(daemon.process), 0, []
    for _ in range(CONNECTIONS):
        held.append(daemon.connect())
        held[-1].send_line(line)
        most = max(most, memory(daemon.process) - start)
    for _ in range(10):
        admin.reply("system.status")
        most = max(most, memory(daemon.process) - start)
        time.sleep(0.1)
    if not all(connection.socket.recv(1) for connection in held):
        unprepared("a connection was closed before its first reply")
    if not daemon.is_running() or most > ALLOWED:
        succeeded(f"{CONNECTIONS} connections made the daemon hold {most >> 20} MiB")
    refused(f"unread_reply_bytes: {CONNECTIONS} connections keep {most >> 20} MiB")
