import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Limit of accounts in one list", .timeLimit(.minutes(10)))
struct AccountListTests {
  private let harness: ColdHarness
  private let home = ProviderName("home")

  init() throws { harness = try ColdHarness(listed: 3) }

  private func refusal(_ body: () throws -> Void) -> UsherError? {
    #expect(throws: UsherError.self) { try body() }
  }

  @Test("account.list and token.list fail above limits.accounts_in_list; narrower lists succeed")
  func accounts() async throws {
    let caller = try Caller.program()
    var ids: [AccountID] = []
    for number in 1...3 { ids.append(try await harness.signIn("usr_\(number)").id) }
    let service = AccountService(repository: harness.repository(), clock: harness.clock)
    #expect(try service.list(nil, caller).accounts.map(\.id) == ids)
    #expect(try service.tokens(.init(), caller).tokens.count == 3)
    ids.append(try await harness.signIn("usr_4", provider: home, in: service.repository).id)
    for body in [
      { _ = try service.list(nil, caller) }, { _ = try service.tokens(.init(), caller) },
    ] {
      let error = refusal(body)
      #expect(error?.reason == .messageTooLarge)
      #expect(error?.detail.limit == "accounts_in_list")
      #expect(
        error?.message
          == "there are more than 3 accounts, the most that a list may have: name a provider")
    }
    #expect(try service.list(home, caller).accounts.map(\.id) == [ids[3]])
    #expect(try service.list(.work, caller).accounts.map(\.id) == Array(ids[..<3]))
    #expect(try service.tokens(.init(account: ids[0]), caller).tokens.count == 1)
    try await harness.signIn("usr_5", in: service.repository)
    #expect(
      refusal { _ = try service.list(.work, caller) }?.message.hasSuffix(
        "ask for one account by its id")
        == true)
    #expect(service.shown(at: .work, to: caller).isEmpty)
  }

  @Test(
    "consent.list and totp.list are limited too, and accounts without consents or codes do not count"
  )
  func others() async throws {
    let caller = try Caller.program(isAdmin: true)
    for number in 1...3 { try await harness.signIn("usr_\(number)") }
    let repository = harness.repository()
    try await repository.persist(.sample("usr_bare"))
    let service = ConsentService(repository: repository)
    #expect(try service.list(.init(), caller).consents.count == 3)
    let codes = TOTPService(
      dependencies: repository.dependencies, store: harness.store, repository: repository)
    _ = try codes.list(.init(), caller)
    try await harness.signIn("usr_4", in: repository)
    #expect(refusal { _ = try service.list(.init(), caller) }?.reason == .messageTooLarge)
    #expect(refusal { _ = try codes.list(.init(), caller) }?.reason == .messageTooLarge)
  }

  @Test("one owner's nine accounts do not keep another owner's account list from being served")
  func another() async throws {
    for number in 1...9 { try await harness.signIn("usr_\(number)") }
    let bert = try await harness.signIn("usr_bert", owner: .bert)
    let service = AccountService(repository: harness.repository(), clock: harness.clock)
    #expect(try service.list(nil, .program(of: .bert)).accounts.map(\.id) == [bert.id])
  }
}
