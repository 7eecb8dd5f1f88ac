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

@Suite("A uid that is given to another person", .timeLimit(.minutes(2)))
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

  /// Anna has an account, a passcode, a remembered answer and a flow.
  private func filled(
    _ first: UserLookup = .named("anna"), isLocal: Bool = true
  ) async throws -> (OwnerStage, flow: String) {
    let stage = try await OwnerStage(first, isLocal: isLocal)
    _ = try await stage.call("provider.list")
    try await stage.signIn()
    try await stage.setPasscode()
    try await stage.remember()
    return (stage, try await stage.startFlow())
  }

  private func token(_ stage: OwnerStage, by caller: Caller? = nil) async throws -> String? {
    try await stage.call("token.get", ["provider": "work"], by: caller)["accessToken"]?.stringValue
  }

  @Test("another user gets nothing of what is stored for the uid, and is told the next step")
  func withheld() async throws {
    let (stage, flow) = try await filled()
    let before = stage.program()
    #expect(try await token(stage, by: before) == "access-1")
    let generation = try stage.lockController.domain().book.generation
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    for (method, params) in Self.calls + [("flow.get", ["flow": .string(flow)])] {
      let error = try await stage.error(method, params)
      #expect(error?.reason == .permissionDenied, "\(method)")
      #expect(error?.message.contains("usherctl owner accept 1000") == true, "\(method)")
      #expect(error?.message.contains("anna") == false, "\(method)")
    }
    let status = try await stage.call("system.status")
    #expect(status["flows"] == 0)
    // Nor does a program that connected before the other name was seen.
    #expect(try await stage.error("account.list", by: before)?.reason == .permissionDenied)
    #expect(
      try stage.lockController.domain().book.generation != generation, "cached replies hold on")
    await stage.end()
  }

  @Test("the name is looked up once for a connection, and not for a caller without rights")
  func lookUps() async throws {
    let (stage, _) = try await filled()
    let caller = stage.program()
    _ = try await token(stage, by: caller)
    let count = stage.users.lookUps
    for _ in 1...3 { _ = try await token(stage, by: caller) }
    #expect(stage.users.lookUps == count)
    let identity = CallerIdentity(uid: 1002, gid: 1002)
    let stranger = Caller(
      Newcomer(
        identity, isAdmin: false, realm: "host",
        connectedAt: stage.stage.clock.monotonicNow()),
      policy: stage.stage.dependencies.settings.inForce.policy)
    #expect(try await stage.error("account.list", by: stranger)?.reason == .permissionDenied)
    #expect(stage.users.lookUps == count)
    await stage.end()
  }

  @Test("a name counts for the connections of the next ten seconds")
  func nameHolds() async throws {
    let stage = try await OwnerStage(nameHolds: .seconds(3600))
    #expect(UserDatabase.system.nameHolds == .seconds(10))
    _ = try await stage.call("provider.list")
    let count = stage.users.lookUps
    for _ in 1...3 { _ = try await stage.call("provider.list") }
    #expect(stage.users.lookUps == count)
    let later = Caller(
      Newcomer(
        CallerIdentity(uid: OwnerStage.uid, gid: OwnerStage.uid, groups: [50]), isAdmin: false,
        realm: "host", connectedAt: stage.stage.clock.monotonicNow() + .seconds(3601)),
      policy: stage.stage.dependencies.settings.inForce.policy)
    #expect(try stage.owners.admits(later) == false)
    await stage.end()
  }

  @Test("it is so after a restart, also while the user database does not answer")
  func restarted() async throws {
    let (stage, flow) = try await filled()
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    _ = try await stage.error("account.list")
    stage.users.set(OwnerStage.uid, .failed)
    try await stage.restart()
    #expect(try stage.owners.isWithheld(.anna))
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    let session = try stage.lockController.domain().flows.engine.flow(FlowID(flow), of: .anna)
    #expect(session.isToResume, "the flow went on")
    await stage.end()
  }

  @Test("nothing is done in the background for an account that is withheld, until it is accepted")
  func background() async throws {
    let stage = try await OwnerStage()
    _ = try await stage.call("provider.list")
    try await stage.signIn(keepAlive: true)
    // Those of the audit are a minute off at most.
    let isRenewalDue = { stage.stage.scheduler.pending.contains { $0 > .seconds(60) } }
    try await reached("an alarm for the renewal") { isRenewalDue() }
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    _ = try await stage.error("account.list")
    try await stage.restart()
    try await stage.lockController.sweep()
    #expect(!isRenewalDue(), "\(stage.stage.scheduler.pending)")
    _ = try await stage.admin("owner.accept", ["uid": 1000])
    try await reached("an alarm for the renewal") { isRenewalDue() }
    await stage.end()
  }

  @Test("an operator accepts a renamed user, who has everything again")
  func accept() async throws {
    let (stage, flow) = try await filled()
    stage.users.set(OwnerStage.uid, .named("anna-b"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    #expect(try await stage.state() == "changed")
    let reply = try await stage.admin("owner.accept", ["uid": 1000])
    #expect(reply == ["uid": 1000, "user": "anna-b"])
    #expect(try await stage.state() == "same")
    #expect(try await token(stage) == "access-1")
    #expect(
      try await stage.call("flow.get", ["flow": .string(flow)])["flow"]?["status"] == "active")
    #expect(
      try await stage.error(
        "localAuth.setPasscode", ["old": "till-4711", "new": "till-4712"]) == nil)
    #expect(try await stage.call("confirm.list")["answers"]?.arrayValue?.count == 1)
    await stage.end()
  }

  @Test("an operator has everything forgotten, and the uid begins anew")
  func forget() async throws {
    let (stage, flow) = try await filled()
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    _ = try await stage.error("account.list")
    #expect(try stage.stored() == [1, 1, 1, 1])
    stage.dropProviders()
    let reply = try await stage.admin("owner.forget", ["uid": 1000])
    #expect(reply["accounts"] == 1 && reply["flows"] == 1 && reply["notRevoked"] == 1, "\(reply)")
    #expect(try stage.stored() == [0, 0, 0, 0])
    #expect(try await stage.call("account.list")["accounts"]?.arrayValue?.isEmpty == true)
    #expect(try await stage.call("flow.list")["flows"]?.arrayValue?.isEmpty == true)
    #expect(try await stage.call("confirm.list")["answers"]?.arrayValue?.isEmpty == true)
    #expect(try await stage.error("flow.get", ["flow": .string(flow)])?.reason == .notFound)
    let passcode = try await stage.call("localAuth.status")["passcode"]?["state"]
    #expect(
      passcode == "not_enrolled" || passcode == "notEnrolled", "\(String(describing: passcode))")
    #expect(try await stage.state() == "same")
    let rows = try await stage.admin("audit.list", ["method": "owner.forget"])["rows"]?.arrayValue
    #expect(rows?.contains { $0["owner"] == 1000 && $0["account"] != nil } == true)
    #expect(rows?.contains { $0["owner"] == 1000 && $0["account"] == nil } == true)
    let other = try await stage.error(
      "owner.forget", ["uid": 1234], by: stage.program(uid: 0, isAdmin: true))
    #expect(other?.reason == .notFound)
    await stage.end()
  }

  @Test("owner.forget that fails halfway stays begun over a restart, until it is run again")
  func forgottenByHalf() async throws {
    let (stage, _) = try await filled()
    await #expect(throws: UsherError.self) {
      try await stage.owners.forget(OwnerStage.person) { () throws(UsherError) in
        throw UsherError(.storageUnavailable, "the disk is full")
      }
    }
    try await stage.restart()
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    #expect(try await stage.state() == "beingForgotten")
    #expect(try await stage.admin("owner.forget", ["uid": 1000])["accounts"] == 1)
    #expect(try await stage.error("account.list") == nil)
    #expect(try await stage.state() == "same")
    await stage.end()
  }

  @Test("what a call stores that began before owner.forget is not the next user's")
  func overtaken() async throws {
    let (stage, _) = try await filled()
    let store = try stage.lockController.domain().store
    let passcode = try #require(try store.loadLocalAuth().first)
    _ = try await stage.owners.forget(OwnerStage.person) { () throws(UsherError) in
      await #expect(throws: UsherError.self, "while it is being forgotten") {
        try await store.commit([.putLocalAuth(passcode)])
      }
      let accounts = try store.loadAccounts().map { Change.deleteAccount($0.id) }
      let flows = try store.loadFlows().map { Change.deleteFlow($0.id) }
      try await store.commit(
        accounts + flows + [
          .deleteLocalAuth(realm: "host", uid: OwnerStage.uid),
          .deleteConfirmation(
            realm: "host", uid: OwnerStage.uid, client: "till",
            question: try store.loadConfirmations().first?.question ?? ""),
        ])
    }
    await #expect(throws: UsherError.self, "afterwards") {
      try await store.commit([.putLocalAuth(passcode)])
    }
    #expect(try await stage.error("account.list") == nil)
    try await store.commit([.putLocalAuth(passcode)])
    await stage.end()
  }

  @Test("a user whose record was deleted by something else gets nothing until the operator says so")
  func recordDeleted() async throws {
    let (stage, _) = try await filled()
    try await stage.owners.recordAll()
    try await stage.lockController.domain().store.commit([
      .deleteOwner(realm: "host", uid: OwnerStage.uid)
    ])
    try await stage.restart()
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    #expect(try await stage.state() == "changed")
    _ = try await stage.admin("owner.accept", ["uid": 1000])
    #expect(try await token(stage) == "access-1")
    await stage.end()
  }

  @Test("a start reads the records of those only whose things are withheld")
  func onDisk() async throws {
    let (stage, _) = try await filled()
    try await stage.restart()
    #expect(try stage.owners.entries.withLock { $0.count } == 0)
    #expect(try await stage.state() == "same")
    #expect(try stage.owners.entries.withLock { $0.count } == 0)
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    try await stage.restart()
    #expect(try stage.owners.entries.withLock { $0.count } == 1)
    await stage.end()
  }

  @Test("a uid for which nothing is stored is its next user's without an operator")
  func nothingStored() async throws {
    let stage = try await OwnerStage()
    _ = try await stage.call("account.list")
    #expect(try await stage.state() == "same")
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    #expect(try await stage.error("account.list") == nil)
    try await stage.signIn()
    stage.users.set(OwnerStage.uid, .named("carl"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("a directory that cannot be reached locks nobody out for a week")
  func unreachable() async throws {
    let (stage, _) = try await filled(isLocal: false)
    for answer in [UserLookup.failed, .nameless] {
      stage.users.set(OwnerStage.uid, answer)
      #expect(try await token(stage) == "access-1")
    }
    try await stage.restart()
    #expect(try await stage.error("account.list") == nil)
    stage.stage.clock.advance(by: .seconds(8 * 86_400))
    #expect(try await stage.error("account.list")?.isRetryable == true)
    stage.users.set(OwnerStage.uid, .named("anna"))
    #expect(try await stage.error("account.list") == nil)
    await stage.end()
  }

  @Test("a caller who leaves while the name is looked up gets nothing for another connection")
  func leaving() async throws {
    let (stage, _) = try await filled(isLocal: false)
    let other = stage.program()
    let letGo = stage.users.hang()
    stage.users.set(OwnerStage.uid, .named("ben"))
    let owners = try stage.owners
    let leaving = stage.program()
    let verified = Task { try await owners.verify(leaving) }
    try await reached("a look-up") { stage.users.isAwaited }
    verified.cancel()
    letGo()
    await #expect(throws: UsherError.self) { try await verified.value }
    let error = #expect(throws: UsherError.self) { try owners.admits(other) }
    #expect(error?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("a user that the password file had and has no more gets nothing")
  func gone() async throws {
    let (stage, _) = try await filled(isLocal: true)
    stage.users.set(OwnerStage.uid, .nameless)
    #expect(try await stage.error("account.list")?.message.contains("no name any more") == true)
    stage.users.set(OwnerStage.uid, .failed)
    stage.users.set(OwnerStage.uid, .failed, isLocal: true)
    let caller = stage.program()
    #expect(try await stage.error("account.list", by: caller)?.isRetryable == true)
    stage.users.set(OwnerStage.uid, .named("anna"), isLocal: true)
    #expect(try await stage.error("account.list", by: caller) == nil, "it is asked again")
    await stage.end()
  }

  @Test("a user database that hangs holds a call up for two seconds")
  func hanging() async throws {
    let stage = try await OwnerStage(isLocal: false)
    _ = try await stage.call("provider.list")
    try await stage.signIn()
    let letGo = stage.users.hang()
    let count = stage.users.lookUps
    let (owners, caller) = (try stage.owners, stage.program())
    #expect(try owners.admits(caller) == false)
    let verified = Task { try await owners.verify(caller) }
    try await stage.stage.scheduler.isSet(.seconds(2))
    stage.stage.scheduler.advance(by: .seconds(2))
    try await verified.value
    #expect(try owners.admits(caller), "the last answer holds")
    // Another connection does not take another thread.
    let next = stage.program()
    let again = Task { try await owners.verify(next) }
    try await stage.stage.scheduler.isSet(.seconds(2))
    stage.stage.scheduler.advance(by: .seconds(2))
    try await again.value
    #expect(stage.users.lookUps == count + 1)
    letGo()
    await stage.end()
  }

  @Test("a user without a name who has one now gets nothing until the operator says so")
  func named() async throws {
    let (stage, _) = try await filled(.nameless)
    #expect(try await stage.error("account.list") == nil)
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("a user whom a directory names only later keeps everything, and the name holds then")
  func namedLate() async throws {
    let (stage, _) = try await filled(.nameless, isLocal: false)
    stage.users.set(OwnerStage.uid, .named("anna"))
    #expect(try await token(stage) == "access-1")
    stage.users.set(OwnerStage.uid, .named("ben"))
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("what an earlier version stored for a removed user is not the next user's of the uid")
  func upgradedTooLate() async throws {
    let stage = try await OwnerStage(.nameless, isLocal: false)
    try await stage.signIn()
    try await stage.becomeEarlierVersion()
    try await stage.restart()
    #expect(try await stage.state() == "same", "an operator sees it")
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("a connection that an earlier look-up let in is compared within the next minute")
  func assumed() async throws {
    let stage = try await OwnerStage(nameHolds: .seconds(3600))
    _ = try await stage.call("provider.list")
    try await stage.signIn()
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    let ben = stage.program()
    #expect(try await stage.error("account.list", by: ben) == nil, "the look-up holds")
    try await stage.lockController.sweep()
    #expect(try await stage.error("account.list", by: ben)?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("users who could not be looked up at the start are looked up a minute later")
  func reviewedLater() async throws {
    let stage = try await OwnerStage(.failed)
    try await stage.signIn()
    try await stage.becomeEarlierVersion()
    try await stage.restart()
    stage.users.set(OwnerStage.uid, .named("anna"), isLocal: true)
    try await stage.lockController.sweep()
    let names = try await stage.owners.standings().map(\.record.name)
    #expect(names == ["anna"])
    await stage.end()
  }

  @Test("a flow alone is something that is stored for a user")
  func onlyFlow() async throws {
    let stage = try await OwnerStage()
    _ = try await stage.call("provider.list")
    try await stage.setPasscode()
    _ = try await stage.startFlow()
    let domain = try stage.lockController.domain()
    try await domain.localAuth.service.forget(OwnerStage.person)
    #expect(try domain.store.hasPossessions(ofUser: OwnerStage.uid, realm: "host"))
    #expect(try domain.store.usersWithPossessions(in: "host") == [OwnerStage.uid])
    await stage.end()
  }

  @Test("what an earlier version stored is the user's who has the uid at the first start")
  func upgraded() async throws {
    let stage = try await OwnerStage(.failed)
    try await stage.signIn()
    try await stage.becomeEarlierVersion()
    try await stage.restart()
    #expect(try await stage.state() == nil)
    let error = try await stage.error("account.list")
    #expect(error?.reason == .permissionDenied && error?.isRetryable == true)
    stage.users.set(OwnerStage.uid, .named("anna"), isLocal: true)
    try await stage.restart()
    #expect(try await stage.state() == "same")
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    #expect(try await stage.error("account.list")?.reason == .permissionDenied)
    await stage.end()
  }

  @Test("the passcode of the earlier user unlocks nothing for another one")
  func unlock() async throws {
    let (stage, _) = try await filled()
    try await stage.lockController.lock()
    stage.users.set(OwnerStage.uid, .named("ben"), isLocal: true)
    let call = SystemUnlock(passcode: WireSecret(LockControllerStage.passcode.revealed()))
    let till = try Caller.program("till")
    let ben = Caller(
      owner: till.owner, policy: till.policy, isAdmin: false, label: "till",
      connectedAt: stage.stage.clock.monotonicNow())
    let error = await #expect(throws: UsherError.self) {
      _ = try await LockService(lockController: stage.lockController).unlock(call, ben)
    }
    #expect(error?.message.contains("owner accept") == true)
    #expect(stage.lockController.opened == nil)
    await stage.end()
  }
}
