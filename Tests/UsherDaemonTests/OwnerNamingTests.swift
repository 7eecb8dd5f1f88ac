import JSONRPC
import Testing
import UsherCore
import UsherStore
import UsherSystem

@testable import UsherDaemon

// Users that have no name at first, and data from before names were recorded.
extension OwnerTests {
  @Test("a local uid without a name that gets one is refused until the operator accepts it")
  func named() async throws {
    let (harness, _) = try await filled(.nameless)
    #expect(try await harness.error("account.list") == nil)
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    await harness.end()
  }

  @Test("a uid that a user directory names only later keeps its data, and the name is recorded")
  func namedLate() async throws {
    let (harness, _) = try await filled(.nameless, isLocal: false)
    harness.users.set(OwnerHarness.uid, .named("anna"))
    #expect(try await token(harness) == "access-1")
    harness.users.set(OwnerHarness.uid, .named("ben"))
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    await harness.end()
  }

  @Test("data that an earlier version stored for a removed user is withheld from the next user")
  func upgradedTooLate() async throws {
    let harness = try await OwnerHarness(.nameless, isLocal: false)
    try await harness.signIn()
    try await harness.becomeEarlierVersion()
    try await harness.restart()
    #expect(try await harness.state() == "same", "owner.list shows the state same")
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    await harness.end()
  }

  @Test("a connection admitted by a cached name lookup is checked by the next sweep")
  func assumed() async throws {
    let harness = try await OwnerHarness(nameHolds: .seconds(3600))
    _ = try await harness.call("provider.list")
    try await harness.signIn()
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    let ben = harness.program()
    #expect(try await harness.error("account.list", by: ben) == nil, "the cached name still holds")
    try await harness.lockController.sweep()
    #expect(try await harness.error("account.list", by: ben)?.reason == .permissionDenied)
    await harness.end()
  }

  @Test("a user that could not be looked up at the start is looked up by the next sweep")
  func reviewedLater() async throws {
    let harness = try await OwnerHarness(.failed)
    try await harness.signIn()
    try await harness.becomeEarlierVersion()
    try await harness.restart()
    harness.users.set(OwnerHarness.uid, .named("anna"), isLocal: true)
    try await harness.lockController.sweep()
    let names = try await harness.owners.statuses().map(\.record.name)
    #expect(names == ["anna"])
    await harness.end()
  }

  @Test("a user with only a stored flow counts as a user with stored data")
  func onlyFlow() async throws {
    let harness = try await OwnerHarness()
    _ = try await harness.call("provider.list")
    try await harness.setPasscode()
    _ = try await harness.startFlow()
    let services = try harness.lockController.services()
    try await services.localAuth.deleteAll(of: OwnerHarness.person)
    #expect(try services.store.hasStoredObjects(ofUser: OwnerHarness.uid, realm: "host"))
    #expect(try services.store.usersWithStoredObjects(in: "host") == [OwnerHarness.uid])
    await harness.end()
  }

  @Test("a user whose first passcode the operator sets may call the daemon afterwards")
  func passcodeByOperator() async throws {
    let harness = try await OwnerHarness()
    _ = try await harness.admin(
      "localAuth.setPasscode",
      ["new": "2580-passcode", "uid": .integer(Int64(OwnerHarness.uid))])
    #expect(try await harness.error("account.list") == nil)
    #expect(try await harness.state() == "same")
    await harness.end()
  }

  @Test("data of an earlier version belongs to the user that has the uid at the first start")
  func upgraded() async throws {
    let harness = try await OwnerHarness(.failed)
    try await harness.signIn()
    try await harness.becomeEarlierVersion()
    try await harness.restart()
    #expect(try await harness.state() == nil)
    let error = try await harness.error("account.list")
    #expect(error?.reason == .permissionDenied && error?.isRetryable == true)
    harness.users.set(OwnerHarness.uid, .named("anna"), isLocal: true)
    try await harness.restart()
    #expect(try await harness.state() == "same")
    harness.users.set(OwnerHarness.uid, .named("ben"), isLocal: true)
    #expect(try await harness.error("account.list")?.reason == .permissionDenied)
    await harness.end()
  }
}
