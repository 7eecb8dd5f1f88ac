import JSONRPC
import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Accounts by consent at a provider that does not answer, and the services that show them.
final class ConsentHarness: Sendable {
  static let provider = ProviderName("wallet")

  let harness: FlowHarness
  let flows: FlowService
  let accounts: AccountService
  let consents: ConsentService
  let clients: ClientService
  let tokens: TokenService
  var engine: FlowEngine { harness.engine }
  var repository: AccountRepository { harness.repository }
  var credentials: Credentials { harness.credentials }
  var clock: FakeClock { harness.clock }

  /// - Parameters:
  ///   - other: A second provider.
  ///   - change: Changes the settings of the wallet provider.
  init(
    _ other: ProviderConfig? = nil, _ change: (inout PaysafeSettings) -> Void = { _ in }
  ) throws {
    // Nothing listens at port 9 of the loopback interface.
    var settings = PaysafeSettings(
      baseURL: try ProviderURL(setting: "http://127.0.0.1:9"), clientID: "acme")
    change(&settings)
    var config = Config()
    config.providers = [ProviderConfig(name: Self.provider, settings: settings)]
    if let other { config.providers.append(other) }
    harness = try FlowHarness(config: config)
    let (dependencies, repository) = (harness.dependencies, harness.repository)
    let revoker = Revoker(repository: repository, queue: harness.revocations)
    flows = FlowService(engine: harness.engine, scheduler: harness.scheduler)
    accounts = AccountService(repository: repository, clock: harness.clock)
    consents = ConsentService(repository: repository)
    clients = ClientService(engine: harness.engine, consents: consents, revoker: revoker)
    tokens = TokenService(
      dependencies: dependencies, repository: repository, refresher: harness.refresher,
      revoker: revoker)
  }

  /// Stores the result of a client's finished sign-in.
  @discardableResult
  func persist(
    _ grant: AccountGrant, for client: String = "till", owner: Owner = .anna
  ) async throws -> AccountRecord {
    try await repository.persist(grant, of: owner, at: Self.provider, client: client)
  }

  /// Plans the result of a refresh with the record's refresh token.
  func renewal(
    of record: AccountRecord, key: TokenKey? = nil, _ tokens: TokenSet
  ) throws -> AccountRepository.Update {
    guard let used = record.details.grant.refreshToken,
      let update = try repository.update(
        record.id, key ?? record.mainKey, granted: tokens, for: used, at: clock.now())
    else { throw TestError("the account cannot be refreshed") }
    return update
  }

  /// Returns the profile that both `account.get` and `account.list` show.
  func profile(
    _ record: AccountRecord, to client: String?, isAdmin: Bool = false
  ) throws -> [String: JSONValue]? {
    let caller = try Caller.program(client, of: record.owner, isAdmin: isAdmin)
    let profile = try accounts.get(record.id, caller).account.profile
    let listed = try accounts.list(nil, caller).accounts.first { $0.id == record.id }
    guard listed?.profile == profile else { throw TestError("account.list and account.get differ") }
    return profile
  }

  /// Returns the account as a restarted daemon would read it.
  func stored(_ id: AccountID) throws -> AccountRecord? {
    let repository = AccountRepository(
      dependencies: harness.dependencies, events: EventBus(historyLimit: 1), store: harness.store)
    return try repository.find(id)
  }

  /// Starts a flow that stops at a step without a call to the provider.
  func start(_ client: String?, of account: AccountRecord) async throws -> Flow {
    try await flows.start(
      FlowStart(
        provider: Self.provider, kind: "sca",
        params: [
          "account": .string(account.id.rawValue), "eventId": "evt-1",
          "walletOperationId": "op-1",
          "availableVerifications": [["method": "OTP", "channel": "SMS"], ["method": "PIN"]],
        ]), .program(client, of: account.owner)
    ).flow
  }

  /// Closes the connections to the provider, which stay open otherwise.
  func close() async { await harness.http.shutdown() }
}
