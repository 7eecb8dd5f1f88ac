import Glibc

/// Starts a program in a session of its own, so that Ctrl-C does not reach it and it cannot use the
/// terminal.
///
/// The handling of signals is reset, as a shell does. Otherwise the program would inherit the
/// signals that usherctl ignores (SIGINT, SIGTERM, SIGHUP, SIGPIPE) and those that a thread of its
/// pool blocks.
struct ProgramLaunch {
  /// glibc's POSIX_SPAWN_SETSID, a macro that Swift does not import.
  private static let newSession: Int16 = 0x80
  private static let ignoredHere = [SIGINT, SIGTERM, SIGHUP, SIGPIPE]

  /// The program, which is looked up in `PATH`, and its arguments.
  var arguments: [String]
  /// The program's standard input, output and error. For a missing one the program gets usherctl's
  /// own.
  var files: [File]

  enum File {
    case null
    case descriptor(CInt)
  }

  /// Starts the program.
  ///
  /// - Returns: The process id, which is also the id of its process group; nil if the program
  ///   cannot be started.
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
