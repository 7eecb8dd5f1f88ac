"""Searches for lines with which one caller blocks all others: mutates lines, and keeps the worst.

Findings: A.1, H2, L.3

    fuzz.py PROGRAMS [MINUTES [MILLISECONDS [FILE]]]

While each line is parsed, another user's calls of system.status are measured. The attack succeeds if
the median of the slowest call for one line, or the 99th percentile of all calls, exceeds MILLISECONDS
(default: 5, for release builds) by more than what calls wait for the machine, if a reply is an internal
error, or if the daemon ends. As root, half of the lines come from a user without rights, and half from a
member of access.group. Otherwise all come from this user under a rule that allows nothing, and the calls
are made on the admin socket. The worst lines of the user without rights are written to FILE, for
`usher-bench stall --lines FILE`.
"""

import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import bystander  # noqa: E402
from attack import Connection, Deadline, refused, succeeded  # noqa: E402
from harness import GROUP, SILENT, Daemon, Place, precede  # noqa: E402

MINUTES = float(sys.argv[2]) if len(sys.argv) > 2 else 10
LIMIT = (float(sys.argv[3]) if len(sys.argv) > 3 else 5) / 1000
FILE = sys.argv[4] if len(sys.argv) > 4 else None
SEED = int(os.environ.get("SEED", time.time()))
NOBODY, MEMBER = 200_100, 200_101
KEPT, LONGEST = 24, 1 << 20

CALLS = [
    b'{"jsonrpc":"2.0","id":1,"method":"rpc.cancel","params":{"id":[1,{"a":"b"}]}}',
    b'{"jsonrpc":"2.0","id":"x","method":"rpc.hello","params":{"client":{"name":"x","version":"1"}}}',
    b'{"jsonrpc":"2.0","id":1.5e3,"method":"rpc.discover"}',
    b'{"jsonrpc":"2.0","id":1,"method":"system.status","params":{"verbose":true}}',
    b'{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"silent","scope":"a b"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"flow.start","params":{"provider":"silent","kind":"authorize",'
    b'"params":{"a":[{}]},"waitMs":10}}',
    b'{"jsonrpc":"2.0","id":1,"method":"flow.submit","params":{"flow":"flw_1","revision":1,"input":'
    b'{"type":"fillForm","fields":{"a":"\\u0061\\ud83d\\ude00"}}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topics":["flow","token"],"since":1}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"system.status"},{"jsonrpc":"2.0","method":"rpc.cancel"}]',
]
PIECES = [
    b"{}", b"[]", b'""', b"1", b"-1.5e3", b"1e400", b"null", b"true", b'"\\u0061"', '"a\u0301"'.encode(),
    b"[[]]", b'{"a":{}}', b"[" * 30, b"]" * 30, b'{"a":' * 20, b"123456789012345678901234567890", b"\\",
    b'"', b",", b":", b" ", b"\t", b"\xff", b"\xed\xa0\x80", b"\x00", b'"k":1,', b"\\ud800", b"\r",
]


def mutated(line, chance):
    """Returns the line with some changes, without newlines, and not much longer than the limit."""
    for _ in range(chance.choice([1, 1, 2, 4])):
        start = chance.randrange(len(line) + 1)
        end = min(len(line), start + (1 << chance.randrange(10)))
        kind = chance.randrange(6)
        if kind == 0:
            line = line[:start] + chance.choice(PIECES) + line[start:]
        elif kind == 1:
            line = line[:start] + line[end:]
        elif kind == 2:
            line = line[:start] + bytes([chance.randrange(256)]) + line[start + 1:]
        elif kind == 3:
            other = chance.choice(CALLS)
            line = line[:start] + other[chance.randrange(len(other)):]
        else:
            # Many repetitions, in a random order of magnitude.
            piece = line[start:end] if kind == 4 else chance.choice(PIECES) + chance.choice([b"", b","])
            size = 1 << chance.randrange(6, 21)
            line = line[:start] + (piece or b"1,") * (size // len(piece or b"1,")) + line[end:]
    return line.replace(b"\n", b" ")[:LONGEST + 64] or b"{}"


class Attacker:
    """A user's connection, reopened if the daemon closes it, and the user's worst lines."""

    def __init__(self, daemon, uid, gid):
        self.daemon, self.uid, self.gid = daemon, uid, gid
        self.number, self.connection = 0, None
        self.worst = []  # Pairs of seconds and line, slowest first.

    def open(self):
        deadline = Deadline(30)
        while self.connection is None:
            if os.getuid() == 0:
                os.setegid(self.gid)
                os.seteuid(self.uid)
            try:
                self.connection = Connection(self.daemon.socket)
                self.connection.socket.setblocking(False)
                self.unsent, self.heard = b"", b""
            except OSError:
                # A user who connects too often must wait.
                if deadline.is_over() or not self.daemon.is_running():
                    raise
                time.sleep(0.05)
            finally:
                if os.getuid() == 0:
                    os.seteuid(0)
                    os.setegid(0)

    def begin(self, line):
        self.open()
        self.number += 1
        last = b'{"jsonrpc":"2.0","id":"end%d","method":"system.status"}' % self.number
        self.unsent = line + b"\n" + last + b"\n"

    def go_on(self):
        """Sends and receives without blocking. Returns whether the daemon has dealt with the line."""
        try:
            if self.unsent:
                self.unsent = self.unsent[self.connection.socket.send(self.unsent):]
        except BlockingIOError:
            pass
        except OSError:
            return self.close()
        try:
            heard = self.connection.socket.recv(1 << 20)
        except BlockingIOError:
            return False
        except OSError:
            heard = b""
        if b'"reason":"internal_error"' in heard:
            succeeded("a line is answered by an internal error: " + heard[:300].decode(errors="replace"))
        self.heard = (self.heard + heard)[-100_000:]
        if not heard:
            return self.close()
        return b'"end%d"' % self.number in self.heard

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
        return True


def slowest_beside(attacker, victim, line, times):
    """Sends a line, and returns another user's slowest call until the daemon has dealt with the line."""
    attacker.begin(line)
    waited, end = 0, time.monotonic() + 20
    while True:
        is_over = attacker.go_on()
        began = time.monotonic()
        victim.reply("system.status")
        times.append(time.monotonic() - began)
        waited = max(waited, times[-1])
        if is_over:
            return waited
        if time.monotonic() > end:
            attacker.close()
            return waited


def tried(attacker, victim, chance, times):
    """Tries one more line, and keeps it if it is among the worst."""
    worst = attacker.worst
    pool = worst if worst and chance.random() < 0.5 else [(0, each) for each in CALLS]
    line = mutated(chance.choice(pool)[1], chance)
    waited = slowest_beside(attacker, victim, line, times)
    if len(worst) == KEPT and waited <= worst[-1][0]:
        return
    # Repeated, because the machine does other work, too: only a slow line is slow every time.
    waited = min([waited] + [slowest_beside(attacker, victim, line, times) for _ in range(4)])
    attacker.worst = sorted(worst + [(waited, line)], key=lambda pair: -pair[0])[:KEPT]


def medians(attacker, victim, times):
    """Returns the worst lines with the median of more tries, slowest first."""
    return sorted((
        (statistics.median(slowest_beside(attacker, victim, line, times) for _ in range(15)), line)
        for _, line in attacker.worst), key=lambda pair: -pair[0])


def main(place):
    chance = random.Random(SEED)
    is_root = os.getuid() == 0
    config = f'[access]\ngroup = "{GROUP}"\n' if is_root else (
        f'[[client]]\nname = "nobody"\nmatch = {{ user = "{os.getuid()}" }}\nallow = []\n')
    if is_root:
        os.setgroups([])
    daemon = Daemon(place, sys.argv[1], config + SILENT)
    victim = daemon.connect() if is_root else daemon.admin()
    attackers = [Attacker(daemon, NOBODY, NOBODY)] + [Attacker(daemon, MEMBER, GROUP)] * is_root
    alone = []
    slowest_alone = [slowest_beside(attackers[0], victim, CALLS[3], alone) for _ in range(1000)]
    times, lines = [], 0
    end = time.monotonic() + MINUTES * 60
    with bystander.Machine() as machine:
        while time.monotonic() < end:
            tried(attackers[lines % len(attackers)], victim, chance, times)
            lines += 1
        found = [medians(attacker, victim, times) for attacker in attackers]
    if FILE:
        with open(FILE, "wb") as file:
            file.write(b"".join(line + b"\n" for _, line in found[0]))
    p99, p99_alone = (sorted(each)[len(each) * 99 // 100] for each in (times, alone))
    rest = machine.delays["p99"]
    words = (f"seed {SEED}, {lines} lines, {len(times)} calls; 99th of 100 {p99_alone * 1e3:.2f} ms alone, "
             f"{p99 * 1e3:.2f} beside them, {rest * 1e3:.2f} for the machine; "
             f"median of a good line {statistics.median(slowest_alone) * 1e3:.2f}")
    for who, worst in zip(["without rights", "of a member"], found):
        seconds, line = worst[0]
        words += f"; of the worst line {who} {seconds * 1e3:.2f}: {len(line)} bytes {line[:60]!r}"
    if not daemon.is_running():
        succeeded("the daemon ended: " + words)
    if max(p99, *(worst[0][0] for worst in found)) > LIMIT + bystander.LIMIT * rest:
        succeeded("one caller's lines stall another: " + words)
    refused(words)


precede()
with Place() as place:
    main(place)
