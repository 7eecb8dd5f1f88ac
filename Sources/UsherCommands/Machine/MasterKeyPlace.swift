import UsherAPI
import UsherClient
import UsherCore

/// Where the system's daemon has its master key from: the sealed credential, as far as we can.
struct MasterKeyPlace {
  /// What `system.status` says where it is the credential.
  private static let origin = "systemd credential \(SealedKey.name)"

  let context: CommandContext

  private var environment: CommandEnvironment { context.environment }
  private var sealed: SealedKey { SealedKey(environment: environment, console: context.console) }
  private var file: KeyFile { KeyFile(state: environment.places.state) }

  /// What is to be done about a credential that does not open.
  enum Unreadable { case refuse, putAside }

  /// Sees to it that there is a credential that opens: of the key file, or a new one.
  ///
  /// - Parameters:
  ///   - database: Where it is there and nothing else has its key, a new key would open nothing.
  ///   - isRecovered: Whether the recovery key will open the database. The daemon is stopped then.
  /// - Returns: Whether one was made.
  func seal(
    _ unreadable: Unreadable, database: String, isRecovered: Bool = false
  ) async throws -> Bool {
    switch try await sealed.find() {
    case .opens: return false
    case .closed(let words):
      guard unreadable == .putAside else { throw closed(words) }
      try sealed.putAside()
    case .absent: break
    }
    if try file.read() != nil || isRecovered {
      try await sealed.seal(try key(database, isRecovered))
    } else {
      try await sealWhileStopped(database)
    }
    context.console.note("the master key is sealed in \(sealed.path)")
    return true
  }

  /// A daemon that starts meanwhile would make itself a key, and a database under it: none may, and
  /// whether one has is only seen when it has stopped.
  private func sealWhileStopped(_ database: String) async throws {
    let units = Units(environment: environment)
    let wasThere = try await units.isThere
    do {
      try await units.stop()
      try await sealed.seal(try key(database, false))
    } catch {
      if wasThere { await units.listen() }
      throw error
    }
  }

  private func key(_ database: String, _ isRecovered: Bool) throws -> MasterKeyText {
    if let key = try file.read() { return key }
    guard try isRecovered || Durable.status(database) == nil else {
      throw Failure(
        "there is a database and no master key: neither \(file.path) nor \(sealed.path)",
        hints: ["by its recovery key it opens: usherctl recover"])
    }
    return .random()
  }

  private func closed(_ words: String) -> Failure {
    Failure(
      "\(sealed.path) does not open here: \(words)",
      hints: [
        "it was sealed on another host, for another name, or this host's key or TPM has changed",
        "usherctl recover makes a new one, by the recovery key",
      ])
  }

  /// Has the daemon use the credential, and starts it where it does not run.
  ///
  /// - Parameter isNew: Whether it cannot have it yet.
  /// - Returns: What it says of itself then.
  func use(isNew: Bool) async throws -> SystemStatus.Reply {
    let units = Units(environment: environment)
    let isActive = try await units.isActive
    let restarts = isNew && isActive
    try await explaining {
      if restarts { try await units.restart() } else { try await units.start() }
    }
    var status = try await context.admin.call(SystemStatus())
    if status.masterKey != nil, status.masterKey != Self.origin, !restarts {
      // It ran, or began to, before there was the credential.
      try await explaining { try await units.restart() }
      status = try await context.admin.call(SystemStatus())
    }
    guard status.locked != true else {
      throw Failure(
        "usherd is locked", hints: ["usherctl unlock --admin, then the same again"],
        status: Failure.Status.tryAgain)
    }
    guard status.masterKey == Self.origin else {
      throw Failure(
        "usherd has its master key from \(status.masterKey ?? "elsewhere")",
        hints: ["does \(Units.service) have LoadCredentialEncrypted=\(SealedKey.name)?"]
          + (try await wayOut))
    }
    return status
  }

  /// Says of a daemon that does not start where that may be for one of two keys.
  private func explaining(_ start: () async throws -> Void) async throws {
    do {
      try await start()
    } catch let error as CancellationError {
      await Units(environment: environment).listen()
      throw error
    } catch let failure as Failure {
      var failure = failure
      failure.lines += try await wayOut
      throw failure
    }
  }

  /// What to do where there are two keys.
  private var wayOut: [String] {
    get async throws {
      guard let key = try file.read(), case .opens(let other) = try await sealed.find(),
        key != other
      else { return [] }
      return [
        "\(file.path) is another key than the sealed one; if the database is under that one:",
        "mv \(sealed.path) \(sealed.path).other, then usherctl setup",
      ]
    }
  }

  /// Removes the key file where the daemon runs by the same key from the credential.
  func removeFile() async throws {
    guard let key = try file.read() else { return }
    guard case .opens(key) = try await sealed.find() else {
      return context.console.note(
        "\(file.path) is another key than the sealed one, and is not used; it stays")
    }
    try file.remove()
    context.console.note("\(file.path) is removed: the sealed key is the same")
  }
}
