"""The parts that every attack needs: a connection to the socket, and the verdicts."""

import json
import socket
import sys


class Connection:
    """One connection to usherd's socket; reads one reply for each line sent.

    With waits=False it connects without blocking, as programs with Python's asyncio do.
    """

    def __init__(self, path, timeout=60, waits=True):
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
