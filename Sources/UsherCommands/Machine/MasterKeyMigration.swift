import UsherClient

/// Moves the master key of the system's daemon into a sealed systemd credential.
struct MasterKeyMigration {
  /// The value of `masterKey` in the reply to `system.status` if the daemon uses the sealed
  /// credential.
  private static let origin = "systemd credential \(SealedKey.name)"

  let context: CommandContext

  private var environment: CommandEnvironment { context.environment }
  private var sealed: SealedKey { SealedKey(environment: environment, console: context.console) }
  private var file: KeyFile { KeyFile(state: environment.directories.state) }
  private var units: Units { Units(environment: environment) }

  /// What to do with a sealed credential that this host cannot open: fail, or rename it.
  enum Unreadable { case refuse, moveAside }

  /// Ensures that there is a sealed credential that this host can open, made from the key file or
  /// from a new key.
  ///
  /// - Parameters:
  ///   - database: The path of the database. If the file exists, no new key is made, because a new
  ///     key could not open it.
  ///   - isRecovered: Whether the recovery key will open the database, so that a new key may be
  ///     made. The daemon must be stopped then.
  /// - Returns: Whether a credential was made.
  func seal(
    _ unreadable: Unreadable, database: String, isRecovered: Bool = false
  ) async throws -> Bool {
    switch try await sealed.find() {
    case .opens: return false
    case .closed(let reason):
      guard unreadable == .moveAside else { throw closed(reason) }
      try sealed.moveAside()
    case .absent: break
    }
    if try file.read() != nil || isRecovered {
      try await sealed.seal(try key(database, isRecovered))
    } else {
      try await sealWhileStopped(database)
    }
    context.console.printMessage("the master key is sealed in \(sealed.path)")
    return true
  }

  /// Seals the key while the daemon is stopped. Otherwise a daemon that starts meanwhile could
  /// create a key of its own and a database with it, unnoticed.
  private func sealWhileStopped(_ database: String) async throws {
    let wasActive = try await units.isAnyActive
    do {
      try await units.stop()
      try await sealed.seal(try key(database, false))
    } catch {
      if wasActive { await units.startSockets() }
      throw error
    }
  }

  private func key(_ database: String, _ isRecovered: Bool) throws -> MasterKeyBytes {
    if let key = try file.read() { return key }
    guard try isRecovered || Durable.status(database) == nil else {
      throw CommandFailure(
        "the master key of the database is missing: neither \(file.path) nor \(sealed.path) exists",
        hints: ["to open the database with its recovery key, run: usherctl recover"])
    }
    return .random()
  }

  private func closed(_ reason: String) -> CommandFailure {
    CommandFailure(
      "\(sealed.path) cannot be opened on this host: \(reason)",
      hints: [
        "it was sealed on another host or for another name, or this host's key or TPM has changed",
        "to make a new one with the recovery key, run: usherctl recover",
      ])
  }

  /// Makes the daemon use the credential; starts the daemon if it is not running.
  ///
  /// - Parameter isNew: Whether the credential was just made, so a running daemon cannot have it.
  /// - Returns: The daemon's status afterwards.
  func activate(isNew: Bool) async throws -> SystemStatus.Reply {
    let isActive = try await units.isActive
    let restarts = isNew && isActive
    try await withConflictHints {
      if restarts { try await units.restart() } else { try await units.start() }
    }
    var status = try await context.admin.call(SystemStatus())
    if status.masterKey != nil, status.masterKey != Self.origin, !restarts {
      // The daemon was started before the credential was made.
      try await withConflictHints { try await units.restart() }
      status = try await context.admin.call(SystemStatus())
    }
    guard status.locked != true else {
      throw CommandFailure(
        "usherd is locked", hints: ["run: usherctl unlock --admin, then repeat this command"],
        status: .tryAgain)
    }
    guard status.masterKey == Self.origin else {
      throw CommandFailure(
        "usherd uses another master key: \(status.masterKey ?? "its origin is not known")",
        hints: ["check that \(Units.service) has LoadCredentialEncrypted=\(SealedKey.name)"]
          + (try await conflictHints))
    }
    return status
  }

  /// Runs `start`. If it fails, adds hints for the case that key file and credential hold different
  /// keys.
  private func withConflictHints(_ start: () async throws -> Void) async throws {
    do {
      try await start()
    } catch let error as CancellationError {
      await units.startSockets()
      throw error
    } catch let failure as CommandFailure {
      var failure = failure
      failure.lines += try await conflictHints
      throw failure
    }
  }

  /// The hints for the case that the key file and the credential hold different keys.
  private var conflictHints: [String] {
    get async throws {
      guard let key = try file.read(), case .opens(let other) = try await sealed.find(),
        key != other
      else { return [] }
      return [
        "\(file.path) holds another key than the sealed one; if the database uses that key, run:",
        "mv \(sealed.path) \(sealed.path).other, then usherctl setup",
      ]
    }
  }

  /// Removes the key file if the credential holds the same key.
  func removeFile() async throws {
    guard let key = try file.read() else { return }
    guard case .opens(key) = try await sealed.find() else {
      return context.console.printMessage(
        "\(file.path) holds another key than the sealed one; it is not used and was not removed")
    }
    try file.remove()
    context.console.printMessage("removed \(file.path): it held the same key as the sealed one")
  }
}
