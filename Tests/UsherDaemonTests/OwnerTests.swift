import JSONRPC
import NIOCore
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Uids given to another person", .timeLimit(.minutes(10)))
struct OwnerTests {
  private static let calls: [(String, JSONValue)] = [
    ("account.list", [:]), ("token.get", ["provider": "work"]), ("token.list", [:]),
    ("flow.list", [:]), ("localAuth.status", [:]),
    ("localAuth.setPasscode", ["old": "till-4711", "new": "till-4712"]), ("confirm.list", [:]),
    ("events.subscribe", ["topics": ["account"]]),
    (
      "flow.start",
      [
        "provider": "local", "kind": "authenticate",
        "params": ["localAuthType": "passcode", "reason": "open the till"],
      ]
    ),
  ]

  /// A daemon in which anna has an account, a passcode, a remembered answer and a flow.
  func filled(
    _ first: UserLookup = .named("anna"), isLocal: Bool = true
  ) async throws -> (OwnerHarness, flow: String) {
    let harness = try await OwnerHarness(first, isLocal: isLocal)
    _ = try await harness.call("provider.list")
    try await harness.signIn()
    try await harness.setPasscode()
    try await harness.remember()
    return (harness, try await harness.startFlow())
  }

  func token(_ harness: OwnerHarness, by caller: Caller? = nil) async throws -> String? {
    try await harness.call("token.get", ["provider": "work"], by: caller)["accessToken"]?
      .stringValue
  }

  @Test("every call of a uid's new user is refused with the command to run, without the old name")
  func withheld() async throws {
    let (harness, flow) = try await filled()
    let before = harness.program()
    #expect(try await token(harness, by: before) == "access-1")
    let generation = try harness.lockController.services().repository.generation
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    for (method, params) in Self.calls + [("flow.get", ["flow": .string(flow)])] {
      let error = try await harness.error(method, params)
      #expect(error?.reason == .permissionDenied, "\(method)")
      #expect(error?.message.contains("usherctl owner accept 1000") == true, "\(method)")
      #expect(error?.message.contains("anna") == false, "\(method)")
    }
    let status = try await harness.call("system.status")
    #expect(status["flows"] == 0)
    // A program that connected before the new name was seen is refused, too.
    #expect(try await harness.error("account.list", by: before)?.reason == .permissionDenied)
    #expect(
      try harness.lockController.services().repository.generation != generation,
      "cached replies must no longer be used")
    await harness.end()
  }

  @Test("a user's name is looked up once per connection, and not for a caller without rights")
  func lookUps() async throws {
    let (harness, _) = try await filled()
    let caller = harness.program()
    _ = try await token(harness, by: caller)
    let count = harness.users.lookUps
    for _ in 1...3 { _ = try await token(harness, by: caller) }
    #expect(harness.users.lookUps == count)
    let identity = CallerIdentity(uid: 1002, gid: 1002)
    let stranger = Caller(
      PeerIdentity(
        identity: identity, isAdmin: false, realm: "host",
        connectedAt: harness.harness.clock.monotonicNow()),
      policy: harness.harness.dependencies.configStore.current.policy)
    #expect(try await harness.error("account.list", by: stranger)?.reason == .permissionDenied)
    #expect(harness.users.lookUps == count)
    await harness.end()
  }

  @Test("a looked-up name applies to later connections for the configured time, 10 s by default")
  func nameHolds() async throws {
    let harness = try await OwnerHarness(nameHolds: .seconds(3600))
    #expect(UserDatabase.system.nameHolds == .seconds(10))
    _ = try await harness.call("provider.list")
    let count = harness.users.lookUps
    for _ in 1...3 { _ = try await harness.call("provider.list") }
    #expect(harness.users.lookUps == count)
    let later = Caller(
      PeerIdentity(
        identity: CallerIdentity(uid: OwnerHarness.uid, gid: OwnerHarness.uid, groups: [50]),
        isAdmin: false,
        realm: "host", connectedAt: harness.harness.clock.monotonicNow() + .seconds(3601)),
      policy: harness.harness.dependencies.configStore.current.policy)
    #expect(try harness.owners.admits(later) == false)
    await harness.end()
  }

  @Test("the data of a uid stays withheld after a restart while the user database fails")
  func restarted() async throws {
    let (harness, flow) = try await filled()
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    _ = try await harness.error("account.list")
    harness.users.set(OwnerHarness.uid, .failed)
    try await harness.restart()
    #expect(try harness.owners.isWithheld(.anna))
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    let session = try harness.lockController.services().flows.engine.flow(FlowID(flow), of: .anna)
    #expect(session.isToResume, "the withheld flow must not resume")
    await harness.end()
  }

  @Test("a withheld account is not refreshed in the background until owner.accept")
  func background() async throws {
    let harness = try await OwnerHarness()
    _ = try await harness.call("provider.list")
    try await harness.signIn(keepAlive: true)
    // The timers of the audit are at most a minute away.
    let isRenewalDue = { harness.harness.scheduler.pending.contains { $0 > .seconds(60) } }
    try await reached("the renewal of the token has a timer") { isRenewalDue() }
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    _ = try await harness.error("account.list")
    try await harness.restart()
    try await harness.lockController.sweep()
    #expect(!isRenewalDue(), "\(harness.harness.scheduler.pending)")
    _ = try await harness.admin("owner.accept", ["uid": 1000])
    try await reached("the renewal of the token has a timer") { isRenewalDue() }
    await harness.end()
  }

  @Test("owner.accept gives a renamed user the account, flow, passcode and answers again")
  func accept() async throws {
    let (harness, flow) = try await filled()
    harness.users.set(OwnerHarness.uid, .named("anna-b"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    #expect(try await harness.state() == "changed")
    let reply = try await harness.admin("owner.accept", ["uid": 1000])
    #expect(reply == ["uid": 1000, "user": "anna-b"])
    #expect(try await harness.state() == "same")
    #expect(try await token(harness) == "access-1")
    #expect(
      try await harness.call("flow.get", ["flow": .string(flow)])["flow"]?["status"] == "active")
    #expect(
      try await harness.error(
        "localAuth.setPasscode", ["old": "till-4711", "new": "till-4712"]) == nil)
    #expect(try await harness.call("confirm.list")["answers"]?.arrayValue?.count == 1)
    await harness.end()
  }

  @Test("owner.forget deletes everything stored for a uid, and the uid starts empty")
  func forget() async throws {
    let (harness, flow) = try await filled()
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    _ = try await harness.error("account.list")
    #expect(try harness.stored() == [1, 1, 1, 1])
    harness.dropProviders()
    let reply = try await harness.admin("owner.forget", ["uid": 1000])
    #expect(reply["accounts"] == 1 && reply["flows"] == 1 && reply["notRevoked"] == 1, "\(reply)")
    #expect(try harness.stored() == [0, 0, 0, 0])
    #expect(try await harness.call("account.list")["accounts"]?.arrayValue?.isEmpty == true)
    #expect(try await harness.call("flow.list")["flows"]?.arrayValue?.isEmpty == true)
    #expect(try await harness.call("confirm.list")["answers"]?.arrayValue?.isEmpty == true)
    #expect(try await harness.error("flow.get", ["flow": .string(flow)])?.reason == .notFound)
    let passcode = try await harness.call("localAuth.status")["passcode"]?["state"]
    #expect(passcode == "notEnrolled")
    #expect(try await harness.state() == "same")
    let rows = try await harness.admin("audit.list", ["method": "owner.forget"])["rows"]?.arrayValue
    #expect(rows?.contains { $0["owner"] == 1000 && $0["account"] != nil } == true)
    #expect(rows?.contains { $0["owner"] == 1000 && $0["account"] == nil } == true)
    let other = try await harness.error(
      "owner.forget", ["uid": 1234], by: harness.program(uid: 0, isAdmin: true))
    #expect(other?.reason == .notFound)
    await harness.end()
  }

  @Test("an owner.forget that failed halfway stays pending over a restart until it is repeated")
  func forgottenByHalf() async throws {
    let (harness, _) = try await filled()
    await #expect(throws: UsherError.self) {
      try await harness.owners.forget(OwnerHarness.person) { () throws(UsherError) in
        throw UsherError(.storageUnavailable, "the disk is full")
      }
    }
    try await harness.restart()
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    #expect(try await harness.state() == "beingForgotten")
    #expect(try await harness.admin("owner.forget", ["uid": 1000])["accounts"] == 1)
    #expect(try await harness.error("account.list") == nil)
    #expect(try await harness.state() == "same")
    await harness.end()
  }

  @Test("a write that began before owner.forget is refused and does not reach the next user")
  func overtaken() async throws {
    let (harness, _) = try await filled()
    let store = try harness.lockController.services().store
    let passcode = try #require(try store.loadLocalAuth().first)
    _ = try await harness.owners.forget(OwnerHarness.person) { () throws(UsherError) in
      await #expect(throws: UsherError.self, "a write is refused during owner.forget") {
        try await store.commit([.putLocalAuth(passcode)])
      }
      let accounts = try store.loadAccounts().map { Change.deleteAccount($0.id) }
      let flows = try store.loadFlows().map { Change.deleteFlow($0.id) }
      try await store.commit(
        accounts + flows + [
          .deleteLocalAuth(realm: "host", uid: OwnerHarness.uid),
          .deleteConfirmation(
            realm: "host", uid: OwnerHarness.uid, client: "till",
            question: try store.loadConfirmations().first?.question ?? ""),
        ])
    }
    await #expect(throws: UsherError.self, "afterwards") {
      try await store.commit([.putLocalAuth(passcode)])
    }
    #expect(try await harness.error("account.list") == nil)
    try await store.commit([.putLocalAuth(passcode)])
    await harness.end()
  }

  @Test("a user whose owner record was deleted is refused until owner.accept")
  func recordDeleted() async throws {
    let (harness, _) = try await filled()
    try await harness.owners.recordAll()
    try await harness.lockController.services().store.commit([
      .deleteOwner(realm: "host", uid: OwnerHarness.uid)
    ])
    try await harness.restart()
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    #expect(try await harness.state() == "changed")
    _ = try await harness.admin("owner.accept", ["uid": 1000])
    #expect(try await token(harness) == "access-1")
    await harness.end()
  }

  @Test("a start loads the owner records of withheld uids only")
  func onDisk() async throws {
    let (harness, _) = try await filled()
    try await harness.restart()
    #expect(try harness.owners.entries.withLock { $0.count } == 0)
    #expect(try await harness.state() == "same")
    #expect(try harness.owners.entries.withLock { $0.count } == 0)
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    try await harness.restart()
    #expect(try harness.owners.entries.withLock { $0.count } == 1)
    await harness.end()
  }

  @Test("a uid without stored data passes to its next user without the operator")
  func nothingStored() async throws {
    let harness = try await OwnerHarness()
    _ = try await harness.call("account.list")
    #expect(try await harness.state() == "same")
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    #expect(try await harness.error("account.list") == nil)
    try await harness.signIn()
    harness.users.set(OwnerHarness.uid, .named("carl"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    await harness.end()
  }

  @Test("an unreachable user directory does not block a user known within the last week")
  func unreachable() async throws {
    let (harness, _) = try await filled(isLocal: false)
    for answer in [UserLookup.failed, .nameless] {
      harness.users.set(OwnerHarness.uid, answer)
      #expect(try await token(harness) == "access-1")
    }
    try await harness.restart()
    #expect(try await harness.error("account.list") == nil)
    harness.harness.clock.advance(by: .seconds(8 * 86_400))
    #expect(try await harness.error("account.list")?.isRetryable == true)
    harness.users.set(OwnerHarness.uid, .named("anna"))
    #expect(try await harness.error("account.list") == nil)
    await harness.end()
  }

  @Test("a cancelled name lookup still refuses other connections of the uid's new user")
  func leaving() async throws {
    let (harness, _) = try await filled(isLocal: false)
    let other = harness.program()
    let letGo = harness.users.hang()
    harness.users.set(OwnerHarness.uid, .named("ben"))
    let owners = try harness.owners
    let leaving = harness.program()
    let verified = Task { try await owners.verify(leaving) }
    try await reached("a name lookup has begun") { harness.users.isAwaited }
    verified.cancel()
    letGo()
    await #expect(throws: UsherError.self) { try await verified.value }
    let error = #expect(throws: UsherError.self) { try owners.admits(other) }
    #expect(error?.reason == .permissionDenied)
    await harness.end()
  }

  @Test("a caller whose user was removed from the password file is refused")
  func gone() async throws {
    let (harness, _) = try await filled(isLocal: true)
    harness.users.set(OwnerHarness.uid, .nameless)
    #expect(
      try await harness.error("account.list")?.message.contains("no user name any more") == true)
    harness.users.set(OwnerHarness.uid, .failed)
    harness.users.set(OwnerHarness.uid, .failed, isLocal: true)
    let caller = harness.program()
    #expect(try await harness.error("account.list", by: caller)?.isRetryable == true)
    harness.users.set(OwnerHarness.uid, .named("anna"), isLocal: true)
    #expect(try await harness.error("account.list", by: caller) == nil, "it is looked up again")
    await harness.end()
  }

  @Test("a hanging user database delays a call by two seconds and blocks one thread at most")
  func hanging() async throws {
    let harness = try await OwnerHarness(isLocal: false)
    _ = try await harness.call("provider.list")
    try await harness.signIn()
    let letGo = harness.users.hang()
    let count = harness.users.lookUps
    let (owners, caller) = (try harness.owners, harness.program())
    #expect(try owners.admits(caller) == false)
    let verified = Task { try await owners.verify(caller) }
    try await harness.harness.scheduler.isSet(.seconds(2))
    harness.harness.scheduler.advance(by: .seconds(2))
    try await verified.value
    #expect(try owners.admits(caller), "the last known name still applies")
    // Another connection does not block another thread.
    let next = harness.program()
    let again = Task { try await owners.verify(next) }
    try await harness.harness.scheduler.isSet(.seconds(2))
    harness.harness.scheduler.advance(by: .seconds(2))
    try await again.value
    #expect(harness.users.lookUps == count + 1)
    letGo()
    await harness.end()
  }

  @Test("the previous user's passcode does not unlock the daemon for the uid's new user")
  func unlock() async throws {
    let (harness, _) = try await filled()
    try await harness.lockController.lock()
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    let call = SystemUnlock(passcode: WireSecret(LockControllerHarness.passcode.revealed()))
    let till = try Caller.program("till")
    let ben = Caller(
      owner: till.owner, policy: till.policy, isAdmin: false, label: "till",
      connectedAt: harness.harness.clock.monotonicNow())
    let error = await #expect(throws: UsherError.self) {
      _ = try await LockService(lockController: harness.lockController).unlock(call, ben)
    }
    #expect(error?.message.contains("owner accept") == true)
    #expect(harness.lockController.unlocked == nil)
    await harness.end()
  }
}
