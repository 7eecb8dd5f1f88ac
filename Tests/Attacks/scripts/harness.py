"""A daemon and a sandbox in a folder of their own, for scripts that prepare their victim.

All processes that are started end with the script, however the script ends.
"""

import contextlib
import ctypes
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import urllib.error
import urllib.parse
import urllib.request

from attack import PATIENCE, Connection, Deadline, eventually, impossible, unprepared

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# A group whose members may use their own accounts. No user of this machine is a member.
GROUP = 54_242

# A provider whose sign-in stays at the browser's step; no server is needed.
SILENT = """
[[provider]]
name = "silent"
type = "oidc"
issuer = "http://127.0.0.1:1/oidc"
client_id = "usher"

[provider.endpoints]
authorization = "http://127.0.0.1:1/authorize"
token = "http://127.0.0.1:1/token"
jwks = "http://127.0.0.1:1/jwks"
"""


def need_root(why):
    if os.getuid() != 0:
        impossible("only root can " + why)


def precede():
    """Raises the priority of this process and its children. Attackers do not inherit it.

    The scheduling of processes is the kernel's task, not the daemon's. systemd gives the daemon the
    same share as all users together, and each user the same share as another. Without a raised
    priority, builds and tests on the same machine would be measured.
    """
    if os.getuid() == 0:
        with contextlib.suppress(PermissionError):  # Not allowed to root in some containers.
            os.nice(-10)


def own_session(nicer=0):
    """Puts this process, which was just forked, into its own session, where its nice value applies."""
    os.setsid()
    os.nice(nicer)
    # With autogroups (sched(7)) nice applies only within a session; this value applies between
    # sessions.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
        file.write(str(os.nice(0)))
    die_with_parent()


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Place:
    """A folder that every user may enter, with the processes that were started in it."""

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
        self.path = tempfile.mkdtemp(prefix="usher-attack.")
        os.chmod(self.path, 0o755)
        self.started = []
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
            process.wait()
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def start(self, log, *command, env=None):
        with open(self.file(log), "a") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=os.environ | (env or {}), preexec_fn=own_session)
        self.started.append(process)
        return process


class Daemon:
    """A usherd from the folder of programs, which can be killed and restarted on the same state."""

    def __init__(self, place, programs, config="", launcher=(), env=None, level="info"):
        self.place, self.launcher, self.env = place, list(launcher), env
        self.socket, self.admin_socket = place.file("u.sock"), place.file("a.sock")
        self.command = [
            os.path.join(programs, "usherd"), "--config", place.file("usherd.toml"),
            "--state", place.file("state"), "--socket", self.socket,
            "--admin-socket", self.admin_socket, "--log-level", level]
        with open(place.file("usherd.toml"), "w") as file:
            file.write(config)
        self.start()

    def start(self):
        self.process = self.place.start(
            "usherd.log", *self.launcher, *self.command, env=self.env)
        eventually("usherd answers", self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            unprepared("usherd ended: " + self.log()[-500:])
        try:
            return "result" in self.admin().reply("system.status")
        except (OSError, ConnectionError):
            return False

    def is_running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def log(self):
        with open(self.place.file("usherd.log")) as file:
            return file.read()

    def connect(self):
        return Connection(self.socket)

    def admin(self, timeout=PATIENCE):
        return Connection(self.admin_socket, timeout)


class Clock:
    """A wall clock for programs with `environment`, which can be moved. Their waits are not affected."""

    SOURCE = os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "../../UsherTestKit/movable_clock.c")

    def __init__(self, place):
        library, self.ahead = place.file("clock.so"), place.file("ahead")
        self.set(0)
        compiler = shutil.which("clang") or shutil.which("cc")
        if compiler is None:
            impossible("a clock that can be moved needs a C compiler")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", library, self.SOURCE], check=True)
        self.environment = {"LD_PRELOAD": library, "USHER_TEST_AHEAD": self.ahead}

    def set(self, seconds):
        # Written in place, because the program has the file mapped.
        with open(self.ahead, "r+b" if os.path.exists(self.ahead) else "wb") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))


class Sandbox:
    """usher-sandbox on a free port."""

    def __init__(self, place, programs):
        port = place.file("port")
        place.start(
            "sandbox.log", os.path.join(programs, "usher-sandbox"), "--port-file", port)
        eventually("the sandbox listens", lambda: os.path.exists(port) and os.path.getsize(port))
        with open(port) as file:
            self.base = "http://127.0.0.1:" + file.read().strip()

    def provider(self, name="demo", more=""):
        return (f'[[provider]]\nname = "{name}"\ntype = "oidc"\nissuer = "{self.base}/oidc"\n'
                f'client_id = "usher"\n{more}\n')

    def control(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{self.base}/_control/{path}", data, headers, method=method)
        with browser().open(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read() or b"null")

    def requests(self, endpoint, grant=None):
        """Returns how many requests for an endpoint, with a grant type, the provider has received."""
        more = f"&grantType={grant}" if grant else ""
        return self.control("GET", f"requests?endpoint={endpoint}{more}")["count"]

    def fault(self, endpoint, fault, grant=None, times=1):
        rule = {"endpoint": endpoint, "fault": fault}
        if times:
            rule["times"] = times
        if grant:
            rule["grantType"] = grant
        self.control("POST", "faults", rule)


def browser():
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def page(url, form=None):
    """Returns the page that a browser gets after redirects, whatever its status."""
    data = urllib.parse.urlencode(form).encode() if form else None
    try:
        with browser().open(url, data, timeout=PATIENCE) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode(errors="replace")


def at_browser(url, user="alice", code=None):
    """Signs a user in on the sandbox's pages, and returns the last page after the redirects.

    With the user code of a device flow, the pages are those of the device flow.
    """
    base = urllib.parse.urljoin(url, "/oidc")
    hidden = re.compile(r'name="(transaction|csrf)" value="([^"]*)"')
    form = dict(hidden.findall(page(url)))
    form |= {"username": user, "password": user + "-password", "action": "login"}
    form |= {"user_code": code} if code else {}
    form = dict(hidden.findall(page(base + "/login", form)))
    return page(base + "/consent", form | {"decision": "allow"})


def start_flow(connection, provider="demo"):
    """Starts a sign-in, and returns the flow at its first step other than wait."""
    call = {"provider": provider, "kind": "authorize", "params": {}, "waitMs": 60_000}
    reply = connection.reply("flow.start", call)
    if "error" in reply:
        raise ConnectionError(f"no flow: {reply['error']}")
    return reply["result"]["flow"]


def await_flow(connection, flow, holds=lambda flow: flow["status"] != "active", seconds=60):
    """Waits until `holds` is true for the flow, and returns the flow."""
    deadline = Deadline(seconds)
    while not holds(flow) and not deadline.is_over():
        call = {"flow": flow["id"], "revision": flow["revision"], "timeoutMs": 1000}
        flow = connection.reply("flow.wait", call)["result"]["flow"]
    return flow


def sign_in(connection, provider="demo", user="alice"):
    """Signs a user in from flow.start to the end. Returns the finished flow and the last page."""
    flow = start_flow(connection, provider)
    if flow["status"] != "active" or not flow["step"]:
        return flow, ""
    last = at_browser(flow["step"]["url"], user)
    return await_flow(connection, flow), last


def must_sign_in(connection, provider="demo", user="alice"):
    flow, _ = sign_in(connection, provider, user)
    if flow["status"] != "succeeded":
        unprepared(f"{user} cannot sign in: {flow.get('failure')}")


def become(uid, groups=(), gid=None):
    """Changes the user of this process, permanently."""
    os.setgroups(list(groups))
    os.setgid(uid if gid is None else gid)
    os.setuid(uid)
    # The kernel clears this setting when the user changes.
    die_with_parent()


def as_user(uid, act, groups=(GROUP,), gid=None):
    """Runs `act` in a process of another user, and returns its result, passed as JSON."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        answer = {"trouble": "it did not end"}
        try:
            os.close(heard)
            own_session()
            become(uid, groups, gid)
            answer = {"value": act()}
        except BaseException as error:
            answer = {"trouble": repr(error)}
        finally:
            os.write(told, json.dumps(answer).encode())
            os._exit(0)
    os.close(told)
    with os.fdopen(heard) as file:
        answer = json.loads(file.read() or '{"trouble": "it said nothing"}')
    os.waitpid(child, 0)
    if "trouble" in answer:
        raise ConnectionError(f"uid {uid}: {answer['trouble']}")
    return answer["value"]


class Attackers:
    """Processes of another user that attack until the `with` block ends.

    Each process runs one of `acts`, a function with the parameter `add`; `add()` counts one action.
    The block begins when each process has counted one. Without root the processes run as this user.
    """

    def __init__(self, uid, acts, groups=(), gid=None):
        self.user, self.acts, self.children = (uid, groups, gid), acts, {}
        self.counts = mmap.mmap(-1, 8 * len(acts))

    def count(self, place):
        return int.from_bytes(self.counts[8 * place:8 * place + 8], "little")

    def add(self, place):
        self.counts[8 * place:8 * place + 8] = (self.count(place) + 1).to_bytes(8, "little")

    def run(self, place):
        try:
            # Reverts precede(). Without root, gives way to the processes that are measured.
            own_session(10 if os.getuid() == 0 else 19)
            if os.getuid() == 0:
                become(*self.user)
            self.acts[place](lambda: self.add(place))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def __enter__(self):
        for place in range(len(self.acts)):
            child = os.fork()
            if child == 0:
                self.run(place)
            self.children[child] = place
        try:
            eventually("each attacker has begun", lambda: all(
                self.count(place) for place in self.children.values()) or self.ended())
        except TimeoutError:
            self.__exit__()
            raise
        return self

    def ended(self):
        """Returns how many processes ended by themselves."""
        for child in list(self.children):
            if os.waitpid(child, os.WNOHANG)[0]:
                del self.children[child]
        return len(self.acts) - len(self.children)

    def __exit__(self, *_):
        self.early = self.ended()
        self.done = sum(self.count(place) for place in range(len(self.acts)))
        for child in self.children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        self.children = {}
