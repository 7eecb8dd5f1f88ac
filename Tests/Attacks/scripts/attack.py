"""The parts that every attack needs: a connection to the socket, and the verdicts."""

import json
import os
import socket
import sys
import time

# The seconds after which a socket gives up. Less than the test that runs the script waits, and more
# than any reply takes on a busy machine.
PATIENCE = 200


class Connection:
    """One connection to usherd's socket; reads one reply for each line sent.

    With waits=False it connects without blocking, as programs with Python's asyncio do.
    """

    def __init__(self, path, timeout=PATIENCE, waits=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout if waits else 0)
        self.socket.connect(path)
        self.socket.settimeout(timeout)
        self.file = self.socket.makefile("rb")
        self.last_id = 0

    def send_line(self, line):
        self.socket.sendall(line + b"\n")

    def receive(self):
        """Returns the next message; None if the daemon closed the connection."""
        line = self.file.readline()
        return json.loads(line) if line else None

    def reply(self, method, params=None):
        """Makes one call and returns its reply; skips notifications that arrive before it."""
        self.last_id += 1
        call = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            call["params"] = params
        self.send_line(json.dumps(call).encode())
        while (message := self.receive()) is not None:
            if message.get("id") == self.last_id:
                return message
        raise ConnectionError("the daemon closed the connection instead of answering " + method)

    def close(self):
        self.file.close()
        self.socket.close()


def slowness():
    """Returns how many threads that can run share a processor, from 1 to 5."""
    with open("/proc/loadavg") as file:
        running = int(file.read().split()[3].split("/")[0])  # "can run/all" (proc_loadavg(5))
    return min(max(1, running / os.cpu_count()), 5)


class Deadline:
    """A time limit in the seconds of an idle machine; see TestDeadline in UsherTestKit.

    Where three threads that can run share a processor, a limit of a minute lasts for three.
    """

    def __init__(self, seconds=60):
        self.left, self.last = seconds, time.monotonic()

    def is_over(self):
        now = time.monotonic()
        self.left -= (now - self.last) / slowness()
        self.last = now
        return self.left <= 0


def eventually(what, holds, seconds=60):
    """Polls `holds` until its result is true, and returns that result."""
    deadline = Deadline(seconds)
    while not (found := holds()):
        if deadline.is_over():
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.02)
    return found


def refused(why):
    print("refused:", why)
    sys.exit(0)


def succeeded(what):
    print("succeeded:", what)
    sys.exit(1)


def impossible(why):
    print("cannot be tried:", why)
    sys.exit(77)


def unprepared(why):
    """No verdict: the victim did not start, or does not work. This is an error, not a skip."""
    print("nothing is known:", why)
    sys.exit(2)
