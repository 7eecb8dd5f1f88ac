"""The system calls that fail, the errors with which they fail, and what usherd may do about them."""

# The errors of each call that its manual page names, and that a machine without memory, descriptors
# or disk space, a broken disk or a signal can cause. Where a number follows, only every nth position
# is tried: the calls are many, and similar.
#
# signalfd4 is missing. If it fails, libdispatch delivers no signals and reports no error, and usherd
# does not end at SIGTERM; systemd then kills it.
CALLS = {
    "openat": ("EINTR EMFILE ENFILE ENOMEM ENOSPC", 1),
    "read": ("EINTR EIO", 1), "pread64": ("EINTR EIO", 1), "readv": ("EINTR EIO", 1),
    "write": ("EINTR EIO ENOSPC", 1), "pwrite64": ("EINTR EIO ENOSPC", 1),
    "writev": ("EINTR EIO ENOSPC", 1),
    "fsync": ("EINTR EIO ENOSPC", 1), "fdatasync": ("EINTR EIO ENOSPC", 1),
    "ftruncate": ("EINTR EIO", 1), "fallocate": ("EINTR EIO ENOSPC", 1),
    "rename": ("EIO ENOMEM ENOSPC", 1), "link": ("EIO ENOMEM ENOSPC", 1),
    "unlink": ("EIO ENOMEM", 1), "mkdir": ("ENOMEM ENOSPC", 1),
    "chmod": ("EIO ENOMEM", 1), "fchmod": ("EIO", 1), "fchown": ("EIO", 1),
    "access": ("EIO ENOMEM", 1), "readlink": ("EIO ENOMEM", 1), "readlinkat": ("EIO ENOMEM", 1),
    "getdents64": ("EIO ENOMEM", 1), "flock": ("EINTR ENOLCK", 1),
    "newfstatat": ("ENOMEM", 4), "fcntl": ("EINTR ENOLCK", 4), "close": ("EINTR EIO", 4),
    "mmap": ("ENOMEM", 1), "brk": ("ENOMEM", 1), "mprotect": ("ENOMEM", 4), "munmap": ("ENOMEM", 4),
    "madvise": ("ENOMEM EAGAIN", 1), "mlock": ("ENOMEM EAGAIN EPERM", 1),
    "clone3": ("EAGAIN ENOMEM", 1),
    "socket": ("EMFILE ENFILE ENOBUFS ENOMEM", 1), "socketpair": ("EMFILE ENFILE", 1),
    "bind": ("ENOMEM", 1), "listen": ("EADDRINUSE", 1), "connect": ("EINTR EAGAIN", 1),
    "accept4": ("EINTR EMFILE ENFILE ENOBUFS ENOMEM ECONNABORTED", 1),
    "sendto": ("EINTR ENOBUFS ENOMEM EPIPE", 1), "sendmsg": ("EINTR ENOBUFS ENOMEM EPIPE", 1),
    "recvfrom": ("EINTR ENOMEM ECONNRESET", 1), "recvmsg": ("EINTR ENOMEM ECONNRESET", 1),
    "getsockname": ("ENOBUFS", 1), "getpeername": ("ENOBUFS", 1), "shutdown": ("ENOTCONN", 1),
    "getsockopt": ("ENOMEM", 1), "setsockopt": ("ENOMEM", 1),
    "epoll_create": ("EMFILE ENFILE ENOMEM", 1), "epoll_create1": ("EMFILE ENFILE ENOMEM", 1),
    "epoll_ctl": ("ENOMEM ENOSPC", 1), "epoll_wait": ("EINTR", 1), "epoll_pwait2": ("EINTR", 1),
    "poll": ("EINTR ENOMEM", 1),
    "eventfd2": ("EMFILE ENFILE ENOMEM", 1), "timerfd_create": ("EMFILE ENFILE ENOMEM", 1),
    "getrandom": ("EINTR", 4),
    "prlimit64": ("EPERM", 1), "prctl": ("EINVAL", 4),
}

# Crashes that are excused: the calls, what the log says, whether usherd may have been ready before,
# and the reason. After an excused crash, too, everything acknowledged must be there.
EXCUSED = [
    ("mmap|brk|mprotect|madvise|munmap", "", True,
     "Swift ends a process that cannot allocate memory; no program can prevent it."),
    ("epoll_.*|eventfd2|timerfd_create|clone3|socketpair", "", False,
     "SwiftNIO and libdispatch end a process that cannot create their event loops and threads."),
    (".*", r"NIO\w+/\S+: Assertion failed", True,
     "SwiftNIO checks in debug builds only what it handles in release builds."),
]
