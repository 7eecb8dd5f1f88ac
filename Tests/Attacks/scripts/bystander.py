"""Measures another user's calls and connects, alone and during an attack, and judges the result."""

import json
import os
import select
import signal
import socket
import time
import traceback

from attack import Connection, Deadline, succeeded, unprepared
from harness import as_user, own_session

# A member of GROUP, who must be served whatever other users do.
BYSTANDER = 54_001
LIMIT = 3
# A single call may always take this long, because the machine does other work, too.
SLOWEST = 0.25
SECONDS = 2


def floor(programs, milliseconds=None):
    """Returns the seconds that no delay exceeds: 5 ms, or more for programs that are not optimised."""
    if milliseconds is None:
        is_debug = os.path.basename(os.path.realpath(programs)) == "debug"
        milliseconds = 40 if is_debug else 5
    return milliseconds / 1000


def timed(act):
    began = time.monotonic()
    act()
    return time.monotonic() - began


def call(connection):
    reply = connection.reply("system.status")
    if "result" not in reply:
        raise ConnectionError(f"system.status is answered by {reply['error']}")


def newcomer(path):
    connection = Connection(path, waits=False)
    call(connection)
    connection.close()


def measured(path, seconds):
    """Returns the times of calls on an open connection, and of new connections with one call."""
    times, failures = {"call": [], "connect": []}, []
    end = time.monotonic() + seconds
    try:
        connection = Connection(path, waits=False)
        while time.monotonic() < end or len(times["connect"]) < 10:
            for _ in range(4):
                times["call"].append(timed(lambda: call(connection)))
                time.sleep(0.002)
            # Less often per second than connections_per_user allows.
            times["connect"].append(timed(lambda: newcomer(path)))
    except OSError as error:
        failures.append(f"{type(error).__name__}: {error}")
    return times, failures


def fork(act):
    """Runs `act` in a process that ends with this one, and returns the process's id."""
    child = os.fork()
    if child == 0:
        try:
            own_session()
            act()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return child


class Machine:
    """Measures in a `with` block for how long a call waits for the machine: `delays` in seconds.

    One process calls another one, which only returns each byte, and sleeps 2 ms between the calls.
    Both have the daemon's priority, and no attack reaches them.
    """

    PAUSE = 0.002

    def __enter__(self):
        self.ours, self.theirs = socket.socketpair()
        self.halted, self.halt = os.pipe()
        self.heard, self.told = os.pipe()
        self.children = [fork(self.ask), fork(self.answer)]
        self.ours.close()
        self.theirs.close()
        os.close(self.halted)
        os.close(self.told)
        return self

    def answer(self):
        self.ours.close()
        os.close(self.told)
        while byte := self.theirs.recv(1):
            self.theirs.send(byte)

    def ask(self):
        self.theirs.close()
        times, began = [], time.monotonic()
        while not select.select([self.halted], [], [], self.PAUSE)[0]:
            self.ours.send(b".")
            self.ours.recv(1)
            now = time.monotonic()
            times.append(now - began - self.PAUSE)
            began = now
        delays = {"p99": p99(times), "slowest": max(times)}
        os.write(self.told, json.dumps(delays).encode())

    def __exit__(self, *_):
        os.write(self.halt, b".")
        self.delays = json.loads(os.read(self.heard, 4096) or "null")
        for child in self.children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(self.halt)
        os.close(self.heard)


def bystander(daemon, seconds):
    """Measures another user. Without root, it is this user on the admin socket instead."""
    if os.getuid() != 0:
        return measured(daemon.admin_socket, seconds)
    return as_user(BYSTANDER, lambda: measured(daemon.socket, seconds))


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def settle(daemon, least):
    """Waits until the daemon has dealt with the rest of an attack."""
    deadline, quick = Deadline(30), 0
    connection = daemon.admin()
    while quick < 20 and not deadline.is_over():
        quick = quick + 1 if timed(lambda: call(connection)) < least else 0
        time.sleep(0.005)


def judge(what, daemon, attack, least, seconds=SECONDS):
    """Ends the script if the attack delays another user, or makes a call or a connect fail.

    A delay is a 99th percentile of more than LIMIT times the value without attack and more than
    `least` seconds, or a slowest call of more than LIMIT times that value and more than SLOWEST.
    LIMIT times what calls wait for the machine meanwhile is no delay. Because the machine does
    other work, too, two of at most three rounds decide.

    - attack: creates the Attackers of a round.
    - Returns: the measured values, as text.
    """
    verdicts = []
    while verdicts.count(True) < 2 and verdicts.count(False) < 2:
        settle(daemon, least)
        alone, failures = bystander(daemon, seconds)
        if failures:
            unprepared(f"{what}: a call fails before the attack: {failures[0]}")
        with attack() as attackers, Machine() as machine:
            beside, failures = bystander(daemon, seconds)
        if not daemon.is_running():
            succeeded(f"{what}: the daemon ended")
        if attackers.early:
            unprepared(f"{what}: {attackers.early} attackers have ended by themselves")
        words, is_held = [], not failures
        for failure in failures:
            words.append(f"fails after {len(beside['connect'])} connects: {failure}")
        for kind in alone if is_held else []:
            for name, of, room in [("p99", p99, least), ("slowest", max, SLOWEST)]:
                ours, theirs, rest = of(alone[kind]), of(beside[kind]), machine.delays[name]
                is_held = is_held and theirs <= max(LIMIT * ours, room) + LIMIT * rest
                words.append(
                    f"{name} {kind} {ours * 1e3:.1f} ms alone, {theirs * 1e3:.1f} beside it, "
                    f"{rest * 1e3:.1f} for the machine")
        verdicts.append(is_held)
        words = f"{what} ({attackers.done} times): another user's " + "; ".join(words)
    if verdicts.count(False) == 2:
        succeeded(words)
    return words
