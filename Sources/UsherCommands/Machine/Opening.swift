import Glibc
import Synchronization
import UsherCore

/// Stops a daemon, and has it open its database again: with the recovery key, or with the word that
/// changes by something else are accepted, where that is given.
final class Opening: Sendable {
  /// What the daemon is handed for the one start in which it opens the database.
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

  /// Migrating and checking a large database take their time.
  private static let limit = Duration.seconds(600)

  private let context: CommandContext
  private let instance: Instance
  /// Whether a user's own was stopped by their systemd, which starts it again then.
  private let isUsersUnit = Mutex(false)

  init(context: CommandContext, instance: Instance) {
    self.context = context
    self.instance = instance
  }

  private var usersUnits: Units { Units(environment: environment, isUsers: true) }

  private var environment: CommandEnvironment { context.environment }

  /// Where the recovery key is for the system's daemon while that starts.
  static func passing(_ environment: CommandEnvironment) -> String {
    passing(Handed.credentials[0], environment)
  }

  private static func passing(_ credential: String, _ environment: CommandEnvironment) -> String {
    "\(environment.places.passing)/\(credential)"
  }

  /// Removes what somebody handed over who was killed.
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

  /// - Throws: ``Failure`` where it cannot be stopped.
  func stop() async throws {
    switch instance {
    case .system: try await Units(environment: environment).stop()
    case .user:
      // Who runs it by hand has no units: the lock will say where it runs.
      guard environment.tools.path(of: "systemctl") != nil, try await usersUnits.isThere else {
        return
      }
      try await usersUnits.stop()
      isUsersUnit.withLock { $0 = true }
    case .byHand: break
    }
  }

  /// Makes the daemon open the database. A service runs afterwards; one started by hand does not.
  ///
  /// The key that is handed over lies in a file in memory, and is removed on every way out.
  ///
  /// - Throws: ``Failure`` with the daemon's words where it does not open; `CancellationError`.
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
    // The running one was handed a copy; and it is to be seen that the master key opens it now.
    try await units.restart()
  }

  /// Has a daemon open and close it that serves nobody.
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
      throw Failure(words.hasPrefix("usherd: ") ? String(words.dropFirst(8)) : words)
    }
  }

  /// Lets it serve again where somebody does that but us; also for whoever gives up.
  func goOn() async {
    await Task {
      switch instance {
      case .system: try? await Units(environment: environment).start()
      case .user where isUsersUnit.withLock({ $0 }): try? await usersUnits.start()
      case .user, .byHand: context.console.note("start usherd again")
      }
    }.value
  }

  /// Has the system's sockets start it again where it could not serve before either.
  func listen() async {
    guard instance == .system else { return }
    await Units(environment: environment).listen()
  }
}

/// A folder in memory with one credential in it, for one state directory: what somebody who was
/// killed left there, the next one finds and removes.
private struct PassingFolder {
  let path: String

  init(in memory: String, for state: String) throws {
    let inode = try Durable.status(state)?.st_ino ?? 0
    path = "\(memory)/usherctl-\(geteuid())-\(inode)"
  }

  /// - Throws: ``Failure`` where somebody else has a folder of that name.
  func put(_ handed: Opening.Handed) throws {
    try Durable.makeDirectory(path)
    guard isOurs else { throw Failure("\(path) is not yours alone") }
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
  /// Asks for the recovery key, and tells a mistyped one.
  func readRecoveryKey() async throws -> RecoveryKey {
    let text = try await readPasscode("recovery key")
    do throws(RecoveryKey.Mistake) {
      return try RecoveryKey(text)
    } catch {
      throw Failure("the recovery key \(error)")
    }
  }
}
