import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherDaemon

@Suite("The method table", .timeLimit(.minutes(10)))
struct MethodTableTests {
  @Test(
    "the method table has every method, and finds it by the bytes of its name on its sockets only")
  func complete() async throws {
    let lockController = try await LockControllerHarness().begun()
    let table = MethodTable(lockController)
    for method in Methods.all {
      let entry = table.entry(method.name, isAdmin: true)
      #expect(entry?.worksLocked == method.traits.worksLocked, "\(method.name)")
      let isOffered = table.entry(method.name, isAdmin: false) != nil
      #expect(isOffered == (method.access == .app), "\(method.name)")
    }
    #expect(table.entry("system.loc\u{212A}", isAdmin: true) == nil)
    await lockController.end()
  }

  @Test("a locked daemon refuses every method that needs the store with the error locked")
  func locked() async throws {
    let lockController = try await LockControllerHarness().begun()
    try await lockController.lock()
    let service = RPCService(lockController)
    for method in Methods.all where !method.traits.worksLocked {
      for isAdmin in [false, true] {
        let caller = try Caller.program(isAdmin: isAdmin)
        let error = await thrown { try service.respond(to: method.name, [:], as: caller) }
        let isOffered = isAdmin || method.access == .app
        #expect(error?.reason == (isOffered ? .locked : .methodNotFound), "\(method.name)")
        // `rpc.discover` tells clients about a retry by the reason alone.
        #expect(error?.isRetryable == error?.reason.isRetryable, "\(method.name)")
      }
    }
    await lockController.end()
  }

  @Test("system.lock without the right is denied before a task starts, and the denial is audited")
  func denied() async throws {
    let lockController = try await LockControllerHarness().begun()
    let service = RPCService(lockController)
    let caller = try Caller.program()
    let error = await thrown { try service.respond(to: "system.lock", [:], as: caller) }
    #expect(error?.reason == .permissionDenied && error?.message == "you may not call system.lock")
    let list = AuditList(method: "system.lock", limit: AuditService.maxRows)
    let rows = try await lockController.services().audits.list(list).rows
    #expect(rows.map(\.decision) == [.denied] && error?.correlationID != nil)
    #expect(rows.first?.correlationId == error?.correlationID)
    await lockController.end()
  }
}
