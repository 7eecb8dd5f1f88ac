"""Exhausts the daemon's descriptors: a user without rights holds connections to the socket and to the
port of an open redirect listener. The daemon must survive, name the limit that is reached, and serve
the administrator.

Findings: L.1

descriptors.py SOCKET ADMIN_SOCKET PORT COUNT
"""

import socket
import sys
import time

import attack

path, admin_path, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
SECONDS = 3  # The dispatch library checks its threads once a second.


def tcp():
    end = socket.socket()
    end.setblocking(False)
    end.connect_ex(("127.0.0.1", port))
    return end


def unix():
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(5)
    end.connect(path)
    return end


def hold():
    """Holds as many connections as possible, as long as the parent process lives."""
    held, limits = [], set()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        held = held[-count:] + [tcp() for _ in range(count)]
        for _ in range(count):
            try:
                held.append(unix())
            except OSError:
                break
        time.sleep(0.2)
    return held


before = attack.Connection(path)
if "error" in before.reply("system.status"):
    attack.unprepared("the daemon does not answer")
held = hold()
try:
    if "result" not in attack.Connection(admin_path).reply("system.status"):
        attack.succeeded("the administrator is refused")
except (OSError, ConnectionError) as error:
    attack.succeeded(f"the administrator is not answered: {error}")
try:
    if "result" not in before.reply("system.status"):
        attack.succeeded("a connection that was open before is not served")
except (OSError, ConnectionError) as error:
    attack.succeeded(f"a connection that was open before is not answered: {error}")
limit = None
for _ in range(count):
    try:
        over = attack.Connection(path)
        try:
            over.send_line(b'{"jsonrpc":"2.0","id":1,"method":"system.status"}')
        except BrokenPipeError:
            pass  # The connection was already refused, and the reply says why.
        answer = over.receive()
    except ConnectionResetError:
        continue
    except OSError as error:
        attack.succeeded(f"a program is not told why it is not let in: {error}")
    limit = ((answer or {}).get("error") or {}).get("data", {}).get("limit")
    if limit == "user_share_percent":
        time.sleep(0.1)  # The daemon refuses connects that are too fast: slow down.
        continue
    held.append(over)
    if limit is not None:
        break
if limit not in ("LimitNOFILE", "connections_per_user", "connections"):
    attack.succeeded(f"a program is not told which limit is reached: {limit}")
for end in held:
    end.close()
deadline = attack.Deadline()
while not deadline.is_over():
    try:
        if "result" in attack.Connection(path, timeout=5).reply("system.status"):
            attack.refused(f"the daemon names {limit} and serves again when there is room")
    except (OSError, ConnectionError):
        pass
    time.sleep(0.05)
attack.succeeded("the daemon does not come back")
