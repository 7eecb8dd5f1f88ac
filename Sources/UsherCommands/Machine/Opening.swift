import Glibc
import Synchronization
import UsherCore

/// Stops a daemon and makes it open its database again. If needed, the daemon is given the recovery
/// key, or is told to accept changes that another program made.
final class Opening: Sendable {
  /// A credential for the one daemon start that opens the database.
  enum Handed {
    case recoveryKey(RecoveryKey)
    case acceptance

    static let credentials = ["usherd.recovery-key", "usherd.accept-changes"]

    var credential: String {
      switch self {
      case .recoveryKey: Self.credentials[0]
      case .acceptance: Self.credentials[1]
      }
    }

    var text: Secret {
      switch self {
      case .recoveryKey(let key): key.text
      case .acceptance: Secret("yes")
      }
    }
  }

  /// Upper bound for opening a database; migrating and checking a large one takes long.
  private static let limit = Duration.seconds(600)

  private let context: CommandContext
  private let instance: Instance
  /// Whether the user's own daemon was stopped through the user's systemd, to be started there
  /// again.
  private let isUsersUnit = Mutex(false)

  init(context: CommandContext, instance: Instance) {
    self.context = context
    self.instance = instance
  }

  private var usersUnits: Units { Units(environment: environment, isUsers: true) }

  private var environment: CommandEnvironment { context.environment }

  /// Returns the path of the recovery key while the system's daemon starts.
  static func passing(_ environment: CommandEnvironment) -> String {
    passing(Handed.credentials[0], environment)
  }

  private static func passing(_ credential: String, _ environment: CommandEnvironment) -> String {
    "\(environment.places.passing)/\(credential)"
  }

  /// Removes the credentials that a killed run left.
  func sweep() throws {
    guard instance == .system else { return try folder.remove() }
    for file in Handed.credentials.map({ Self.passing($0, environment) }) {
      for file in [file, Durable.draft(of: file)] { try Durable.remove(file) }
    }
  }

  private var folder: PassingFolder {
    get throws {
      try PassingFolder(in: environment.places.memory, for: instance.state(environment))
    }
  }

  /// - Throws: ``CommandFailure`` if the daemon cannot be stopped.
  func stop() async throws {
    switch instance {
    case .system: try await Units(environment: environment).stop()
    case .user:
      // A daemon without systemd has no units; the database lock will detect it.
      guard environment.tools.path(of: "systemctl") != nil, try await usersUnits.isThere else {
        return
      }
      try await usersUnits.stop()
      isUsersUnit.withLock { $0 = true }
    case .byHand: break
    }
  }

  /// Makes the daemon open the database. Afterwards a service is running; a daemon without systemd
  /// is not.
  ///
  /// The credential is a file in memory, which is removed in every case.
  ///
  /// - Throws: ``CommandFailure`` with the daemon's message if the database does not open;
  ///   `CancellationError`.
  func open(_ handed: Handed?) async throws {
    switch instance {
    case .system: try await openSystem(handed)
    case .user, .byHand:
      try await check(handed)
      await goOn()
    }
  }

  private func openSystem(_ handed: Handed?) async throws {
    let units = Units(environment: environment)
    guard let handed else { return try await units.start() }
    let passing = Self.passing(handed.credential, environment)
    try Durable.makeDirectory(environment.places.passing)
    do {
      try Durable.write(Array(handed.text.revealed().utf8), to: passing)
      try await units.start()
    } catch {
      unlink(passing)
      throw error
    }
    try Durable.remove(passing)
    // The running daemon still holds a copy of the credential; and the restart proves that the
    // master key now opens the database.
    try await units.restart()
  }

  /// Makes a daemon open and close the database without serving.
  private func check(_ handed: Handed?) async throws {
    let folder = try folder
    defer { folder.remove() }
    if let handed { try folder.put(handed) }
    let variables = handed == nil ? [] : ["CREDENTIALS_DIRECTORY=\(folder.path)"]
    let state = ["--state", instance.state(environment), "--check-store"]
    let ending = try await environment.tools.run(
      environment.tools.find("env"), variables + [try environment.tools.find("usherd")] + state,
      input: Secret(""), within: Self.limit)
    guard ending.status == 0 else {
      let words = ending.words
      throw CommandFailure(words.hasPrefix("usherd: ") ? String(words.dropFirst(8)) : words)
    }
  }

  /// Starts the service again if systemd manages it; otherwise asks the person to start the daemon.
  /// Also works in a cancelled task.
  func goOn() async {
    await Task {
      switch instance {
      case .system: try? await Units(environment: environment).start()
      case .user where isUsersUnit.withLock({ $0 }): try? await usersUnits.start()
      case .user, .byHand: context.console.note("start usherd again")
      }
    }.value
  }

  /// Starts only the sockets of the system's daemon, after a failed recovery: the daemon could not
  /// serve before either.
  func listen() async {
    guard instance == .system else { return }
    await Units(environment: environment).listen()
  }
}

/// A folder in memory with one credential for one state directory. The name is the same in each
/// run, so that a run removes what a killed one left.
private struct PassingFolder {
  let path: String

  init(in memory: String, for state: String) throws {
    let inode = try Durable.status(state)?.st_ino ?? 0
    path = "\(memory)/usherctl-\(geteuid())-\(inode)"
  }

  /// - Throws: ``CommandFailure`` if the folder is not private to this user.
  func put(_ handed: Opening.Handed) throws {
    try Durable.makeDirectory(path)
    guard isOurs else { throw CommandFailure("\(path) is not a private directory of yours") }
    try Durable.createdAnew("\(path)/\(handed.credential)")
      .write(Array(handed.text.revealed().utf8))
  }

  func remove() {
    guard isOurs else { return }
    for name in Opening.Handed.credentials { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private var isOurs: Bool {
    guard let status = try? Durable.status(path) else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
      && status.st_mode & 0o077 == 0
  }
}

extension Console {
  /// Asks for the recovery key, and detects a mistyped one.
  func readRecoveryKey() async throws -> RecoveryKey {
    let text = try await readPasscode("recovery key")
    do throws(RecoveryKey.Mistake) {
      return try RecoveryKey(text)
    } catch {
      throw CommandFailure("the recovery key \(error)")
    }
  }
}
