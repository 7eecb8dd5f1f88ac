import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("system.lock and system.unlock", .timeLimit(.minutes(10)))
struct LockServiceTests {
  private let harness: LockControllerHarness
  private static let wrong = Secret("nothing-like-it")

  init() throws { harness = try LockControllerHarness() }

  /// A locked daemon whose anna has a passcode.
  private func locked() async throws -> LockController {
    let lockController = try await harness.begun()
    try await harness.setPasscode(lockController.services().store)
    try await lockController.lock()
    return lockController
  }

  private func unlock(
    _ lockController: LockController, _ passcode: Secret?, _ caller: Caller
  ) async -> UsherError? {
    await thrown {
      try await LockService(lockController: lockController).unlock(
        SystemUnlock(passcode: passcode.map { WireSecret($0) }), caller)
    }
  }

  @Test("a program with a rule may call system.lock, and system.unlock with its user's passcode")
  func byPasscode() async throws {
    let lockController = try await locked()
    let till = try Caller.program("till")
    let missing = await unlock(lockController, nil, till)
    #expect(missing?.reason == .invalidParams && missing?.detail.field == "passcode")
    let wrong = await unlock(lockController, Self.wrong, till)
    #expect(wrong?.reason == .permissionDenied && wrong?.detail.field == "passcode")
    #expect(wrong?.message == "the passcode is wrong; 4 attempts left")
    #expect(lockController.unlocked == nil)
    #expect(await unlock(lockController, LockControllerHarness.passcode, till) == nil)
    #expect(lockController.unlocked != nil)
    _ = try await LockService(lockController: lockController).lock(till)
    #expect(lockController.unlocked == nil)
  }

  @Test("system.unlock refuses another user's passcode, and a user without a passcode")
  func others() async throws {
    let lockController = try await locked()
    let bert = try Caller.program("till", of: .bert)
    let error = await unlock(lockController, LockControllerHarness.passcode, bert)
    #expect(error?.reason == .permissionDenied && error?.message.contains("no passcode") == true)
    #expect(lockController.unlocked == nil)
  }

  @Test("five wrong passcodes lock out system.unlock, over restarts, except on the admin socket")
  func lockOut() async throws {
    var lockController = try await locked()
    let till = try Caller.program("till")
    for left in (1...4).reversed() {
      let error = await unlock(lockController, Self.wrong, till)
      #expect(error?.message.contains("\(left) attempt") == true)
      // As after `kill -9`: the previous controller is not ended.
      if left == 2 { lockController = try await harness.begun() }
    }
    let last = await unlock(lockController, Self.wrong, till)
    #expect(last?.reason == .rateLimited && last?.detail.limit == "passcode_attempts")
    let right = await unlock(lockController, LockControllerHarness.passcode, till)
    #expect(right?.reason == .rateLimited && (right?.detail.retryAfterMs ?? 0) > 0)
    #expect(lockController.unlocked == nil)
    let admin = try Caller.program(isAdmin: true)
    #expect(await unlock(lockController, nil, admin) == nil)
    // The lockout also applies to local authentication.
    let standing = try lockController.services().localAuth.passcode(of: .anna)
    guard case .lockedOut(until: _) = standing else {
      Issue.record("the passcode is not locked: \(standing)")
      return
    }
  }

  @Test("system.unlock of an unlocked daemon succeeds without checking the passcode")
  func open() async throws {
    let lockController = try await harness.begun()
    try await harness.setPasscode(lockController.services().store)
    try lockController.services().localAuth.restore()
    let till = try Caller.program("till")
    #expect(await unlock(lockController, Self.wrong, till) == nil)
    // The passcode did not count as an attempt either.
    for left in (1...4).reversed() {
      let outcome = try await lockController.services().localAuth.check(
        Self.wrong, of: .anna)
      #expect(outcome == .wrong(attemptsLeft: left))
    }
  }

  @Test(
    "a caller that is only a member of access.group may call neither system.lock nor system.unlock")
  func denied() async throws {
    let lockController = try await harness.begun()
    let person = try Caller.program()
    let error = await #expect(throws: UsherError.self) {
      try await LockService(lockController: lockController).lock(person)
    }
    #expect(error?.reason == .permissionDenied && lockController.unlocked != nil)
    try await lockController.lock()
    #expect(
      await unlock(lockController, LockControllerHarness.passcode, person)?.reason
        == .permissionDenied)
    #expect(lockController.unlocked == nil)
  }
}
