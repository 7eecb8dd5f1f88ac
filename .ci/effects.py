"""The side effects that Swift code may not have, by module and file, for .ci/check-layers."""

import re

# Side effects that FoundationEssentials, Crypto and the standard library offer, and that a pure
# module may not have. Clock.swift contains the real clock and the real random numbers.
DEEDS = (
    r"\bFileManager\b|\b(?:Data|String)\(contentsOf(?:File)?:|\bProcessInfo\b|\bCommandLine\b"
    r"|\bDate(?:\.init)?\(\)|\bDate\.now\b|: *Date\?? *= *\.(?:now|init\(\))|\bUUID(?:\.init)?\(\)"
    r"|\bContinuousClock\b|\bSuspendingClock\b|\bTask(?:<[^>]*>)?\.sleep\b"
    r"|\bSystemRandomNumberGenerator\b|\.random\(in:[^,)]*\)|\bBool\.random\(\)"
    r"|\.randomElement\(\)|\.shuffled\(\)|\.shuffle\(\)|\bSymmetricKey\(size:|\bNonce\(\)")
PURE_DEEDS = re.compile(DEEDS)
REAL_WORLD = {"UsherCore/Clock.swift"}

# What the daemon and its store may do only through Dependencies and DaemonSetting, so that a test
# or a simulation can replace it: start tasks and threads, wait, read a clock, draw random numbers,
# access files, sockets and users, call a provider (decision record 0017).
SEAM = {"UsherDaemon", "UsherStore"}
# The folders that implement and select the real ones.
BEHIND_SEAM = ("UsherDaemon/Outside/", "UsherDaemon/Launch/", "UsherDaemon/Loop/")
# Connections set timers on the event loop that serves them, and read its clock; the watchdog checks
# that this loop runs.
ON_LOOP = ("UsherDaemon/Server/", "UsherDaemon/Daemon.swift")
# SQLite opens its file itself; the daemon opens the store through `Disk`.
FILES_OF_STORE = ("UsherStore/",)
# Kills the process if a test requests it.
DAMAGE = {"UsherStore/FailPoint.swift"}
# Allowed: naming the type, asking whether a task is cancelled, yielding, and starting a task with
# an executor.
TASK = (
    r"(?<!-> )\bTask\b(?!(?>(?:<[^(){}]*>)?)(?:\.detached)?\(executorPreference:(?! *nil\b)"
    r"|(?><[^(){}]*>)(?! *[.({]| *= *\.init)|\.(?:isCancelled|yield|currentPriority|sleep)\b"
    r"|<[^(){}]*>\.sleep\b| *[,)>?:&]| *$)(?:<[^(){}]*>)?(?:\.\w+)?(?: *= *\.init)?(?: ?[({])?")
OUTSIDE = re.compile(
    TASK + "|" + DEEDS
    + r"|\b(?:completeWithTask|makeFutureWithTask)\b|\b(?:usleep|nanosleep|sleep|poll|ppoll|select)\("
    r"|\bDispatch(?!Data)\w+|\bThread\b|\bNIOThreadPool\b|\bMultiThreadedEventLoopGroup\b|\bpthread_\w+"
    r"|\bNIODeadline\.now\b|(?<![\w)\].])\.now\(\)|\btime\(nil\)|\bgettimeofday\b|\bclock_gettime\b"
    r"|\b(?:localtime|gmtime|mktime)(?:_r)?\b|\bSystemClock\b|\bSystemEntropy\b|\.random\("
    r"|\b(?:getrandom|getentropy|arc4random\w*)\b"
    r"|\bSystemUsers\b|\bget(?:e?[ug]id|env|pid|pw\w+|gr\w+)\("
    r"|\bHTTPClient\b|\bposix_spawn\w*|\b(?:fork|system|popen)\(|\bFingerprintReader\("
    r"|(?:(?<![.\w])|\bGlibc\.)socket\(|\bGlibc\.(?:connect|bind)\b"
    r"|\bUnixListener\b|\bPeer\.(?:read|user)\b|\bLoopbackPeer\.(?:uid|listeners)\b")
# Timers and the clock of an event loop.
LOOP_TIME = re.compile(r"\bscheduleTask\(|\bscheduleRepeatedTask\(|\b(?:\w*L|l)oop\.now\b")
FILES = re.compile(
    r"\bFileManager\b|\b(?:Data|String)\(contentsOf(?:File)?:|\bDescriptor\.open\b|\bStore\.open\b"
    r"|\bGlibc\.open\b"
    r"|(?:(?<![.\w])|\bGlibc\.)(?:openat|access|stat|lstat|fstat|unlink|opendir|mkdir|rename|rmdir|fopen)\(")


def violations(module, place, code, is_pure):
    """What is wrong in a line of code of the file at `place`, a path below Sources."""
    if is_pure and place not in REAL_WORLD and (deed := PURE_DEEDS.search(code)):
        yield f"{module} is pure and may not use {deed.group()}"
    if module in SEAM and place not in DAMAGE and not place.startswith(BEHIND_SEAM):
        found = (
            OUTSIDE.search(code)
            or not place.startswith(ON_LOOP) and LOOP_TIME.search(code)
            or not place.startswith(FILES_OF_STORE) and FILES.search(code))
        if found:
            yield f"only what Dependencies and DaemonSetting hand over may use {found.group()}"
