"""Acts on the message bus of a test's fprintd, $DBUS_SYSTEM_BUS_ADDRESS, and at its virtual reader.

    fprintd.py allow ACTION...           makes polkit grant only these actions; `all` grants all
    fprintd.py hang                      makes polkit stop replying
    fprintd.py ready                     waits until fprintd has its reader
    fprintd.py enrol USER FINGER PRINT   enrolls a finger; `SCAN PRINT` then presents it
    fprintd.py hold USER                 claims the reader, prints "held", and keeps it until killed
    fprintd.py forge                     sends all clients a signal that a finger matched
    fprintd.py odd HABIT                 replaces fprintd and prints "here": `stale` signals a match
                                         before the scan, `garbled` replies with other types,
                                         `mute` does not reply to stop and release
    fprintd.py connections               prints the number of other connections to the bus
    fprintd.py script COMMAND...         plays events at the reader, $USHER_TEST_READER: SCAN PRINT,
                                         RETRY REASON, ERROR CODE, UNPLUG

Every wait ends after a minute, or later on a busy machine. Exit status 1: it was in vain.
"""

import os
import socket
import sys
import time

FPRINT = "net.reactivated.Fprint"
DEVICE = FPRINT + ".Device"
LIMIT = 60
# How many times longer a busy machine may take; see TestDeadline.swift.
SLOWEST = 5


def slowness():
    """Returns how many threads that can run share a processor (proc_loadavg(5), fourth field)."""
    with open("/proc/loadavg") as file:
        running = int(file.read().split()[3].split("/")[0])
    return min(max(1, running / os.cpu_count()), SLOWEST)


def eventually(attempt, failures):
    """Calls `attempt` until its result is true, and returns that result."""
    last, left, problem = time.monotonic(), LIMIT, "it did not happen in time"
    while left > 0:
        try:
            if result := attempt():
                return result
        except failures as error:
            problem = str(error)
        time.sleep(0.01)
        now = time.monotonic()
        left -= (now - last) / slowness()
        last = now
    sys.exit(problem)


def script(*commands):
    """Uses one connection for each command, and waits until the reader has processed it, because the
    reader drops commands that come too early. It listens only while a client has it open."""
    def connect():
        reader = socket.socket(socket.AF_UNIX)
        reader.connect(os.environ["USHER_TEST_READER"])
        return reader

    for command in commands:
        with eventually(connect, OSError) as reader:
            reader.settimeout(LIMIT * SLOWEST)
            reader.sendall(command.encode())
            reader.shutdown(socket.SHUT_WR)
            try:
                reader.recv(1)
            except ConnectionResetError:
                pass


class Bus:
    def __init__(self):
        from gi.repository import Gio, GLib
        self.Gio, self.GLib = Gio, GLib
        self.Error = GLib.Error
        flags = (Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
                 | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION)
        self.connection = Gio.DBusConnection.new_for_address_sync(
            os.environ["DBUS_SYSTEM_BUS_ADDRESS"], flags, None, None)

    def call(self, name, path, interface, method, signature="()", *arguments):
        answer = self.connection.call_sync(
            name, path, interface, method, self.GLib.Variant(signature, arguments), None, 0,
            LIMIT * SLOWEST * 1000, None)
        return answer.unpack()

    def polkit(self, method, signature, argument):
        self.call("org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                  "org.freedesktop.DBus.Mock", method, signature, argument)
        return True

    def device(self):
        return self.call(FPRINT, "/net/reactivated/Fprint/Manager", FPRINT + ".Manager",
                         "GetDefaultDevice")[0]

    def names(self):
        names = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                          "ListNames")[0]
        return [name for name in names
                if name.startswith(":") and name != self.connection.get_unique_name()]


def allow(*actions):
    bus = Bus()
    everything = actions == ("all",)
    eventually(lambda: bus.polkit("AllowUnknown", "(b)", everything), bus.Error)
    bus.polkit("SetAllowed", "(as)", [] if everything else list(actions))


def hang():
    Bus().polkit("SimulateHang", "(b)", True)


def ready():
    bus = Bus()
    eventually(bus.device, bus.Error)


def enrol(user, finger, name):
    bus = Bus()
    device = bus.device()
    heard = []
    bus.connection.signal_subscribe(
        FPRINT, DEVICE, "EnrollStatus", device, None, 0,
        lambda *signal: heard.append(signal[5].unpack()))
    bus.call(FPRINT, device, DEVICE, "Claim", "(s)", user)
    bus.call(FPRINT, device, DEVICE, "EnrollStart", "(s)", finger)
    context = bus.GLib.MainContext.default()

    def stage():
        context.iteration(False)
        return heard and heard.pop(0)

    done = False
    while not done:
        script("SCAN " + name)
        word, done = eventually(stage, bus.Error)
    bus.call(FPRINT, device, DEVICE, "EnrollStop")
    bus.call(FPRINT, device, DEVICE, "Release")
    if word != "enroll-completed":
        sys.exit(word)


def hold(user):
    bus = Bus()

    def claim():
        bus.call(FPRINT, bus.device(), DEVICE, "Claim", "(s)", user)
        return True

    # The client that had the reader before may be releasing it.
    eventually(claim, bus.Error)
    print("held", flush=True)
    while True:
        time.sleep(60)


def forge():
    bus = Bus()
    device = bus.device()
    for name in bus.names():
        bus.connection.emit_signal(
            name, device, DEVICE, "VerifyStatus",
            bus.GLib.Variant("(sb)", ("verify-match", True)))
    bus.connection.flush_sync()


def odd(habit):
    bus = Bus()
    Gio, GLib = bus.Gio, bus.GLib
    path = "/net/reactivated/Fprint/Device/0"
    results = {"GetDefaultDevice": "o", "ListEnrolledFingers": "s"}
    arguments = {"ListEnrolledFingers": "s", "Claim": "s", "VerifyStart": "s"}

    def argument(types, method, direction):
        return f"<arg type='{types[method]}' direction='{direction}'/>" if method in types else ""

    def interface(name, *methods):
        inside = "".join(
            f"<method name='{method}'>{argument(arguments, method, 'in')}"
            f"{argument(results, method, 'out')}</method>" for method in methods)
        return Gio.DBusNodeInfo.new_for_xml(
            f"<node><interface name='{name}'>{inside}</interface></node>").interfaces[0]

    def signal(signature, *values):
        bus.connection.emit_signal(
            None, path, DEVICE, "VerifyStatus", GLib.Variant(signature, values))

    def called(connection, sender, path_, interface_, method, parameters, invocation):
        if habit == "stale" and method == "Claim":
            signal("(sb)", "verify-match", True)
        if habit == "mute" and method in ("VerifyStop", "Release"):
            return
        answer = {"GetDefaultDevice": GLib.Variant("(o)", (path,)),
                  "ListEnrolledFingers": GLib.Variant("(s)", ("right-thumb",))}
        invocation.return_value(answer.get(method))
        if method == "VerifyStart":
            signal(*{"stale": ("(sb)", "verify-no-match", True), "garbled": ("(i)", 1),
                     "mute": ("(sb)", "verify-match", True)}[habit])

    bus.connection.register_object(
        "/net/reactivated/Fprint/Manager", interface(FPRINT + ".Manager", "GetDefaultDevice"),
        called, None, None)
    bus.connection.register_object(
        path,
        interface(DEVICE, "ListEnrolledFingers", "Claim", "VerifyStart", "VerifyStop", "Release"),
        called, None, None)
    bus.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
             "RequestName", "(su)", FPRINT, 0)
    print("here", flush=True)
    GLib.MainLoop().run()


def connections():
    print(len(Bus().names()))


{"allow": allow, "hang": hang, "ready": ready, "enrol": enrol, "hold": hold, "forge": forge, "odd": odd,
 "connections": connections, "script": script}[sys.argv[1]](*sys.argv[2:])
