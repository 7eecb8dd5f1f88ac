"""The side effects that Swift code may not have, by module and file, for .ci/check-layers.

An effect acts on something outside of the program's values, or reads it. A pattern finds what the
Swift libraries offer for it, and calls of the C library. The daemon has functions of its own that
are named open, connect, bind and accept like those of C; these are told by their constants or the
number of their arguments. Besides, a file that may not use the C library imports only single names
without an effect from it, so that the compiler knows no others there (`HARMLESS`).

Not found: a nil executor that is held in a variable, and what a library does by itself, which
decision record 0017 names.
"""

import functools
import re


def made(types, by):
    """Values of these types that an initializer with these arguments makes."""
    return rf"\b(?:{types})(?:(?:\.init)?{by}|\?? *= *(?:try[!?]? )?\.init{by})"


# Every use of `Task` except: naming the type, asking whether a task is cancelled, yielding, and
# starting a task with the injected executor, which is always called `executor`. A type that is a
# member of another type is not Swift's.
TASK = (
    r"(?<!-> )(?:(?<![.\w])|\b(?:Swift|_Concurrency)\.)Task\b(?!"
    r"(?>(?:<[^(){}\n]*>)?)(?:\.detached)?\(executorPreference: (?:\w+\??\.)*executor *[,)]"
    r"|(?><[^(){}\n]*>)(?! *[.({]| *= *\.init)|\.(?:isCancelled|yield|currentPriority|sleep)\b"
    r"|<[^(){}\n]*>\.sleep\b| *[,)>?:&]| *$)(?:<[^(){}\n]*>)?(?:\.\w+)?(?: *= *\.init)?(?: ?[({])?"
    r"|\btypealias \w+(?:<[^=]*>)? *= *(?:\w+\.)?Task\b")
# An argument without a label.
ARGUMENT = r"(?:[^,:()]|\([^()]*\))+"
# Crypto draws a nonce if the call does not pass one.
SEAL = r"\b(?:GCM|ChaChaPoly)\.seal\((?!(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\bnonce:)"

# By effect: code that has it, and the functions of the C library that have it.
EFFECTS = {
    "tasks": (TASK + r"|\bglobalConcurrentExecutor\b|\b(?:complete|makeFuture)WithTask\b", ""),
    "threads": (
        r"\bDispatch(?!Data)\w+|\b(?:Thread|OperationQueue|OwnThread|LoopThread|NIOThreadPool"
        r"|NIOSingletons|(?:singleton)?MultiThreadedEventLoopGroup)\b|\bpthread_\w+", ""),
    "waiting": (
        r"\bTask(?:<[^>]*>)?\.sleep\b",
        r"u?sleep|(?:clock_)?nanosleep|p?poll|p?select|epoll_\w+|sig(?:timed)?wait\w*"
        r"|sem_(?:timed)?wait|wait(?:pid|id|3|4)|usher_(?:epoll_|bus_)?wait\w*"),
    # Timers of an event loop, and its clock.
    "timers": (
        r"\.(?:s|flatS)chedule(?!r\b)\w*\(|[Ll]oop\.now\b|\bEventLoopScheduler\b", r"timer\w*|alarm"),
    "clocks": (
        made("Date", r"\((?:\)|timeIntervalSinceNow:)")
        + r"|\bDate(?:\.|\?? *= *\.)now\b|\b(?:Continuous|Suspending|System)Clock\b"
        r"|\bNIODeadline\.now\b|(?<![\w)\].])\.now\(\)|\btimeIntervalSinceNow\b"
        r"|\bDate\.timeIntervalSinceReferenceDate\b"
        r"|\b(?:TimeZone|Calendar|Locale)(?:\?? *= *)?\.(?:autoupdatingC|c)urrent\b",
        r"time(?=\((?:nil|&))|clock(?=\(\))|clock_\w+|gettimeofday|(?:local|gm|mk)time(?:_r)?"),
    "randomness": (
        made("UUID|Nonce", r"\(\)")
        + "|" + made(r"\w*PrivateKey(?:<\w+>)?", r"\((?:\)|keySize:|compactRepresentable:)")
        + "|" + made("SymmetricKey", r"\(size:") + r"|\bSystem(?:RandomNumberGenerator|Entropy)\b|" + SEAL
        + r"|\.random\(in:(?!.*\busing:)|\bBool\.random\(\)|\.randomElement\(\)|\.shuffled?\(\)",
        r"getrandom|getentropy|arc4random\w*|s?rand(?:om)?(?:_r)?|[dejlmn]rand48(?:_r)?"),
    "files": (
        r"\b(?:NIO)?File(?:Manager|Handle)\b|\bNonBlockingFileIO\b|\b(?:In|Out)putStream\b"
        r"|\bcontentsOfFile:|\bfromPEMFile\b|\bNIOSSLPrivateKey\(file:"
        r"|\.write\(to(?:File)?:(?! *(?:&|\$0|db\b))|" + made("Data|String", r"\(contentsOf:")
        + "|" + made("Disk", r"\(")
        + r"|\b(?:Descriptor|Store|Glibc)\.open\b|\b(?:O_(?!NONBLOCK)|S_I)[A-Z]+\b",
        r"open(?=\( *,)|f?open(?:at|dir)|fopen|creat|readlink(?:at)?|f?access(?:at)?"
        r"|[fl]?stat(?:at|x|fs|vfs)?|unlink(?:at)?|readdir|(?:mk|rm)dir(?:at)?|rename(?:at)?"
        r"|f?truncate|(?:sym)?link(?:at)?|[fl]?ch(?:mod|own)(?:at)?|mk(?:stemp|dtemp|fifo|nod)"
        r"|flock|f(?:data)?sync|posix_f\w+|inotify_\w+"),
    "listeners": (r"\b(?:Server|Client|Datagram|NIO\w+)Bootstrap\b", ""),
    "sockets": (
        r"\bUnixListener\b|\bPeer\.(?:read|user)\b|\bLoopbackPeer\.(?:uid|listeners)\b"
        r"|" + made("LocalSockets", r"\(") + r"|\bGlibc\.(?:connect|bind|accept|listen)\b"
        r"|\b(?:AF|PF|SOCK|SOL|SO)_[A-Z]\w*",
        r"socket(?:pair)?|get(?:addr|name)info|[gs]etsockopt|get(?:peer|sock)name"
        rf"|(?:connect|bind|accept4?)(?=\({ARGUMENT},{ARGUMENT},)" r"|(?:recv|send)(?:from|to|m?msg)"
        r"|usher_accept\w*"),
    "users": (
        r"\bSystemUsers\b|\bUserDatabase\.system\b|\.ofSystem\(\)",
        r"get(?:e?[ug]id|pw\w+|gr\w+)"),
    "process": (
        r"\bProcessInfo\b|\bCommandLine\b|\.(?:nextO|o)fProcess\(\)",
        r"(?:get|set|put)env|_?exit|abort|raise|sig(?:nal|action)|getp?pid|[gs]etrlimit|sysconf|prctl|umask"),
    "programs": (
        r"\bProcess\(\)|\bSubprocess\b",
        r"posix_spawn\w*|v?fork|f?exec[lv]\w*|system|popen|kill|syscall|dlopen"),
    "providers": (r"\bHTTPClient\w*\b", ""),
    "fingerprints": (r"\bFingerprintReader\b|\busher_bus_\w+", ""),
}
ALL = ", ".join(EFFECTS)

# The daemon, its store and its transport have effects only through Dependencies and DaemonSetting,
# so that a test or a simulation can replace them (decision record 0017).
SEAM = ("UsherDaemon", "UsherStore", "UsherTransport")

# The effects that a file or the files of a folder may have. What is absent has none.
MAY = {
    # The clock and the entropy that all others are handed. It reads the kernel's boot id.
    "UsherCore/Clock.swift": "clocks, files, randomness",

    # The folders that implement and select what Dependencies and DaemonSetting hand over.
    "UsherDaemon/Dependencies/": ALL,
    "UsherDaemon/Launch/": ALL,
    "UsherTransport/Loop/": ALL,
    # Connections and their transport set timers on the event loop that serves them, and read its
    # clock; the watchdog checks that this loop runs.
    "UsherDaemon/Server/": "timers",
    "UsherDaemon/Daemon.swift": "timers",
    "UsherTransport/": "timers",
    # Browsers and providers connect by TCP; decision record 0017 says why these stay.
    "UsherDaemon/Flows/LoopbackServer.swift": "listeners",
    "UsherDaemon/Flows/RedirectListeners.swift": "listeners",
    "UsherDaemon/Providers/CallbackListener.swift": "listeners",

    # The files that implement the database file. SQLite opens it by itself.
    "UsherStore/SpaceReserve.swift": "files",
    "UsherStore/StoreCopy.swift": "files",
    "UsherStore/StoreFile.swift": "files",
    "UsherStore/StoreOpening.swift": "files",
    # Kills the process if a test requests it.
    "UsherStore/FailPoint.swift": "process, programs",

    # UsherSystem implements the outside: each file has the effects that its name promises. No file
    # starts a task or has a dispatch queue.
    "UsherSystem/ConnectionTable.swift": "files",
    "UsherSystem/CredentialsDirectory.swift": "files",
    "UsherSystem/DescriptorBudget.swift": "process",
    "UsherSystem/DirectSocket.swift": "sockets, threads, waiting",
    "UsherSystem/DiskFile.swift": "files",
    "UsherSystem/Fingerprint/": "clocks, fingerprints, threads, waiting",
    "UsherSystem/LockedBytes.swift": "process",
    "UsherSystem/LogDestination.swift": "files, process, sockets",
    "UsherSystem/LoopbackPeer.swift": "sockets",
    "UsherSystem/MasterKeySource.swift": "files, randomness, users",
    "UsherSystem/OwnThread.swift": "threads",
    "UsherSystem/Peer.swift": "clocks",
    "UsherSystem/ProcessDescriptor.swift": "waiting",
    "UsherSystem/ProcessDirectory.swift": "clocks, files",
    "UsherSystem/ProcessHardening.swift": "process",
    "UsherSystem/SecretFile.swift": "files",
    "UsherSystem/ServiceNotifier.swift": "clocks",
    "UsherSystem/DaemonLogHandler.swift": "clocks",
    "UsherSystem/SubordinateUsers.swift": "files, users",
    "UsherSystem/SystemCall.swift": "files, sockets",
    "UsherSystem/SystemUsers": "files, users",
    "UsherSystem/UnixAddress.swift": "sockets",
    "UsherSystem/UnixListener.swift": "files, sockets",
}
# What every file of the daemon, its store and its transport may import from the C library.
HARMLESS = re.compile(r"\bimport (?:func|var) Glibc\.(?:explicit_bzero|memcmp|strerror|errno|E[A-Z0-9]+)\b")
IMPORTS_GLIBC = re.compile(r"\bimport (?:\w+ )?Glibc\b[.\w]*")


def permitted(place):
    return frozenset(
        effect for start, effects in MAY.items() if place.startswith(start)
        for effect in effects.split(", "))


@functools.cache
def forbidden(permitted, is_pure):
    """The pattern of the effects that are not permitted. The effect is the name of the group."""
    rest = {effect: code for effect, code in EFFECTS.items() if effect not in permitted}
    patterns = [f"(?P<{effect}>{code})" for effect, (code, _) in rest.items()]
    if is_pure:
        patterns.append(r"(?P<executors>\bexecutorPreference:)")
    else:
        # Calls of functions; methods and declarations are not.
        functions = [f"(?P<{effect}_>{names})" for effect, (_, names) in rest.items() if names]
        patterns.append(rf"(?<![.\w])(?<!func )(?:Glibc\.)?(?:{'|'.join(functions) or '(?!)'})\(")
    return re.compile("|".join(patterns), re.MULTILINE)


def violations(module, place, code, is_pure):
    """The line and the description of each forbidden effect in a file's code.

    A pure module computes values from values. It does not import the C library.
    """
    if is_pure:
        rule = f"{module} is pure and may not use"
    elif module in SEAM:
        rule = "only what Dependencies and DaemonSetting hand over may use"
    elif module == "UsherSystem":
        rule = "no row of MAY in .ci/effects.py permits this file"
    else:
        return
    may, found = permitted(place), {}
    if module in SEAM and not may - {"timers", "listeners"}:
        for match in IMPORTS_GLIBC.finditer(code):
            if not HARMLESS.fullmatch(match.group()):
                found[line_of(match)] = (
                    f"{place} may import only harmless names, and not {match.group()}")
    for match in forbidden(may, is_pure).finditer(code):
        effect = match.lastgroup.rstrip("_") + ": " if module == "UsherSystem" else ""
        found.setdefault(line_of(match), f"{rule} {effect}{match.group()}")
    yield from sorted(found.items())


def line_of(match):
    return match.string.count("\n", 0, match.start()) + 1
