import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A running daemon with stored accounts, none of which is in memory.
@Suite("Calls about accounts that are not in memory", .timeLimit(.minutes(10)))
struct ColdCallTests {
  private let harness: LockControllerHarness
  private let lockController: LockController
  private let service: RPCService
  private let account: AccountID

  init() async throws {
    harness = try LockControllerHarness(holdsTimers: true)
    lockController = try await harness.begun()
    service = RPCService(lockController)
    let services = try lockController.services()
    account = try await services.repository.persist().id
    // A lock drops all accounts from memory.
    try await lockController.lock()
    try await lockController.unlock()
  }

  private func respond(
    _ method: String, _ params: JSONValue, as caller: Caller? = nil
  ) throws -> Response {
    try service.respond(to: method, params, as: try caller ?? .program())
  }

  /// Returns the reply, or `nil` if the call is answered at once.
  private func waited(_ response: Response) async throws -> String? {
    guard response.atOnce == nil else { return nil }
    return String(decoding: try await response.reply(), as: UTF8.self)
  }

  private func audited(_ method: String) async throws -> [AuditList.Entry] {
    let services = try lockController.services()
    let reply = try await services.audits.list(.init(method: method, limit: AuditService.maxRows))
    return reply.rows
  }

  @Test("token.get for an account on disk waits once; later calls are answered at once")
  func first() async throws {
    let byAccount: JSONValue = ["account": .string(account.rawValue)]
    for params in [byAccount, ["provider": "work"]] {
      #expect(
        try await waited(try respond("token.get", params))?.contains("access-1") == true,
        "\(params)")
      #expect(try respond("token.get", params).atOnce != nil)
    }
    #expect(try respond("account.get", byAccount).atOnce != nil)
  }

  @Test("token.get for an account on disk is audited once, after the account was read")
  func recorded() async throws {
    let params: JSONValue = ["account": .string(account.rawValue)]
    let response = try respond("token.get", params)
    #expect(try await audited("token.get").isEmpty)
    #expect(try await waited(response) != nil)
    let rows = try await audited("token.get")
    #expect(rows.map(\.count) == [1] && rows.map(\.account) == [account])
  }

  @Test("token.get fails as locked if the daemon is locked before the account was read")
  func locked() async throws {
    let response = try respond("token.get", ["provider": "work"])
    #expect(response.atOnce == nil)
    try await lockController.lock()
    let error = await #expect(throws: UsherError.self) { try await response.reply() }
    #expect(error?.reason == .locked)
    try await lockController.unlock()
    #expect(try await waited(try respond("token.get", ["provider": "work"])) != nil)
  }

  @Test("one user's account lists wait for each other, and not for another user's lists")
  func lists() async throws {
    let bert = try Caller.program(of: .bert)
    let answered = Recorded<Void>()
    let repository = try lockController.services().repository
    let waiting = try respond("account.list", [:])
    let task = try await repository.lists.withLock(Owner.anna.uid) {
      () async throws(UsherError) -> Task<Void, any Error> in
      let task = Task {
        _ = try await waiting.reply()
        answered.add(())
      }
      for number in 0..<50 {
        // Each provider differs, so that each call reads the disk.
        let params: JSONValue = ["provider": .string("other-\(number)")]
        guard let response = try? respond("account.list", params, as: bert),
          response.atOnce == nil, (try? await response.reply()) != nil
        else { throw UsherError(.internalError, "the other user's list did not come") }
      }
      #expect(answered.all.isEmpty)
      return task
    }
    try await task.value
    #expect(answered.all.count == 1)
  }

  @Test("account.list and account.forget read from disk, and a forgotten account is not found")
  func forgotten() async throws {
    let listed = try await waited(try respond("account.list", [:]))
    #expect(listed?.contains(account.rawValue) == true)
    let again = try #require(try respond("account.list", [:]).atOnce)
    #expect(String(decoding: again, as: UTF8.self) == listed)
    try await lockController.lock()
    try await lockController.unlock()
    let params: JSONValue = ["account": .string(account.rawValue), "revoke": false]
    #expect(try await waited(try respond("account.forget", params)) != nil)
    let error = await #expect(throws: UsherError.self) {
      try await waited(try respond("token.get", ["account": .string(account.rawValue)]))
    }
    #expect(error?.reason == .notFound)
    #expect(try lockController.services().store.loadAccounts().isEmpty)
  }

  @Test("token.get for another owner's account on disk fails as not found and loads nothing")
  func refused() async throws {
    let params: JSONValue = ["account": .string(account.rawValue)]
    let error = await #expect(throws: UsherError.self) {
      try await waited(try respond("token.get", params, as: .program(of: .bert)))
    }
    #expect(error?.reason == .notFound)
    #expect(try lockController.services().repository.count == 0)
  }
}
