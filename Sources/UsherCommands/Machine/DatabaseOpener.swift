import Glibc
import Synchronization
import UsherCore

/// Stops the daemon and makes it open its database again. If needed, the daemon gets the recovery
/// key, or is told to accept changes that another program made to the database.
final class DatabaseOpener: Sendable {
  /// A credential for the one daemon start that opens the database.
  struct StartupCredential {
    static let names = ["usherd.recovery-key", "usherd.accept-changes"]
    static let acceptance = StartupCredential(name: names[1], text: Secret("yes"))

    let name: String
    let text: Secret

    static func recoveryKey(_ key: RecoveryKey) -> StartupCredential {
      StartupCredential(name: names[0], text: key.text)
    }
  }

  /// Upper bound for the time in which the daemon opens its database, which takes long if a large
  /// one is migrated and checked.
  private static let limit = Duration.seconds(600)

  private let context: CommandContext
  private let instance: Instance
  /// Whether the user's own daemon was stopped through the user's systemd, so that it has to be
  /// started there again.
  private let wasUserUnitStopped = Mutex(false)

  init(context: CommandContext, instance: Instance) {
    self.context = context
    self.instance = instance
  }

  private var userUnits: Units { Units(environment: environment, isUserScope: true) }

  private var environment: CommandEnvironment { context.environment }

  /// Returns the path of the recovery key's file, which exists while the system's daemon opens its
  /// database.
  static func recoveryKeyPath(_ environment: CommandEnvironment) -> String {
    credentialPath(StartupCredential.names[0], environment)
  }

  private static func credentialPath(_ name: String, _ environment: CommandEnvironment) -> String {
    "\(environment.directories.transientCredentials)/\(name)"
  }

  /// Removes the credential files that a killed run of usherctl left.
  func removeLeftoverCredentials() throws {
    guard instance == .system else { return try folder.remove() }
    for file in StartupCredential.names.map({ Self.credentialPath($0, environment) }) {
      for file in [file, Durable.draft(of: file)] { try Durable.remove(file) }
    }
  }

  private var folder: CredentialFolder {
    get throws {
      try CredentialFolder(in: environment.directories.memory, for: instance.state(environment))
    }
  }

  /// Stops the daemon.
  ///
  /// - Throws: ``CommandFailure`` if the daemon cannot be stopped.
  func stop() async throws {
    switch instance {
    case .system: try await Units(environment: environment).stop()
    case .user:
      // A daemon without systemd has no units. If one is running, the lock of the database will
      // detect that.
      guard environment.tools.path(of: "systemctl") != nil, try await userUnits.isAnyActive else {
        return
      }
      try await userUnits.stop()
      wasUserUnitStopped.withLock { $0 = true }
    case .unmanaged: break
    }
  }

  /// Makes the daemon open the database. Afterwards a daemon that systemd manages is running; any
  /// other is not.
  ///
  /// The credential is a file in memory, which is removed in every case.
  ///
  /// - Throws: ``CommandFailure`` with the daemon's message if the database does not open;
  ///   `CancellationError`.
  func open(_ credential: StartupCredential?) async throws {
    switch instance {
    case .system: try await openSystem(credential)
    case .user, .unmanaged:
      try await check(credential)
      await resumeService()
    }
  }

  private func openSystem(_ credential: StartupCredential?) async throws {
    let units = Units(environment: environment)
    guard let credential else { return try await units.start() }
    let path = Self.credentialPath(credential.name, environment)
    try Durable.makeDirectory(environment.directories.transientCredentials)
    do {
      try Durable.write(Array(credential.text.revealed().utf8), to: path)
      try await units.start()
    } catch {
      unlink(path)
      throw error
    }
    try Durable.remove(path)
    // The running daemon still has a copy of the credential. And the restart proves that the master
    // key now opens the database.
    try await units.restart()
  }

  /// Runs a daemon that opens and closes the database without serving.
  private func check(_ credential: StartupCredential?) async throws {
    let folder = try folder
    defer { folder.remove() }
    if let credential { try folder.write(credential) }
    let variables = credential == nil ? [] : ["CREDENTIALS_DIRECTORY=\(folder.path)"]
    let state = ["--state", instance.state(environment), "--check-store"]
    let ending = try await environment.tools.run(
      environment.tools.find("env"), variables + [try environment.tools.find("usherd")] + state,
      input: Secret(""), within: Self.limit)
    guard ending.status == 0 else {
      let reason = ending.errorSummary
      throw CommandFailure(reason.hasPrefix("usherd: ") ? String(reason.dropFirst(8)) : reason)
    }
  }

  /// Starts the service again if systemd manages it; otherwise asks the person to start the daemon.
  /// The call also works in a cancelled task.
  func resumeService() async {
    await Task {
      switch instance {
      case .system: try? await Units(environment: environment).start()
      case .user where wasUserUnitStopped.withLock({ $0 }): try? await userUnits.start()
      case .user, .unmanaged: context.console.printMessage("start usherd again")
      }
    }.value
  }

  /// Starts only the sockets of the system's daemon. Used after a failed recovery, because the
  /// daemon could not serve before either.
  func startSockets() async {
    guard instance == .system else { return }
    await Units(environment: environment).startSockets()
  }
}

/// A folder in memory with one credential for the daemon of one state directory. The name is the
/// same in each run, so that a run removes what a killed one left.
private struct CredentialFolder {
  let path: String

  init(in memory: String, for state: String) throws {
    let inode = try Durable.status(state)?.st_ino ?? 0
    path = "\(memory)/usherctl-\(geteuid())-\(inode)"
  }

  /// Writes the credential into the folder.
  ///
  /// - Throws: ``CommandFailure`` if the folder is not private to this user.
  func write(_ credential: DatabaseOpener.StartupCredential) throws {
    try Durable.makeDirectory(path)
    guard isOurs else { throw CommandFailure("\(path) is not a private directory of yours") }
    try Durable.recreateFile("\(path)/\(credential.name)")
      .write(Array(credential.text.revealed().utf8))
  }

  func remove() {
    guard isOurs else { return }
    for name in DatabaseOpener.StartupCredential.names { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private var isOurs: Bool {
    guard let status = try? Durable.status(path) else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
      && status.st_mode & 0o077 == 0
  }
}

extension Console {
  /// Asks the person for the recovery key. The key's checksum detects a mistyped one.
  func readRecoveryKey() async throws -> RecoveryKey {
    let text = try await readPasscode("recovery key")
    do throws(RecoveryKey.Mistake) {
      return try RecoveryKey(text)
    } catch {
      throw CommandFailure("the recovery key \(error)")
    }
  }
}
