import Dispatch
import Glibc
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Locking and unlocking the daemon", .mayBlock, .timeLimit(.minutes(10)))
struct LockTests {
  private let harness: LockControllerHarness

  init() throws { harness = try LockControllerHarness() }

  /// Weak references to objects that a lock must free.
  private struct Traces {
    weak var services: Services?
    weak var store: Store?
    weak var repository: AccountRepository?
    weak var engine: FlowEngine?
    weak var effects: EffectRunner?
    weak var session: LiveFlow?
    weak var refresher: Refresher?
    weak var credentials: Credentials?
    weak var localAuth: LocalAuthService?

    /// The names of the objects that still exist.
    var left: [String] {
      let all: [(String, AnyObject?)] = [
        ("services", services), ("store", store), ("repository", repository),
        ("engine", engine), ("effect runner", effects), ("session", session),
        ("refresher", refresher),
        ("credentials", credentials), ("local authenticator", localAuth),
      ]
      return all.filter { $0.1 != nil }.map(\.0)
    }
  }

  /// Adds an account with a renewal timer and a flow with a timer that waits at a step.
  private func fill(_ lockController: LockController, _ harness: LockControllerHarness) async throws
    -> Traces
  {
    let services = try lockController.services()
    let end = harness.clock.now() + .seconds(3600)
    try await services.repository.persist(.sample(keepAlive: true, tokens: .sample(expiresAt: end)))
    let flow = try await harness.startFlow(lockController)
    #expect(flow.step?.kind == .localAuth)
    await services.flows.engine.waitUntilIdle()
    return Traces(
      services: services, store: services.store, repository: services.repository,
      engine: services.flows.engine,
      effects: services.flows.engine.effects,
      session: try services.flows.engine.flow(flow.id, of: .anna),
      refresher: services.tokens.refresher, credentials: services.credentials,
      localAuth: services.localAuth)
  }

  @Test("system.lock releases every service and flow and leaves no timer")
  func freed() async throws {
    let harness = try LockControllerHarness(holdsTimers: true)
    let lockController = try await harness.begun()
    let traces = try await fill(lockController, harness)
    #expect(traces.left.count == 9 && !harness.scheduler.pending.isEmpty)
    try await lockController.lock()
    try await reached("left: \(traces.left)") { traces.left.isEmpty }
    #expect(harness.scheduler.pending == [] && lockController.unlocked == nil)
  }

  @Test(
    "system.lock releases every service although a policy.check waits for a hanging user database")
  func waitingCall() async throws {
    let (asked, hold) = (AsyncLatch(), DispatchSemaphore(value: 0))
    defer { hold.signal() }
    let names = PrincipalResolver(
      user: { _ in
        asked.open()
        hold.wait()
        return nil
      }, group: { _ in nil })
    let harness = try LockControllerHarness(
      holdsTimers: true, users: UserDatabase(user: { _ in .failed }, principals: names))
    let lockController = try await harness.begun()
    let traces = try await fill(lockController, harness)
    #expect(traces.left.count == 9)
    let waiting = try RPCService(lockController).respond(
      to: PolicyCheck.name, ["user": "anna", "method": "token.get"], as: .program(isAdmin: true))
    let call = Task { await thrown { try await waiting.reply() } }
    await asked.wait()
    try await lockController.lock()
    #expect(await call.value?.reason == .locked)
    // The look-up still hangs, and what the waiting call keeps is still in memory.
    try await reached("left: \(traces.left)") { traces.left.isEmpty }
    withExtendedLifetime(waiting) {}
  }

  @Test("accounts and flows are available again after each of three cycles of lock and unlock")
  func again() async throws {
    let lockController = try await harness.begun()
    _ = try await fill(lockController, harness)
    for _ in 1...3 {
      try await lockController.lock()
      try await lockController.unlock()
      let services = try lockController.services()
      #expect(try services.repository.accounts(of: .anna).map(\.subject) == ["usr_anna"])
      #expect(services.flows.engine.index.liveCount(of: .anna) == 1)
    }
    await lockController.end()
    #expect(lockController.unlocked == nil)
  }

  @Test("system.lock empties the write-ahead log and releases the database to other processes")
  func closed() async throws {
    let lockController = try await harness.begun()
    _ = try await fill(lockController, harness)
    try await lockController.lock()
    var status = stat()
    let isThere = stat(harness.databasePath + "-wal", &status) == 0
    #expect(!isThere || status.st_size == 0)
    let key = try MasterKeyFile(harness.place)
    let other = try Store.open(
      path: harness.databasePath, masterKey: key.bytes, keyStorage: LockedBytes.keyStorage,
      clock: harness.clock, entropy: SystemEntropy(), blocking: DispatchPool.blocking)
    let error = await #expect(throws: UsherError.self) { try await lockController.unlock() }
    #expect(error?.reason == .storageUnavailable && error?.message.contains("in use") == true)
    #expect(lockController.unlocked == nil)
    try other.close()
    try await lockController.unlock()
    #expect(lockController.unlocked != nil)
  }

  @Test("a locked daemon is locked after a restart, and an unlocked one is unlocked")
  func remembered() async throws {
    for _ in 1...2 {
      let lockController = try await harness.begun()
      #expect(lockController.unlocked != nil)
      try await lockController.lock()
      await lockController.end()
      let second = try await harness.begun()
      #expect(second.unlocked == nil)
      try await second.unlock()
      #expect(second.unlocked != nil)
      await second.end()
    }
  }

  @Test(
    "a locked daemon does not start unlocked after the notes of its lock are deleted from the store"
  )
  func notesDeleted() async throws {
    let lockController = try await harness.begun()
    try await lockController.lock()
    await lockController.end()
    try execute("DELETE FROM notes WHERE name = 'lock'", at: harness.databasePath)
    let second = try await harness.begun()
    #expect(second.unlocked == nil)
    await second.end()
    try execute("DELETE FROM notes WHERE name <> 'audit.head'", at: harness.databasePath)
    let error = await #expect(throws: UsherError.self) { try await harness.begun() }
    #expect(error?.message.contains("usherctl recover --accept-changes") == true)
  }

  @Test("system.lock is refused and changes nothing if the lock cannot be stored")
  func unremembered() async throws {
    let lockController = try await harness.begun()
    try execute("ALTER TABLE notes RENAME TO notes_away", at: harness.databasePath)
    let error = await #expect(throws: UsherError.self) { try await lockController.lock() }
    #expect(error?.reason == .storageUnavailable && lockController.unlocked != nil)
    try execute("ALTER TABLE notes_away RENAME TO notes", at: harness.databasePath)
    try await lockController.lock()
    #expect(lockController.unlocked == nil)
  }

  @Test(
    "system.unlock without master key or database fails with the reason and succeeds later",
    arguments: [("master.key", "no master key"), ("usherd.db", "no longer exists")])
  func missing(name: String, words: String) async throws {
    let lockController = try await harness.begun()
    try await lockController.lock()
    let path = name == "usherd.db" ? harness.databasePath : harness.place.file(name)
    #expect(Glibc.rename(path, path + ".away") == 0)
    let error = await #expect(throws: UsherError.self) { try await lockController.unlock() }
    #expect(error?.reason == .storageUnavailable, "\(String(describing: error))")
    #expect(error?.message.contains(words) == true, "\(String(describing: error))")
    #expect(lockController.unlocked == nil)
    #expect(Glibc.rename(path + ".away", path) == 0)
    try await lockController.unlock()
    #expect(lockController.unlocked != nil)
  }

  @Test("concurrent calls of system.lock and system.unlock run one after the other")
  func together() async throws {
    let lockController = try await harness.begun()
    _ = try await fill(lockController, harness)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 1...6 {
        group.addTask { try await lockController.lock() }
        group.addTask { try await lockController.unlock() }
      }
      try await group.waitForAll()
    }
    try await lockController.unlock()
    #expect(try lockController.services().flows.engine.index.liveCount(of: .anna) == 1)
    try await lockController.lock()
    #expect(lockController.unlocked == nil)
  }

  @Test("a stopped daemon neither locks nor unlocks, and the next start is unlocked")
  func over() async throws {
    let lockController = try await harness.begun()
    await lockController.end()
    for deed in [{ try await lockController.lock() }, { try await lockController.unlock() }] {
      let error = await #expect(throws: UsherError.self) { try await deed() }
      #expect(error?.reason == .shuttingDown)
    }
    #expect(try await harness.begun().unlocked != nil)
  }
}

/// The master key file of a state directory.
struct MasterKeyFile {
  let bytes: [UInt8]

  init(_ place: TemporaryDirectory) throws {
    guard let found = place.everything().first(where: { $0.name == "master.key" }) else {
      throw TestError("the state directory has no master key file")
    }
    bytes = Array(found.bytes)
  }
}
