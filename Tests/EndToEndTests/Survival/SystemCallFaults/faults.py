"""Makes the system calls of usherd fail, one in each run, while it is used and restarted.

    faults.py PROGRAMS [--share K/N] [--sample N [--seed N]] [--one WORKLOAD:CALL:ERROR:POSITION]
              [--workers N] [--report FILE]

PROGRAMS is the folder with usherd and usher-sandbox. Without --share, --sample and --one, each call of
calls.py fails at each of its positions. In each run usherd must answer every call, with an error of
the contract if need be; it must go on, or end with a message; after a restart without faults
everything acknowledged must be there; no secret may be in the log or in an error.

Exits with 0 if all that holds, with 1 if not, with 77 if this machine cannot make calls fail. --report
writes one line for each run.
"""

import argparse
import base64
import collections
import errno
import json
import multiprocessing
import os
import platform
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../../Attacks/scripts")]

from attack import Connection, eventually, impossible, slowness, unprepared  # noqa: E402
from calls import CALLS, EXCUSED  # noqa: E402
from harness import Daemon, Place, Sandbox, die_with_parent  # noqa: E402
from workload import API_KEY, PASSCODE, USER, Contract, Ended, Violation, Workload  # noqa: E402

# In memory, so that a slow disk does not delay an answer.
if os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"
# Swift's backtraces of a crash take seconds.
BACKTRACE = os.environ.get("SWIFT_BACKTRACE", "enable=no")
Case = collections.namedtuple("Case", "workload call error position")
Result = collections.namedtuple("Result", "case outcome words failed")

TOKEN = re.compile(r"\b(?:at|rt|ac|dc)_[A-Za-z0-9_-]{43}")
CONFIG = """
[limits]
flow_starts_per_minute = 10000
force_refresh_seconds = 1

[[provider]]
name = "freedom"
type = "freedomid"
mode = "device"
base_url = "{base}/freedomid"
api_key_credential = "freedom-api-key"
request_timeout_seconds = 5

"""


class FaultyDaemon(Daemon):
    """A usherd that may end at any time, and whose calls may fail."""

    def is_ready(self):
        if not self.is_running():
            return True
        try:
            for path in (self.socket, self.admin_socket):
                connection = Connection(path, 20 * slowness())
                reply = connection.reply("system.status")
                connection.close()
                if "result" not in reply:
                    return False
            return True
        except (OSError, ConnectionError):
            return False

    def stop(self):
        """Asks usherd to end, and returns its exit status."""
        if self.is_running():
            self.process.terminate()
        return self.ended()

    def ended(self):
        try:
            return self.process.wait(60 * slowness())
        except subprocess.TimeoutExpired as error:
            raise Violation("usherd does not end after SIGTERM") from error


class Worker:
    """Runs cases one after the other, with a sandbox of its own."""

    def __init__(self, place, programs, injector, contract):
        self.place, self.programs = place, programs
        self.injector, self.contract = injector, contract
        self.sandbox = Sandbox(place, programs)
        self.config = CONFIG.format(base=self.sandbox.base) + self.sandbox.provider(
            more="request_timeout_seconds = 5")
        self.prepared = None

    def daemon(self, place, launcher=()):
        # A daemon that does not know its arguments must not use the machine's own directories.
        environment = {
            "USHER_PASSCODE_ROUNDS": "1024", "SWIFT_BACKTRACE": BACKTRACE,
            "STATE_DIRECTORY": place.file("other"), "RUNTIME_DIRECTORY": place.file("other")}
        return FaultyDaemon(
            place, self.programs, self.config, launcher=launcher, env=environment, level="trace")

    def prepare(self, place, workload):
        """Prepares the state directory of a run, and returns what is acknowledged already."""
        is_new = workload == "first_use"
        # The copies of a prepared state share their refresh tokens, so these must stay valid.
        self.sandbox.control("POST", "settings", {
            "refreshRotation": "graceful" if is_new else "none", "accessTokenSeconds": 86_400,
            "deviceInterval": 0})
        if is_new:
            return None
        if not self.prepared:
            with Place() as first:
                daemon = self.daemon(first)
                work = Workload(daemon, self.contract)
                work.first_use()
                daemon.stop()
                shutil.copytree(first.file("state"), self.place.file("prepared"))
                self.prepared = work.acknowledged
        shutil.copytree(self.place.file("prepared"), place.file("state"))
        return self.prepared.copy()

    def run(self, case):
        number = getattr(errno, case.error, 0)
        with Place() as place:
            log = place.file("fault")
            launcher = [self.injector, log, case.call, str(number), str(case.position)]
            outcome, words, daemon = "not tried", "", None
            try:
                acknowledged = self.prepare(place, case.workload)
                daemon = self.daemon(place, launcher)
                work = Workload(daemon, self.contract, acknowledged)
                outcome, words = self.observe(case, daemon, work)
                self.check(daemon, work)
            except (Violation, TimeoutError) as violation:
                outcome, words = "VIOLATION", str(violation)
            except Ended:
                outcome, words = "VIOLATION", "usherd ended without a fault"
            except Exception:
                outcome, words = "VIOLATION", traceback.format_exc()
            if outcome == "VIOLATION" and daemon:
                words += "\n  " + "\n  ".join(self.last_lines(daemon))
            return Result(case, outcome, words, self.fault(log))

    @staticmethod
    def last_lines(daemon):
        """Returns the end of the log, without the frames of a crash's backtrace."""
        lines = daemon.log().strip().splitlines()
        return [line for line in lines if not re.match(r"\d+ +\S+ +0x", line)][-12:]

    def observe(self, case, daemon, work):
        """Runs the workload with a fault, until usherd has ended. Returns the outcome and a detail."""
        outcome, was_ready = "went on", daemon.is_running()
        try:
            if was_ready:
                getattr(work, case.workload)()
            else:
                outcome = "ended at the start"
            status = daemon.stop()
        except Ended:
            status, outcome = daemon.ended(), "ended"
        if status == 77:
            impossible("a system call cannot fail here: " + daemon.log())
        if status < 0:
            return "crashed, excused", self.excuse(case, daemon, was_ready, -status)
        if status > 0:
            outcome = "ended" if outcome == "went on" else outcome
            last = daemon.log().strip().splitlines()[-1:] or [""]
            if not re.search(r"usherd: |error while loading shared libraries", last[0]):
                raise Violation(f"usherd ended with status {status} and without a message: {last}")
            return outcome + " with a message", last[0]
        if outcome != "went on":
            raise Violation("usherd ended with status 0 without being asked")
        errors = work.app.errors | work.admin.errors
        if errors:
            return "answered an error", ", ".join(sorted(errors))
        if work.app.lost + work.admin.lost:
            return "closed a connection", ""
        return outcome, ""

    @staticmethod
    def excuse(case, daemon, was_ready, signal):
        """Returns why a crash is excused."""
        for calls, words, even_later, reason in EXCUSED:
            if (re.fullmatch(calls, case.call) and re.search(words, daemon.log())
                    and (even_later or not was_ready)):
                return reason
        raise Violation(f"usherd was ended by signal {signal}")

    def check(self, daemon, work):
        """Starts usherd without faults, and checks what it has and what it has said."""
        acknowledged = work.acknowledged
        if not os.path.exists(daemon.place.file("state")):
            return  # The program was not even loaded.
        daemon.launcher = []
        daemon.start()
        if not daemon.is_running():
            raise Violation("usherd does not start any more")
        after = Workload(daemon, self.contract, acknowledged)
        after.check()
        if daemon.stop() != 0:
            raise Violation("usherd does not stop in order after a restart without faults")
        said = daemon.log() + "\n".join(work.lines() + after.lines())
        with open(daemon.place.file("state/master.key"), "rb") as file:
            key = file.read()
        secrets = {API_KEY, PASSCODE, USER + "-password", key.hex(), base64.b64encode(key).decode()}
        secrets |= set(filter(None, acknowledged.tokens.values())) | set(TOKEN.findall(said))
        for secret in secrets:
            if secret in said:
                at = said.index(secret)
                raise Violation(f"a secret is in a log or an error: …{said[max(0, at - 200):at + 20]}")

    @staticmethod
    def fault(log):
        if not os.path.exists(log):
            return ""
        with open(log) as file:
            return next((line.strip() for line in file if line.startswith("failed ")), "")

    def counts(self, workload):
        """Returns how often each call is made in a run without a fault."""
        with Place() as place:
            log = place.file("fault")
            acknowledged = self.prepare(place, workload)
            daemon = self.daemon(place, [self.injector, log, "count", "0", "0"])
            work = Workload(daemon, self.contract, acknowledged)
            getattr(work, workload)()
            if daemon.stop() != 0:
                unprepared("usherd does not stop: " + daemon.log()[-500:])
            self.check(daemon, work)

            def ended():
                with open(log) as file:
                    return [line.split() for line in file if line.startswith(("count ", "end"))]
            eventually("the calls are counted", lambda: ended()[-1:] == [["end"]])
            return {line[1]: int(line[2]) for line in ended()[:-1]}


def compile_injector(place):
    if platform.machine() != "x86_64":
        impossible("the program that makes calls fail is for x86-64 only")
    if os.getuid() != 0:
        impossible("only root sees the descriptors of a process that must not be dumped")
    compiler = shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        impossible("a C compiler is needed")
    program = place.file("inject_fault")
    calls = "-DCALLS=" + " ".join(f"C({name})" for name in CALLS)
    source = os.path.join(HERE, "inject_fault.c")
    subprocess.run([compiler, "-O1", calls, "-o", program, source], check=True)
    return program


def all_cases(counts):
    return [
        Case(workload, call, error, position)
        for workload, numbers in counts.items() for call, (errors, step) in CALLS.items()
        for error in errors.split() for position in range(1, numbers.get(call, 0) + 1, step)]


def mixed(cases, seed):
    """Returns the cases in an order in which each beginning has about as many of each call and error."""
    chance = random.Random(seed)
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.call, case.error].append(case)
    rounds = []
    for group in groups.values():
        chance.shuffle(group)
        rounds += [(number, chance.random(), case) for number, case in enumerate(group)]
    return [case for _, _, case in sorted(rounds)]


def work(programs, injector, contract, cases, results):
    """The process of one worker. Each case that is taken has a result."""
    die_with_parent()
    with Place() as place:
        worker = Worker(place, programs, injector, contract)
        while (case := cases.get()) is not None:
            results.put(worker.run(case))
        results.put(None)


def run_all(options, injector, contract, chosen):
    cases, results = multiprocessing.Queue(), multiprocessing.Queue()
    cases.cancel_join_thread()  # When this process is told to end, the cases that are left are lost.
    for case in chosen + [None] * options.workers:
        cases.put(case)
    workers = [
        multiprocessing.Process(
            target=work, args=(options.programs, injector, contract, cases, results), daemon=True)
        for _ in range(options.workers)]
    for each in workers:
        each.start()
    running = len(workers)
    while running:
        try:
            result = results.get(timeout=10)
        except queue.Empty:
            for each in workers:
                if each.exitcode:
                    sys.exit(each.exitcode)
            continue
        if result is None:
            running -= 1
        else:
            yield result
    for each in workers:
        each.join()


def table(results):
    """Prints for each call and error the number of runs with each outcome."""
    rows = collections.defaultdict(collections.Counter)
    for result in results:
        outcome = result.outcome if result.failed or result.outcome == "VIOLATION" else "not reached"
        rows[result.case.call, result.case.error][outcome] += 1
    for (call, error), outcomes in rows.items():
        words = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
        print(f"{call:15} {error:13} {sum(outcomes.values()):5}: {words}")


def report(results, options):
    """Prints the runs that broke a promise and the table. Returns how many did."""
    begun, done, found = time.monotonic(), [], 0
    try:
        with open(options.report, "w") as file:
            for result in results:
                done.append(result)
                is_bad = result.outcome == "VIOLATION"
                found += is_bad
                row = *result.case, result.outcome, result.failed, result.words[:200]
                file.write("\t".join(map(str, row)).replace("\n", " ") + "\n")
                file.flush()
                if is_bad or options.one:
                    print(
                        ":".join(map(str, result.case)), result.outcome,
                        result.failed or "not reached", result.words, flush=True)
    finally:  # Also if this process is told to end.
        table(done)
        seconds = time.monotonic() - begun
        print(f"{len(done)} runs in {seconds:.0f} s, {found} broke a promise", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--share", default="1/1")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one")
    parser.add_argument("--calls", help="only these calls, separated by commas")
    parser.add_argument("--workers", type=int, default=3 * os.cpu_count())
    parser.add_argument("--report", default=os.devnull)
    options = parser.parse_args()
    usherd = os.path.join(options.programs, "usherd")
    document = subprocess.run([usherd, "--print-rpc-description"], capture_output=True, check=True)
    contract = Contract(json.loads(document.stdout))
    with Place() as place:
        injector = compile_injector(place)
        if options.one:
            workload, call, error, position = options.one.split(":")
            chosen = [Case(workload, call, error, int(position))]
            options.workers = 1
        else:
            worker = Worker(place, options.programs, injector, contract)
            counts = {name: worker.counts(name) for name in ("first_use", "use")}
            print(counts, flush=True)
            chosen = all_cases(counts)
            if options.calls:
                chosen = [case for case in chosen if case.call in options.calls.split(",")]
            chosen = mixed(chosen, options.seed)
            share, shares = map(int, options.share.split("/"))
            chosen = chosen[share - 1::shares][:options.sample]
        sys.exit(1 if report(run_all(options, injector, contract, chosen), options) else 0)


if __name__ == "__main__":
    main()
