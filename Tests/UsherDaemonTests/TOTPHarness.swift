import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Accounts with TOTP secrets, and the service that computes codes.
final class TOTPHarness: Sendable {
  static let provider = ProviderName("bsa")
  /// The secret of RFC 4226, in Base32.
  static let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

  let harness: FlowHarness
  let service: TOTPService

  var repository: AccountRepository { harness.repository }
  var clock: FakeClock { harness.clock }

  /// - Parameter isConfigured: Whether the accounts' provider is configured.
  init(
    isConfigured: Bool = true, _ change: (inout TOTPSettings) -> Void = { _ in }
  ) throws {
    harness = try FlowHarness(config: isConfigured ? Self.config(change) : Config())
    service = harness.totp
  }

  private static func config(_ change: (inout TOTPSettings) -> Void) -> Config {
    var settings = BSASettings(
      clientKeyCredential: "bsa-client-key", appPackage: "com.example.app", appVersion: "1.0.0")
    change(&settings.totp)
    var config = Config()
    config.providers = [ProviderConfig(name: provider, settings: settings)]
    return config
  }

  /// Returns the service of a restarted daemon with the same accounts and the given settings.
  func restarted(_ change: (inout TOTPSettings) -> Void) throws -> TOTPService {
    let dependencies = Dependencies.fake(clock, harness.scheduler, config: Self.config(change))
    let repository = AccountRepository(
      dependencies: dependencies, events: EventBus(historyLimit: 1), store: harness.store)
    return TOTPService(
      dependencies: dependencies, store: harness.store, repository: repository)
  }

  @discardableResult
  func persist(
    _ subject: String = "anna", secret: String? = secret, owner: Owner = .anna,
    _ change: (inout AccountGrant) -> Void = { _ in }
  ) async throws -> AccountRecord {
    var grant = AccountGrant(subject: subject, label: subject, tokens: nil)
    grant.totpSecret = secret.map { Sealed(Secret($0)) }
    change(&grant)
    return try await repository.persist(grant, of: owner, at: Self.provider, client: "till")
  }

  /// Returns the reply to a client's call; `nil` is one of the owner's own programs.
  func ask(
    _ account: AccountID? = nil, provider: ProviderName? = nil, _ client: String? = nil,
    of owner: Owner = .anna, isAdmin: Bool = false, at service: TOTPService? = nil
  ) async throws -> TOTPCode.Reply {
    let caller = try Caller.program(client, of: owner, isAdmin: isAdmin)
    let call = TOTPCode(account: account, provider: provider)
    let bytes = try await (service ?? self.service).code(call, caller).reply()
    let reply = try JSONValue(parsing: bytes)
    guard let code = reply["code"]?.stringValue, let end = reply["expiresAt"]?.stringValue,
      let expiresAt = Timestamp(rfc3339: end), let period = reply["periodSeconds"]?.integerValue
    else { throw TestError("totp.code was not answered: \(reply)") }
    return .init(code: WireSecret(code), periodSeconds: Int(period), expiresAt: expiresAt)
  }

  func code(
    _ record: AccountRecord, _ client: String? = nil, at service: TOTPService? = nil
  ) async throws -> String {
    try await ask(record.id, client, at: service).code.revealed()
  }

  /// Returns the error, or `nil` if there is a code.
  func refusal(
    _ account: AccountID? = nil, provider: ProviderName? = nil, _ client: String? = nil,
    of owner: Owner = .anna, isAdmin: Bool = false, at service: TOTPService? = nil
  ) async throws -> UsherError? {
    await thrown {
      try await ask(account, provider: provider, client, of: owner, isAdmin: isAdmin, at: service)
    }
  }
}
