import Glibc

/// How a program of the person's is started: in a session of its own, so that Ctrl-C here does not
/// reach it and it cannot take the terminal, and with the signals as a shell would leave them.
///
/// What this process ignores (SIGINT, SIGTERM, SIGHUP, SIGPIPE) or a thread of its pool blocks would be inherited.
struct Launch {
  /// glibc's POSIX_SPAWN_SETSID, a macro that Swift does not see.
  private static let newSession: Int16 = 0x80
  private static let ignoredHere = [SIGINT, SIGTERM, SIGHUP, SIGPIPE]

  /// The program, looked up in `PATH`, and what it is told.
  var arguments: [String]
  /// What becomes of standard input, output and error.
  var files: [File]

  enum File {
    case null
    case shared
    case descriptor(CInt)
  }

  /// - Returns: The process, which leads a process group of that number; nil where it cannot be
  ///   started.
  func start() -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    add(files, to: &actions)
    setSignals(of: &attributes)
    var strings = arguments.map { strdup($0) } + [nil]
    defer { for string in strings { free(string) } }
    var process = pid_t()
    let failure = posix_spawnp(&process, arguments[0], &actions, &attributes, &strings, environ)
    return failure == 0 ? process : nil
  }

  private func add(_ files: [File], to actions: inout posix_spawn_file_actions_t) {
    for (number, file) in zip(CInt(0)..., files) {
      switch file {
      case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      case .shared: break
      case .descriptor(let descriptor):
        posix_spawn_file_actions_adddup2(&actions, descriptor, number)
      }
    }
  }

  private func setSignals(of attributes: inout posix_spawnattr_t) {
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in Self.ignoredHere { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Self.newSession
    posix_spawnattr_setflags(&attributes, flags)
  }
}
