import JSONRPC
import Logging
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// An account with a pending verdict, a provider that does not answer, and the daemon's services
/// for its callbacks.
final class VerdictHarness: Sendable {
  static let provider = ProviderName("gopay")

  let harness: FlowHarness
  let provider: ProviderConfig
  var configStore: ConfigStore { harness.dependencies.configStore }
  let watch: AccountWatch
  let service: CallbackService
  var refresher: Refresher { harness.refresher }
  private let told = Recorded<String>()

  /// - Parameter origin: The identity server's origin. By default nothing listens there.
  static func gopay(at origin: String = "http://127.0.0.1:9") throws -> ProviderConfig {
    var settings = GoPaySettings(clientID: "acme", merchantID: "merchant")
    settings.identityBaseURL = try ProviderURL(setting: origin)
    settings.callbackListen = try LoopbackAddress(setting: "127.0.0.1:1")
    settings.callbackCredential = "gopay-callback"
    return ProviderConfig(name: provider, settings: settings)
  }

  /// - Parameters:
  ///   - other: The provider, or `nil` for one of type `gopay`.
  ///   - isWithheld: Is called by the watch after it has read an account.
  init(
    _ other: ProviderConfig? = nil,
    isWithheld: @escaping @Sendable (Owner) -> Bool = { _ in false }
  ) async throws {
    provider = try other ?? Self.gopay()
    var config = Config()
    config.providers = [provider]
    harness = try FlowHarness(config: config)
    watch = AccountWatch(
      dependencies: harness.dependencies, repository: harness.repository, calls: harness.calls,
      isWithheld: isWithheld)
    service = CallbackService(
      credentials: harness.credentials, engine: harness.engine, repository: harness.repository,
      watch: watch,
      dependencies: harness.dependencies)
    _ = try await harness.credentials.set(
      CredentialSet(name: "gopay-callback", value: WireSecret(Secret("shared-value"))))
    _ = harness.events.listen(since: nil) { [told] entry in
      if entry.event.topic == .kyc { told.add(entry.event.what) }
    }
  }

  /// Closes the connections to the provider, which stay open otherwise.
  func close() async {
    watch.stop()
    await harness.http.shutdown()
  }

  /// Replaces the providers as a reload does.
  func reload(_ providers: [ProviderConfig]) async {
    var config = Config()
    config.providers = providers
    configStore.replace(by: config, configStore.current.policy)
    await watch.providersChanged([provider.name])
  }

  /// The events of topic `kyc` so far.
  var news: [String] { told.all }

  /// Returns the grant of a submission of the present time.
  ///
  /// - Parameter grantSeconds: When the grant expires; nil for an account without a refresh token.
  func submission(
    _ requestID: String = "req-1", submission: String = "sub-1", subject: String = "corr-1",
    token: String? = "linking-token", grantSeconds: Int? = nil
  ) -> AccountGrant {
    let now = harness.clock.now()
    return AccountGrant(
      subject: subject, label: subject,
      attributes: [
        "kyc": [
          "requestId": .string(requestID), "submissionId": .string(submission),
          "status": "SUBMITTED", "result": nil, "reasonCode": nil,
          "submittedAt": .string(now.description), "updatedAt": .string(now.description),
        ]
      ],
      tokens: token.map {
        TokenSet(
          accessToken: Sealed(Secret($0)), tokenType: "Bearer", expiresAt: nil, scope: "",
          refreshToken: grantSeconds.map { _ in Sealed(Secret("refresh")) },
          refreshExpiresAt: grantSeconds.map { now + .seconds($0) })
      })
  }

  /// Stores an account with a submission of the present time.
  @discardableResult
  func submit(
    _ requestID: String = "req-1", submission: String = "sub-1", subject: String = "corr-1",
    token: String? = "linking-token", grantSeconds: Int? = nil, owner: Owner = .anna,
    in repository: AccountRepository? = nil
  ) async throws -> AccountRecord {
    let grant = self.submission(
      requestID, submission: submission, subject: subject, token: token,
      grantSeconds: grantSeconds)
    return try await (repository ?? harness.repository).persist(grant, of: owner, at: Self.provider)
  }

  func kyc(_ record: AccountRecord) -> JSONValue? {
    harness.repository.record(record.id)?.details.attributes["kyc"]
  }

  /// Returns the account's stored verdict as a restarted daemon would read it.
  func stored(_ record: AccountRecord) throws -> JSONValue? {
    let row = try harness.store.loadAccounts().first { $0.id == record.id }
    return try row.map { try AccountRecord($0, tokens: []) }?.details.attributes["kyc"]
  }

  func call(
    _ authorization: String?, requestID: String = "req-1", submission: String = "sub-1",
    status: String = "COMPLETED", result: String = "\"VALID\""
  ) async throws -> CallbackOutcome {
    let body = """
      {"submissionId": "\(submission)", "partnerSessionId": "\(requestID)", \
      "status": "\(status)", "result": \(result)}
      """
    guard let dialect = provider.definition.callback else {
      throw TestError("the provider accepts no callbacks")
    }
    return await service.handle(
      .init(
        authorization: authorization.map { Secret($0) }, body: Array(body.utf8),
        endpoint: .init(dialect: dialect, provider: provider)))
  }
}
