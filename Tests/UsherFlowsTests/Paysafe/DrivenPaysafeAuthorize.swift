import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// A Paysafe authorize flow under test, with its clock and its source of random bytes.
struct DrivenPaysafeAuthorize: DrivenMachine {
  var flow: PaysafeAuthorize
  private(set) var last: Answer<PaysafeCall>
  var clock = now
  private let entropy = CountingEntropy()

  /// - Parameter credential: The name of the client secret; nil for a public client.
  init(
    credential: String? = nil, account: KnownAccount? = nil,
    _ change: (inout PaysafeAuthorize.Params) -> Void = { _ in },
    settings: (inout PaysafeSettings) throws -> Void = { _ in }
  ) throws {
    var params = PaysafeAuthorize.Params()
    change(&params)
    let origin = FlowContext<PaysafeSettings>(
      provider: try Provider(
        Self.provider {
          $0.clientCredential = credential
          try settings(&$0)
        })!, account: account, requestID: "req-1")
    var moment = TransitionContext(now: clock, entropy: entropy)
    (flow, last) = try PaysafeAuthorize.begin(params, origin, at: &moment)
  }

  static func provider(
    _ change: (inout PaysafeSettings) throws -> Void = { _ in }
  ) throws -> ProviderConfig {
    let base = try ProviderURL(setting: "https://wallet.example.com/v1")
    var settings = PaysafeSettings(baseURL: base, clientID: "acme-wallet")
    settings.brandIdentity = "acme"
    try change(&settings)
    return ProviderConfig(name: name, settings: settings)
  }

  @discardableResult
  mutating func receive(_ event: FlowEvent<PaysafeCall>) -> Answer<PaysafeCall> {
    var moment = TransitionContext(now: clock, entropy: entropy)
    last = flow.receive(event, at: &moment)
    return last
  }

  static let redirectURI = "http://127.0.0.1:40001/callback"

  /// Drives the flow until it shows the authorization page.
  mutating func toBrowser() {
    if flow.view.state == "configuring" {
      receive(.called(.configToken(brand: "acme"), .reply(Self.configReply())))
    }
    if flow.view.state == "preparing" { receive(.listening(redirectURI: Self.redirectURI)) }
  }

  /// Drives the flow until the daemon redeems the code or hands it to the app.
  mutating func toExchange() {
    toBrowser()
    receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
  }

  /// Stores and restores the flow, as a restarted daemon does.
  mutating func restart() throws {
    flow = try storedAndRead(flow)
    receive(.resumed)
  }

  static func configReply(_ changes: [String: JSONValue?] = [:]) -> HTTPReply {
    var members: [String: JSONValue] = [
      "access_token": "config-secret", "token_type": "Bearer", "expires_in": 900,
      "digital_fingerprint": "finger-secret",
    ]
    for (name, value) in changes { members[name] = value }
    return reply(.object(members))
  }

  /// Returns a JWT with these claims, by default of the customer `c-1`.
  static func token(_ claims: JSONValue = ["sub": "c-1"]) -> Secret {
    signed(["alg": "RS256"], claims)
  }

  static func tokenReply(_ changes: [String: JSONValue?] = [:]) -> HTTPReply {
    var members: [String: JSONValue] = [
      "access_token": .string(token().revealed()), "token_type": "Bearer", "expires_in": 900,
      "refresh_token": "refresh-secret", "refresh_expires_in": 1800, "scope": "whitelabelWallet",
      "id_token": .string(token(["sub": "c-1", "name": "Ada"]).revealed()),
    ]
    for (name, value) in changes { members[name] = value }
    return reply(.object(members))
  }
}

// The parts of the last answer.
extension DrivenPaysafeAuthorize {
  var exchange: PaysafeCall.Exchange? {
    if case .exchange(let exchange)? = calls.first { exchange } else { nil }
  }
}
