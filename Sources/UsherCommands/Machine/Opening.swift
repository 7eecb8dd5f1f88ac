import Glibc
import Synchronization
import UsherCore

/// Stops a daemon, and has it open its database again: with the recovery key, where that is given.
final class Opening: Sendable {
  static let credential = "usherd.recovery-key"
  /// Migrating and checking a large database take their time.
  private static let limit = Duration.seconds(600)

  private let desk: Desk
  private let instance: Instance
  /// Whether a user's own was stopped by their systemd, which starts it again then.
  private let isUsersUnit = Mutex(false)

  init(desk: Desk, instance: Instance) {
    self.desk = desk
    self.instance = instance
  }

  private var usersUnits: Units { Units(world: world, isUsers: true) }

  private var world: World { desk.world }

  private var passing: String { Self.passing(world) }

  /// Where the recovery key is for the system's daemon while that starts.
  static func passing(_ world: World) -> String { "\(world.places.passing)/\(credential)" }

  /// Removes the recovery key that somebody left who was killed.
  func sweep() throws {
    guard instance == .system else { return try folder.remove() }
    for file in [passing, Durable.draft(of: passing)] { try Durable.remove(file) }
  }

  private var folder: PassingFolder {
    get throws {
      try PassingFolder(in: world.places.memory, for: instance.state(world), Self.credential)
    }
  }

  /// - Throws: ``Failure`` where it cannot be stopped.
  func stop() async throws {
    switch instance {
    case .system: try await Units(world: world).stop()
    case .user:
      // Who runs it by hand has no units: the lock will say where it runs.
      guard world.tools.path(of: "systemctl") != nil, try await usersUnits.isThere else { return }
      try await usersUnits.stop()
      isUsersUnit.withLock { $0 = true }
    case .byHand: break
    }
  }

  /// Has the daemon open the database; it runs then, unless it is run by hand.
  ///
  /// The recovery key is in memory for so long and removed however it ends.
  ///
  /// - Throws: ``Failure`` with the daemon's words where it does not open; `CancellationError`.
  func open(_ key: RecoveryKey?) async throws {
    switch instance {
    case .system: try await openSystem(key)
    case .user, .byHand:
      try await check(key)
      await goOn()
    }
  }

  private func openSystem(_ key: RecoveryKey?) async throws {
    let units = Units(world: world)
    guard let key else { return try await units.start() }
    try Durable.makeDirectory(world.places.passing)
    do {
      try Durable.write(Array(key.text.revealed().utf8), to: passing)
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
  private func check(_ key: RecoveryKey?) async throws {
    let folder = try folder
    defer { folder.remove() }
    if let key { try folder.put(key.text) }
    let environment = key == nil ? [] : ["CREDENTIALS_DIRECTORY=\(folder.path)"]
    let state = ["--state", instance.state(world), "--check-store"]
    let ending = try await world.tools.run(
      world.tools.find("env"), environment + [try world.tools.find("usherd")] + state,
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
      case .system: try? await Units(world: world).start()
      case .user where isUsersUnit.withLock({ $0 }): try? await usersUnits.start()
      case .user, .byHand: desk.console.note("start usherd again")
      }
    }.value
  }

  /// Has the system's sockets start it again where it could not serve before either.
  func listen() async {
    guard instance == .system else { return }
    await Units(world: world).listen()
  }
}

/// A folder in memory with one credential in it, for one state directory: what somebody who was
/// killed left there, the next one finds and removes.
private struct PassingFolder {
  let path: String
  private let file: String

  init(in memory: String, for state: String, _ name: String) throws {
    let inode = try Durable.status(state)?.st_ino ?? 0
    path = "\(memory)/usherctl-\(geteuid())-\(inode)"
    file = "\(path)/\(name)"
  }

  /// - Throws: ``Failure`` where somebody else has a folder of that name.
  func put(_ value: Secret) throws {
    try Durable.makeDirectory(path)
    guard isOurs else { throw Failure("\(path) is not yours alone") }
    try Durable.createdAnew(file).write(Array(value.revealed().utf8))
  }

  func remove() {
    guard isOurs else { return }
    unlink(file)
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
