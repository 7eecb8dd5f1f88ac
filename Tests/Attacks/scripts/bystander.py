"""Another user's calls and connects, measured alone and beside an attack, and the verdict on them."""

import os
import time

from attack import Connection, succeeded, unprepared
from harness import as_user

# A member of GROUP, who has to be served whatever others do.
BYSTANDER = 54_001
LIMIT = 3
# One call may take so long in any case: the machine does other things too.
SLOWEST = 0.25
SECONDS = 2


def floor(programs, milliseconds=None):
    """Seconds below which nothing is a delay: 5 ms, and more for programs that are not optimised."""
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
    """How long calls of an open connection took, and new connections with their first call."""
    times, failures = {"call": [], "connect": []}, []
    end = time.monotonic() + seconds
    try:
        connection = Connection(path, waits=False)
        while time.monotonic() < end or len(times["connect"]) < 10:
            for _ in range(4):
                times["call"].append(timed(lambda: call(connection)))
                time.sleep(0.002)
            # Less often than connections_per_user in a second.
            times["connect"].append(timed(lambda: newcomer(path)))
    except OSError as error:
        failures.append(f"{type(error).__name__}: {error}")
    return times, failures


def bystander(daemon, seconds):
    """Without root it is this user at the admin socket, which others do not reach."""
    if os.getuid() != 0:
        return measured(daemon.admin_socket, seconds)
    return as_user(BYSTANDER, lambda: measured(daemon.socket, seconds))


def p99(times):
    return sorted(times)[len(times) * 99 // 100]


def settle(daemon, least):
    """Waits until what is left of an attack has been dealt with."""
    end, quick = time.monotonic() + 30, 0
    connection = daemon.admin()
    while quick < 20 and time.monotonic() < end:
        quick = quick + 1 if timed(lambda: call(connection)) < least else 0
        time.sleep(0.005)


def judge(what, daemon, attack, least, seconds=SECONDS):
    """Ends the script where the attack delays another user, or makes a call or a connect fail.

    Delayed is a 99th of 100 that takes more than LIMIT times as long as alone, and more than `least` seconds;
    and a slowest one that takes more than LIMIT times as long, and more than SLOWEST. The machine does other
    things too: two of at most three rounds decide.

    - attack: makes the Attackers of a round.
    - Returns: what was measured, in words.
    """
    verdicts = []
    while verdicts.count(True) < 2 and verdicts.count(False) < 2:
        settle(daemon, least)
        alone, failures = bystander(daemon, seconds)
        if failures:
            unprepared(f"{what}: a call fails before the attack: {failures[0]}")
        with attack() as attackers:
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
                ours, theirs = of(alone[kind]), of(beside[kind])
                is_held = is_held and theirs <= max(LIMIT * ours, room)
                words.append(f"{name} {kind} {ours * 1e3:.1f} ms alone, {theirs * 1e3:.1f} beside it")
        verdicts.append(is_held)
        words = f"{what} ({attackers.done} times): another user's " + "; ".join(words)
    if verdicts.count(False) == 2:
        succeeded(words)
    return words
