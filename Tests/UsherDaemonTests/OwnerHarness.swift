import Dispatch
import JSONRPC
import NIOCore
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A user database whose content the test sets.
final class FakeUsers: Sendable {
  private struct State {
    var users: [UInt32: UserLookup] = [:]
    var local: Set<UInt32> = []
    var lookUps = 0
    var hold: DispatchSemaphore?
    var waiting = 0
  }

  private let state = Mutex(State())

  /// The number of lookups.
  var lookUps: Int { state.withLock { $0.lookUps } }

  func set(_ uid: UInt32, _ user: UserLookup, isLocal: Bool = false) {
    state.withLock { state in
      state.users[uid] = user
      if isLocal { state.local.insert(uid) } else { state.local.remove(uid) }
    }
  }

  /// Whether a lookup is blocked.
  var isAwaited: Bool { state.withLock { $0.waiting > 0 } }

  /// Blocks all later lookups.
  /// - Returns: A function that releases one lookup.
  func hang() -> @Sendable () -> Void {
    let hold = DispatchSemaphore(value: 0)
    state.withLock { $0.hold = hold }
    return { hold.signal() }
  }

  /// - Parameter nameHolds: How long a looked-up name applies to later connections.
  func database(nameHolds: Duration) -> UserDatabase {
    UserDatabase(
      user: { [self] uid in
        let (user, hold) = state.withLock { state in
          state.lookUps += 1
          if state.hold != nil { state.waiting += 1 }
          return (state.users[uid] ?? .nameless, state.hold)
        }
        hold?.wait()
        return user
      }, isLocal: { [self] uid in state.withLock { $0.local.contains(uid) } },
      nameHolds: nameHolds)
  }
}

/// A daemon whose users' names change.
final class OwnerHarness: Sendable {
  static let uid = Owner.anna.uid
  static let person = LocalPerson(realm: "host", uid: uid)

  let users = FakeUsers()
  let harness: LockControllerHarness
  private let current: Mutex<LockController>

  var lockController: LockController { current.withLock { $0 } }
  var owners: OwnerRegistry { get throws { try lockController.services().owners } }

  /// - Parameters:
  ///   - first: The user with the uid at the start.
  ///   - isLocal: Whether the password file of the machine has the uid.
  ///   - nameHolds: How long a looked-up name applies to later connections.
  init(
    _ first: UserLookup = .named("anna"), isLocal: Bool = true, nameHolds: Duration = .zero
  ) async throws {
    users.set(Self.uid, first, isLocal: isLocal)
    harness = try LockControllerHarness(
      holdsTimers: true, users: users.database(nameHolds: nameHolds))
    let lockController = try await harness.begun()
    current = Mutex(lockController)
    // The start looks for owners in the background and stores a note when it is done. Wait for it,
    // so that it does not run after the test's changes.
    let store = try lockController.services().store
    try await reached("the start has looked up the owners") { try store.loadNote("owners") != nil }
  }

  func restart() async throws {
    await lockController.end()
    let next = try await harness.begun()
    current.withLock { $0 = next }
  }

  /// Removes all providers from the configuration.
  func dropProviders() {
    let snapshot = harness.dependencies.configStore.current
    var config = snapshot.config
    config.providers = []
    harness.dependencies.configStore.replace(by: config, snapshot.policy)
  }

  func end() async { await lockController.end() }

  // MARK: Calls

  /// A caller that connects now, later than the last lookup of a name.
  func program(uid: UInt32 = uid, isAdmin: Bool = false) -> Caller {
    harness.clock.advance(by: .milliseconds(1))
    return Caller(
      PeerIdentity(
        identity: CallerIdentity(uid: uid, gid: uid, groups: [50]), isAdmin: isAdmin, realm: "host",
        connectedAt: harness.clock.monotonicNow()),
      policy: harness.dependencies.configStore.current.policy)
  }

  func call(
    _ method: String, _ params: JSONValue = [:], by caller: Caller? = nil
  ) async throws -> JSONValue {
    let call = Call(caller: caller ?? program(), connection: NoConnection())
    let service = RPCService(lockController)
    var response = try params.encoded().withUnsafeBytes {
      try service.respond(to: method, params: $0, call)
    }
    while true {
      switch response {
      case .cold(let read): response = try await read()
      case .resumed(let body): response = try body(call)
      case .now, .cacheable, .later: return try JSONValue(parsing: try await response.reply())
      }
    }
  }

  func admin(_ method: String, _ params: JSONValue = [:]) async throws -> JSONValue {
    try await call(method, params, by: program(uid: 0, isAdmin: true))
  }

  /// Returns the error, or `nil` if the call succeeds.
  func error(
    _ method: String, _ params: JSONValue = [:], by caller: Caller? = nil
  ) async throws -> UsherError? {
    await thrown { try await call(method, params, by: caller) }
  }

  /// Returns `same`, `changed` or another state, or `nil` if the uid is not listed.
  func state() async throws -> String? {
    let owners = try await admin("owner.list")["owners"]?.arrayValue ?? []
    return owners.first { $0["uid"]?.integerValue == Int64(Self.uid) }?["state"]?.stringValue
  }

  /// Makes the database look like that of a version that recorded no owners.
  func becomeEarlierVersion() async throws {
    try await owners.recordAll()
    let changes: [Change] = [
      .deleteNote("owners"), .deleteOwner(realm: "host", uid: Self.uid),
    ]
    try await lockController.services().store.commit(changes)
  }

  // MARK: Stored data

  /// Stores a finished sign-in.
  @discardableResult
  func signIn(keepAlive: Bool = false) async throws -> AccountRecord {
    let tokens = TokenSet.sample(
      expiresAt: harness.clock.now() + .seconds(900),
      refreshExpiresAt: harness.clock.now() + .seconds(86_400))
    return try await lockController.services().repository.persist(
      .sample(keepAlive: keepAlive, tokens: tokens))
  }

  func setPasscode() async throws {
    try await harness.setPasscode(lockController.services().store)
    try lockController.services().localAuth.restore()
  }

  /// Stores an answer that is remembered for a day.
  func remember() async throws {
    let services = try lockController.services()
    let now = harness.clock.now()
    let question = OpenQuestion(
      id: ConfirmationID("cnf_1"), realm: "host", uid: Self.uid, unit: nil, executable: nil,
      call: ConfirmCall(PolicyRequest(method: "token.get"), of: "till"), askedAt: now,
      expiresAt: now + .seconds(300))
    let answer = RememberedAnswer(
      question: question, allow: true, remember: .seconds(86_400), at: now, client: "(user)",
      uid: Self.uid)
    guard let row = try answer.row() else { throw TestError("the confirmation was not stored") }
    try await services.store.commit([.putConfirmation(row)])
    try services.confirm.restore()
  }

  /// Starts a flow that waits for a passcode.
  func startFlow() async throws -> String {
    let reply = try await call(
      "flow.start",
      [
        "provider": "local", "kind": "authenticate", "waitMs": 10_000,
        "params": ["localAuthType": "passcode", "reason": "open the till"],
      ])
    guard let id = reply["flow"]?["id"]?.stringValue, reply["flow"]?["status"] == "active" else {
      throw TestError("the flow does not wait for a passcode: \(reply)")
    }
    return id
  }

  /// The numbers of stored accounts, flows, passcodes and confirmations.
  func stored() throws -> [Int] {
    let store = try lockController.services().store
    return [
      try store.loadAccounts().count, try store.loadFlows().count,
      try store.loadLocalAuth().count, try store.loadConfirmations().count,
    ]
  }
}
