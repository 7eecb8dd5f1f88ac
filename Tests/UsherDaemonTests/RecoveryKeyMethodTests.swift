import Testing
import UsherAPI
import UsherCore
import UsherStore

@testable import UsherDaemon

@Suite("key.createRecovery", .timeLimit(.minutes(1)))
struct RecoveryKeyMethodTests {
  @Test("key.createRecovery replaces a recovery key only if told to, and only the new one is valid")
  func replace() async throws {
    let harness = try LockControllerHarness()
    let lockController = try await harness.begun()
    let services = try lockController.services()
    let admin = try Caller.program(isAdmin: true)
    #expect(services.status(admin).hasRecoveryKey == false)
    #expect(services.status(try .program()).hasRecoveryKey == nil)
    let first = try await services.createRecoveryKey(KeyCreateRecovery()).recoveryKey
    #expect(services.status(admin).hasRecoveryKey == true)
    for replace in [nil, false] {
      let error = await thrown {
        try await services.createRecoveryKey(KeyCreateRecovery(replace: replace))
      }
      #expect(error?.reason == .conflict)
    }
    let second = try await services.createRecoveryKey(KeyCreateRecovery(replace: true)).recoveryKey
    #expect(first != second)
    await lockController.end()
    #expect(try !Store.isOpened(at: harness.databasePath, by: RecoveryKey(first.secret)))
    #expect(try Store.isOpened(at: harness.databasePath, by: RecoveryKey(second.secret)))
  }
}
